// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of the group `foo.policy`.

pub mod healthcheckpolicy_controller;
// +kbr:scaffold:modules
