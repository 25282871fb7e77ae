// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The tests of the group `crew`.

mod captain_backup_controller;
mod captain_controller;
mod captain_v1_defaulter;
mod captain_v1_validator;
mod captain_v2_converter;
// +kbr:scaffold:modules
