// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of version `v1`.

pub mod issuer_defaulter;
pub mod issuer_validator;
// +kbr:scaffold:modules
