// Copyright The namespaced authors
// SPDX-License-Identifier: Apache-2.0

//! API version `v1` of the group `shop.example.com`.

mod order_types;
// +kbr:scaffold:modules

pub use order_types::*;
// +kbr:scaffold:exports
