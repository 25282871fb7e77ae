// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The API types of the group `sea-creatures.testproject.org`.

pub mod v1beta1;
pub mod v1beta2;
// +kbr:scaffold:modules
