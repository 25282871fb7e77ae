// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of the group `cert-manager`.

pub mod v1;
// +kbr:scaffold:modules
