// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The API types of the group `fiz.testproject.org`.

pub mod v1;
// +kbr:scaffold:modules
