// Copyright The namespaced authors
// SPDX-License-Identifier: Apache-2.0

//! API version `v1` of the group `shop.example.com`.

mod cashbox_types;
mod order_types;
// +kbr:scaffold:modules

pub use cashbox_types::*;
pub use order_types::*;
// +kbr:scaffold:exports
