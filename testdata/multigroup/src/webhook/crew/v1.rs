// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of version `v1`.

pub mod captain_defaulter;
pub mod captain_validator;
// +kbr:scaffold:modules
