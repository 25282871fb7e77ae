// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Which of two states of an object is newer.
//!
//! Kubernetes makes the resource versions of one kind comparable as numbers (KEP-5504). Where an
//! extension API server does not, nothing counts as newer, and what is written stays conditional.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use kube::{Resource, ResourceExt};

use crate::backoff::Key;

/// The resource version of an object as a number; 0 when it is none.
pub(crate) fn version<K: Resource>(object: &K) -> u64 {
    let version = object.resource_version();
    version.and_then(|v| v.parse().ok()).unwrap_or_default()
}

/// The versions of objects that were written here, until the watch shows them.
///
/// A reconcile may be given its object as it was before its own last write, because the watch is
/// behind. It would then act on old state, or write again and be refused with 409 Conflict. The
/// built-in controllers of Kubernetes keep expectations for the same reason.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kbr_runtime::Expectations;
///
/// let mut object = ConfigMap::default();
/// object.metadata.name = Some("example".to_owned());
/// object.metadata.resource_version = Some("10".to_owned());
/// let mut written = object.clone();
/// written.metadata.resource_version = Some("11".to_owned());
///
/// let expectations = Expectations::default();
/// expectations.expect(&written);
///
/// assert!(!expectations.satisfied_by(&object));
/// assert!(expectations.satisfied_by(&written));
/// ```
#[derive(Debug)]
pub struct Expectations<K> {
    versions: Mutex<HashMap<Key, u64>>,
    kind: PhantomData<fn(K)>,
}

impl<K> Default for Expectations<K> {
    fn default() -> Self {
        Self {
            versions: Mutex::default(),
            kind: PhantomData,
        }
    }
}

impl<K: Resource> Expectations<K> {
    /// Records a write. `object` is what the API server returned from it.
    pub fn expect(&self, object: &K) {
        let mut expected = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        expected.insert(Key::of(object), version(object));
    }

    /// Whether `object`, which comes from the watch, is at least as new as the last recorded write.
    ///
    /// If not, do nothing: the watch will show the newer object, and trigger another reconcile.
    /// Versions are compared as numbers (KEP-5504). Those of an API server that has other versions
    /// always satisfy.
    pub fn satisfied_by(&self, object: &K) -> bool {
        let mut expected = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
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
