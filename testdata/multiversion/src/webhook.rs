// Copyright The multiversion authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of this project.

pub mod v1;
pub mod v2;
// +kbr:scaffold:modules
