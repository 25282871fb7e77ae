// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! API version `v1beta1` of the group `sea-creatures.testproject.org`.

mod kraken_types;
// +kbr:scaffold:modules

pub use kraken_types::*;
// +kbr:scaffold:exports
