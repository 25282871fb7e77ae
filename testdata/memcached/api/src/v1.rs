// Copyright The memcached authors
// SPDX-License-Identifier: Apache-2.0

//! API version `v1` of the group `memcached.cache.example.com`.

mod memcached_types;
// +kbr:scaffold:modules

pub use memcached_types::*;
// +kbr:scaffold:exports
