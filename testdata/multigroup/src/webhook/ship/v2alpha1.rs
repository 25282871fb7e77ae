// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of version `v2alpha1`.

pub mod cruiser_validator;
// +kbr:scaffold:modules
