// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! API version `v1` of the group `ship.testproject.org`.

mod destroyer_types;
// +kbr:scaffold:modules

pub use destroyer_types::*;
// +kbr:scaffold:exports
