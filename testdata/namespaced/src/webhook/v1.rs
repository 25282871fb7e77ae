// Copyright The namespaced authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of version `v1`.

pub mod order_validator;
// +kbr:scaffold:modules
