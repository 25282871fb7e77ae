// Copyright The myjob authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of this project.

pub mod myjob_controller;
// +kbr:scaffold:modules
