// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The operator as a library, which the binary, the tests and `make run-local` use.

pub mod controller;
pub mod schedule;
pub mod webhook;

use kbr_runtime::Manager;

/// The functions that register the controllers with a manager.
const CONTROLLERS: &[fn(&mut Manager)] = &[
    controller::cronjob_controller::register,
    // +kbr:scaffold:controllers
];

/// The functions that register the webhooks with a manager.
const WEBHOOKS: &[fn(&mut Manager)] = &[
    webhook::v1::cronjob_defaulter::register,
    webhook::v1::cronjob_validator::register,
    // +kbr:scaffold:webhooks
];

/// Adds every controller and webhook of this project to `manager`.
pub fn register(manager: &mut Manager) {
    manager.set_operator(env!("CARGO_PKG_NAME"));
    for register in CONTROLLERS.iter().chain(WEBHOOKS) {
        register(manager);
    }
}
