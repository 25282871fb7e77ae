// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! API version `v1` of the group `crew.testproject.org`.

mod captain_types;
// +kbr:scaffold:modules

pub use captain_types::*;
// +kbr:scaffold:exports
