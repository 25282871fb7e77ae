// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of the group `cert-manager`.

pub mod certificate_controller;
// +kbr:scaffold:modules
