// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of the group `fiz`.

pub mod bar_controller;
// +kbr:scaffold:modules
