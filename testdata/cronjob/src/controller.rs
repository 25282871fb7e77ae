// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of this project.

pub mod cronjob_controller;
// +kbr:scaffold:modules
