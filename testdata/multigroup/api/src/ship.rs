// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The API types of the group `ship.testproject.org`.

pub mod v1;
pub mod v1beta1;
pub mod v2alpha1;
// +kbr:scaffold:modules
