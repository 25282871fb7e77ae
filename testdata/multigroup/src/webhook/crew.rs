// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of the group `crew`.

pub mod v1;
pub mod v2;
// +kbr:scaffold:modules
