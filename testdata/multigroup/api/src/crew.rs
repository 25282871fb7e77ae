// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The API types of the group `crew.testproject.org`.

pub mod v1;
pub mod v2;
// +kbr:scaffold:modules
