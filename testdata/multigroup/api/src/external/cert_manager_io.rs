// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The types of the group `cert-manager.io`.

pub mod v1;
// +kbr:scaffold:modules
