// Copyright The multiversion authors
// SPDX-License-Identifier: Apache-2.0

//! API version `v2` of the group `batch.tutorial.kubebuilder.io`.

mod cronjob_types;
// +kbr:scaffold:modules

pub use cronjob_types::*;
// +kbr:scaffold:exports
