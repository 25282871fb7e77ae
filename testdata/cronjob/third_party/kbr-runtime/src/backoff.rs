// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! How long a failing object waits for its next attempt.
//!
//! Numbers and reset rule are those of client-go's `ItemExponentialFailureRateLimiter` as
//! controller-runtime uses it. There is no clock here: a delay depends only on how often an
//! object failed in a row.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::Resource;
use kube::api::ObjectMeta;
use kube::runtime::reflector::ObjectRef;

/// The delay after the first failure; it doubles with each further one.
const FIRST: Duration = Duration::from_millis(5);

/// The longest delay.
const LONGEST: Duration = Duration::from_secs(1000);

/// Counts failures in a row per object. Clones share the counts.
///
/// An entry lives from a failure to the next success, or until the object is found gone. It
/// cannot leak: every failure schedules a retry, which ends in one of the two or a failure.
#[derive(Clone, Debug, Default)]
pub(crate) struct Backoff {
    failures: Arc<Mutex<HashMap<Key, u32>>>,
}

impl Backoff {
    /// Counts a failure of the object and returns how long to wait before the next attempt.
    pub(crate) fn failed(&self, object: &Key) -> Duration {
        let mut failures = self.lock();
        let count = failures.entry(object.clone()).or_default();
        let delay = delay(*count);
        *count = count.saturating_add(1);
        delay
    }

    /// Forgets the object, because it succeeded or is gone.
    pub(crate) fn forget(&self, object: &Key) {
        self.lock().remove(object);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, u32>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many objects are remembered.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }
}

/// The delay after `failures` earlier failures in a row.
fn delay(failures: u32) -> Duration {
    let factor = 2u32.saturating_pow(failures);
    FIRST.saturating_mul(factor).min(LONGEST)
}

/// An object within one controller; prints as `namespace/name`, or `name` without a namespace.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Key {
    namespace: Option<String>,
    name: String,
}

impl Key {
    pub(crate) fn of<K: Resource>(object: &K) -> Self {
        Self::of_meta(object.meta())
    }

    pub(crate) fn of_meta(metadata: &ObjectMeta) -> Self {
        Self {
            namespace: metadata.namespace.clone(),
            name: metadata.name.clone().unwrap_or_default(),
        }
    }
}

impl<K: Resource> From<&ObjectRef<K>> for Key {
    fn from(object: &ObjectRef<K>) -> Self {
        Self {
            namespace: object.namespace.clone(),
            name: object.name.clone(),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}
