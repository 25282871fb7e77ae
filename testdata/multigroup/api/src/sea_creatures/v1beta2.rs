// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! API version `v1beta2` of the group `sea-creatures.testproject.org`.

mod leviathan_types;
// +kbr:scaffold:modules

pub use leviathan_types::*;
// +kbr:scaffold:exports
