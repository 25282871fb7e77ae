// Copyright The foo authors
// SPDX-License-Identifier: Apache-2.0

//! API version `v1alpha1` of the group `samplecontroller.example.com`.

mod foo_types;
// +kbr:scaffold:modules

pub use foo_types::*;
// +kbr:scaffold:exports
