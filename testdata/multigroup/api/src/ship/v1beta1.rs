// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! API version `v1beta1` of the group `ship.testproject.org`.

mod frigate_types;
// +kbr:scaffold:modules

pub use frigate_types::*;
// +kbr:scaffold:exports
