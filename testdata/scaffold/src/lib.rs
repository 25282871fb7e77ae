// Copyright The scaffold authors
// SPDX-License-Identifier: Apache-2.0

//! The operator as a library, which the binary, the tests and `make run-local` use.

pub mod controller;
pub mod webhook;

use kbr_runtime::Manager;

/// The functions that register the controllers with a manager.
const CONTROLLERS: &[fn(&mut Manager)] = &[
    controller::admiral_controller::register,
    controller::cronjob_controller::register,
    // +kbr:scaffold:controllers
];

/// The functions that register the webhooks with a manager.
const WEBHOOKS: &[fn(&mut Manager)] = &[
    webhook::v1::admiral_defaulter::register,
    webhook::v1::admiral_validator::register,
    webhook::v1::cronjob_defaulter::register,
    webhook::v1::cronjob_validator::register,
    webhook::v1::pod_defaulter::register,
    webhook::v1::pod_validator::register,
    webhook::v2::admiral_converter::register,
    webhook::v2::cronjob_converter::register,
    // +kbr:scaffold:webhooks
];

/// Adds every controller and webhook of this project to `manager`.
pub fn register(manager: &mut Manager) {
    manager.set_operator(env!("CARGO_PKG_NAME"));
    for register in CONTROLLERS.iter().chain(WEBHOOKS) {
        register(manager);
    }
}
