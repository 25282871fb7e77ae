// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The tests of the group `sea-creatures`.

mod kraken_controller;
mod leviathan_controller;
// +kbr:scaffold:modules
