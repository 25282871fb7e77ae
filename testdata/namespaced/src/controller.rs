// Copyright The namespaced authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of this project, one module a kind.

pub mod order_controller;
// +kbr:scaffold:modules
