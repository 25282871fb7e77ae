// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of this project.

pub mod task_controller;
// +kbr:scaffold:modules
