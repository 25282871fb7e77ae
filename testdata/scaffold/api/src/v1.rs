// Copyright The scaffold authors
// SPDX-License-Identifier: Apache-2.0

//! API version `v1` of the group `batch.tutorial.kubebuilder.io`.

mod admiral_types;
mod cronjob_types;
// +kbr:scaffold:modules

pub use admiral_types::*;
pub use cronjob_types::*;
// +kbr:scaffold:exports
