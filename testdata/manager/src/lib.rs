// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! The operator as a library: what the binary, the tests and `make run-local` run.

pub mod controller;

/// Registers each controller with the manager.
pub const CONTROLLERS: &[fn(&mut runtime::Manager)] = &[
    controller::task_controller::register,
    // +kbr:scaffold:controllers
];
