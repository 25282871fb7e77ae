// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of the group `ship`.

pub mod cruiser_controller;
pub mod destroyer_controller;
pub mod frigate_controller;
// +kbr:scaffold:modules
