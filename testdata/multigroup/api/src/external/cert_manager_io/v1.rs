// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! API version `v1` of the group `cert-manager.io`.

mod certificate_types;
// +kbr:scaffold:modules

pub use certificate_types::*;
// +kbr:scaffold:exports
