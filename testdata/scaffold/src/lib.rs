// Copyright The scaffold authors
// SPDX-License-Identifier: Apache-2.0

//! The operator as a library, so that tests can use what the binary runs.

pub mod controller;
