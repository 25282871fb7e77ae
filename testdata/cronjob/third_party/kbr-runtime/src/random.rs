// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Numbers that are random enough to tell things apart. They are no secrets.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// A number that hardly comes twice.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
