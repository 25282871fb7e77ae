// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Limits the log lines that clients can cause.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The time between two lines about the same.
const QUIET: Duration = Duration::from_secs(60);

/// Lets one line a minute pass about each `T`. It remembers every `T`: there must be only a few.
pub(crate) struct LogLimit<T>(Mutex<HashMap<T, Last>>);

/// The last line that passed, and how many did not since then.
struct Last {
    at: Instant,
    held_back: u64,
}

impl<T: Eq + Hash> LogLimit<T> {
    /// Whether a line about `what` may be logged at `now`; if so, returns how many were held back before.
    pub(crate) fn pass(&self, what: T, now: Instant) -> Option<u64> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let held_back = match all.get_mut(&what) {
            Some(last) if now.duration_since(last.at) < QUIET => {
                last.held_back += 1;
                return None;
            }
            Some(last) => last.held_back,
            None => 0,
        };
        let last = Last {
            at: now,
            held_back: 0,
        };
        all.insert(what, last);
        Some(held_back)
    }
}

impl<T> Default for LogLimit<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}
