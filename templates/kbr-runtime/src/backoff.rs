// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! How long a failing object waits for its next attempt.
//!
//! The delays and the reset rule are those of client-go's `ItemExponentialFailureRateLimiter` as
//! controller-runtime uses it: a delay depends on how often an object failed in a row. A change of the
//! object does not wait for the delay, and if that attempt fails as well, it does not count: otherwise some
//! changes during a short fault would cause a delay that is longer than the fault. After an attempt that
//! took long, a change does wait, for some seconds at most, unless it was the first failure: an object that
//! occupies a worker for half a minute each time must leave it to others, but one failure may be that of a
//! connection that went silent, and the next attempt has another.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use crate::key::Key;
use crate::lock::lock;

/// The delay after the first failure; it doubles with each further failure.
const FIRST: Duration = Duration::from_millis(5);

/// An attempt that takes this long keeps a worker from other objects.
const LONG: Duration = Duration::from_secs(1);

/// The longest time that a change waits after an attempt that took long: it may be the correction.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// The longest delay.
const LONGEST: Duration = Duration::from_secs(1000);

/// Counts failures in a row per object. Clones share the counts.
///
/// An entry lives from a failure to the next success, or until the object is found to be deleted. It
/// cannot leak: every failure schedules a retry, which ends in one of the two or in another failure.
#[derive(Clone)]
pub(crate) struct Backoff {
    failures: Arc<Mutex<HashMap<Key, Failures>>>,
    first: Duration,
    longest: Duration,
}

struct Failures {
    /// In a row.
    count: u32,
    /// When the delay is over.
    due: Instant,
    /// When even a change may be reconciled, after an attempt that took long.
    not_before: Option<Instant>,
}

impl Default for Backoff {
    fn default() -> Self {
        Self::new(FIRST, LONGEST)
    }
}

impl Backoff {
    /// With these delays: the first, and the longest.
    pub(crate) fn new(first: Duration, longest: Duration) -> Self {
        Self {
            failures: Arc::default(),
            first,
            longest,
        }
    }

    /// Counts a failure of the object after an attempt that `took` this long, and returns how long to wait
    /// before the next attempt.
    pub(crate) fn failed(&self, object: &Key, took: Duration) -> Duration {
        let now = Instant::now();
        let mut all = lock(&self.failures);
        let is_first = !all.contains_key(object);
        let failures = all.entry(object.clone()).or_insert_with(|| Failures {
            count: 0,
            due: now,
            not_before: None,
        });
        if failures.due <= now {
            failures.due = now + self.delay(failures.count);
            failures.count = failures.count.saturating_add(1);
        }
        if took < LONG || is_first {
            failures.not_before = None;
        } else {
            failures.not_before = now.checked_add(took.min(LONGEST_WAIT));
            failures.due = failures.due.max(now + took);
        }
        failures.due - now
    }

    /// How long the object must still leave the worker to others.
    pub(crate) fn remaining(&self, object: &Key) -> Option<Duration> {
        let not_before = lock(&self.failures).get(object)?.not_before?;
        not_before.checked_duration_since(Instant::now())
    }

    /// Forgets the object, because it succeeded or was deleted.
    pub(crate) fn forget(&self, object: &Key) {
        lock(&self.failures).remove(object);
    }

    /// The delay after `failures` earlier failures in a row.
    fn delay(&self, failures: u32) -> Duration {
        let factor = 2u32.saturating_pow(failures);
        self.first.saturating_mul(factor).min(self.longest)
    }
}

#[cfg(test)]
mod tests;
