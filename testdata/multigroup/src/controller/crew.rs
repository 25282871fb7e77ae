// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of the group `crew`.

pub mod captain_backup_controller;
pub mod captain_controller;
// +kbr:scaffold:modules
