// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! API version `v2alpha1` of the group `ship.testproject.org`.

mod cruiser_types;
// +kbr:scaffold:modules

pub use cruiser_types::*;
// +kbr:scaffold:exports
