// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The tests of the group `core`.

mod node_controller;
mod pod_v1_validator;
// +kbr:scaffold:modules
