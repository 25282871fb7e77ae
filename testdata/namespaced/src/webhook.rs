// Copyright The namespaced authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of this project, one module a version.

pub mod v1;
// +kbr:scaffold:modules
