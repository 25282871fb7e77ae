// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of the group `core`.

pub mod v1;
// +kbr:scaffold:modules
