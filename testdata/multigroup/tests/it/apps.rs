// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The tests of the group `apps`.

mod deployment_controller;
mod deployment_v1_defaulter;
// +kbr:scaffold:modules
