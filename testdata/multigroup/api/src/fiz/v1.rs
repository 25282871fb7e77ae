// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! API version `v1` of the group `fiz.testproject.org`.

mod bar_types;
// +kbr:scaffold:modules

pub use bar_types::*;
// +kbr:scaffold:exports
