// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The operator as a library, which the binary, the tests and `make run-local` use.

pub mod controller;
pub mod webhook;

use kbr_runtime::Manager;

/// The functions that register the controllers with a manager.
const CONTROLLERS: &[fn(&mut Manager)] = &[
    controller::apps::deployment_controller::register,
    controller::cert_manager::certificate_controller::register,
    controller::core::node_controller::register,
    controller::crew::captain_backup_controller::register,
    controller::crew::captain_controller::register,
    controller::fiz::bar_controller::register,
    controller::foo::bar_controller::register,
    controller::foo_policy::healthcheckpolicy_controller::register,
    controller::sea_creatures::kraken_controller::register,
    controller::sea_creatures::leviathan_controller::register,
    controller::ship::cruiser_controller::register,
    controller::ship::destroyer_controller::register,
    controller::ship::frigate_controller::register,
    // +kbr:scaffold:controllers
];

/// The functions that register the webhooks with a manager.
const WEBHOOKS: &[fn(&mut Manager)] = &[
    webhook::apps::v1::deployment_defaulter::register,
    webhook::cert_manager::v1::issuer_defaulter::register,
    webhook::cert_manager::v1::issuer_validator::register,
    webhook::core::v1::pod_validator::register,
    webhook::crew::v1::captain_defaulter::register,
    webhook::crew::v1::captain_validator::register,
    webhook::crew::v2::captain_converter::register,
    webhook::fiz::v1::bar_defaulter::register,
    webhook::ship::v1::destroyer_defaulter::register,
    webhook::ship::v2alpha1::cruiser_validator::register,
    // +kbr:scaffold:webhooks
];

/// Adds every controller and webhook of this project to `manager`.
pub fn register(manager: &mut Manager) {
    manager.set_operator(env!("CARGO_PKG_NAME"));
    for register in CONTROLLERS.iter().chain(WEBHOOKS) {
        register(manager);
    }
}
