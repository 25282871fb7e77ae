// Copyright The myjob authors
// SPDX-License-Identifier: Apache-2.0

//! API version `v1beta1` of the group `myjob.github.com`.

mod myjob_types;
// +kbr:scaffold:modules

pub use myjob_types::*;
// +kbr:scaffold:exports
