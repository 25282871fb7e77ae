// Copyright The foo authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of this project.

pub mod foo_controller;
// +kbr:scaffold:modules
