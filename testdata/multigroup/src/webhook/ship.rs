// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of the group `ship`.

pub mod v1;
pub mod v2alpha1;
// +kbr:scaffold:modules
