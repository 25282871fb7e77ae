// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The tests of the group `fiz`.

mod bar_controller;
mod bar_v1_defaulter;
// +kbr:scaffold:modules
