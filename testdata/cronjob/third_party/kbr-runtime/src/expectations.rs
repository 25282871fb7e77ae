// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Which of two states of an object is newer.
//!
//! Kubernetes makes the resource versions of one kind comparable as numbers (KEP-5504). Where an
//! extension API server does not, nothing counts as newer, and what is written stays conditional.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use kube::{Resource, ResourceExt};

use crate::backoff::Key;

/// The resource version of an object as a number; 0 when it is none.
pub(crate) fn version<K: Resource>(object: &K) -> u64 {
    let version = object.resource_version();
    version.and_then(|v| v.parse().ok()).unwrap_or_default()
}

/// The objects that this process wrote and whose watch has not shown them since.
///
/// A reconcile that another event triggers may be given its object as it was before the last
/// write. It would write the same again, and be refused: 409 Conflict. client-go's controllers
/// keep expectations for the same reason.
#[derive(Debug, Default)]
pub struct Expectations(Mutex<HashMap<Key, u64>>);

impl Expectations {
    /// Expects the watch to show `object`, as the API server returned it from a write.
    pub fn expect<K: Resource>(&self, object: &K) {
        let mut expected = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        expected.insert(Key::of(object), version(object));
    }

    /// Whether `object`, as the watch shows it, is at least what was written. If not, the watch is
    /// sure to show a newer one.
    pub fn satisfied_by<K: Resource>(&self, object: &K) -> bool {
        let mut expected = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = Key::of(object);
        let is_satisfied = expected
            .get(&key)
            .is_none_or(|expected| *expected <= version(object));
        if is_satisfied {
            expected.remove(&key);
        }
        is_satisfied
    }
}
