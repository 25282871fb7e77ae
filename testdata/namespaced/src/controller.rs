// Copyright The namespaced authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of this project.

pub mod cashbox_controller;
pub mod order_controller;
// +kbr:scaffold:modules
