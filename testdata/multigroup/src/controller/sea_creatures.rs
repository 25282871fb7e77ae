// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of the group `sea-creatures`.

pub mod kraken_controller;
pub mod leviathan_controller;
// +kbr:scaffold:modules
