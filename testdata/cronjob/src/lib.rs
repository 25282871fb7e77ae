// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The operator as a library: what the binary, the tests and `make run-local` run.

pub mod controller;
pub mod schedule;

use runtime::Manager;

/// What registers each controller with a manager.
const CONTROLLERS: &[fn(&mut Manager)] = &[
    controller::cronjob_controller::register,
    // +kbr:scaffold:controllers
];

/// Adds every controller of this project to `manager`.
pub fn register(manager: &mut Manager) {
    for register in CONTROLLERS {
        register(manager);
    }
}
