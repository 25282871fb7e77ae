// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of the group `core`.

pub mod node_controller;
// +kbr:scaffold:modules
