// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Numbers that are random enough to tell things apart, but not for secrets.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

/// A number that is unlikely to occur twice.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A number from 0 to 1.
pub(crate) fn chance() -> f64 {
    random() as f64 / u64::MAX as f64
}

/// `time`, or up to a third more: those who were all told to wait for as long must not come back at once.
pub(crate) fn later(time: Duration) -> Duration {
    time.mul_f64(1.0 + chance() / 3.0)
}

#[cfg(test)]
pub(crate) mod tests;
