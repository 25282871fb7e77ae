// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The tests of the group `ship`.

mod cruiser_controller;
mod cruiser_v2alpha1_validator;
mod destroyer_controller;
mod destroyer_v1_defaulter;
mod frigate_controller;
// +kbr:scaffold:modules
