// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! API version `v1` of the group `foo.policy.testproject.org`.

mod healthcheckpolicy_types;
// +kbr:scaffold:modules

pub use healthcheckpolicy_types::*;
// +kbr:scaffold:exports
