// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of the group `apps`.

pub mod deployment_controller;
// +kbr:scaffold:modules
