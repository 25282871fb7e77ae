// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Objects that are reconciled again and again, for example because each reconcile changes its own object.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use crate::key::Key;
use crate::lock::lock;

/// Objects are counted for this long.
const PERIOD: Duration = Duration::from_secs(60);

/// An object that is reconciled this often in one period is restless. That is far more than what the pods of a
/// rollout cause, and far less than an object that changes itself reaches.
pub(crate) const MANY: u32 = 600;

/// How often the objects of one controller were reconciled in this period.
pub(crate) struct Restless(Mutex<Period>);

struct Period {
    began: Instant,
    reconciles: HashMap<Arc<Key>, u32>,
}

impl Restless {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Period {
            began: Instant::now(),
            reconciles: HashMap::new(),
        }))
    }

    /// Counts a reconcile, and returns whether the object has become restless with it: at most once in a period.
    pub(crate) fn counts(&self, object: &Arc<Key>) -> bool {
        let mut period = lock(&self.0);
        if period.began.elapsed() >= PERIOD {
            period.began = Instant::now();
            period.reconciles = HashMap::new();
        }
        let count = period.reconciles.entry(object.clone()).or_default();
        *count = count.saturating_add(1);
        *count == MANY
    }
}

#[cfg(test)]
mod tests;
