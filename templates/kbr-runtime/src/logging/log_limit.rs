// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Limits the log lines that clients can cause.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::lock::lock;

/// The time between two lines about the same.
const QUIET: Duration = Duration::from_secs(60);

/// Lets one line a minute pass about each `T`. It remembers every `T`: there must be only a few.
#[derive(Debug, Default)]
pub(crate) struct LogLimit<T>(Mutex<HashMap<T, Last>>);

/// The last line that passed, and how many did not since then.
#[derive(Debug)]
struct Last {
    at: Instant,
    held_back: u64,
}

impl<T: Eq + Hash> LogLimit<T> {
    /// Whether a line about `what` may be logged at `now`; if so, returns how many were held back before.
    pub(crate) fn pass(&self, what: T, now: Instant) -> Option<u64> {
        let mut all = lock(&self.0);
        if let Some(last) = all.get_mut(&what)
            && now.duration_since(last.at) < QUIET
        {
            last.held_back += 1;
            return None;
        }
        let new = Last {
            at: now,
            held_back: 0,
        };
        let last = all.insert(what, new);
        Some(last.map_or(0, |last| last.held_back))
    }
}

#[cfg(test)]
mod tests;
