// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Which of two states of an object is newer.
//!
//! Kubernetes makes the resource versions of one kind comparable as numbers (KEP-5504). If an extension API
//! server does not, no version counts as newer, and writes are still conditional.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kube::api::ObjectMeta;
use kube::{Resource, ResourceExt};
use tokio::time::Instant;

/// How long a write is expected to show: longer than a silent watch is kept. The controllers of Kubernetes
/// wait as long.
const PATIENCE: Duration = Duration::from_secs(300);

/// The resource version of an object as a number; 0 if it is not a number.
pub(crate) fn version<K: Resource>(object: &K) -> u64 {
    version_of(object.meta())
}

/// The same for an object's metadata.
pub(crate) fn version_of(metadata: &ObjectMeta) -> u64 {
    let version = metadata.resource_version.as_deref();
    version.and_then(|v| v.parse().ok()).unwrap_or_default()
}

/// The versions of objects that the operator has written, until the watch shows them.
///
/// A reconcile may get its object as it was before its own last write, because the watch is behind. It
/// would then act on stale state, or write again and be refused with 409 Conflict. The built-in
/// controllers of Kubernetes keep expectations for the same reason.
///
/// Objects are identified by their uid: an object that was deleted and recreated is a different one. A
/// write that has not shown after five minutes is no longer expected.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kbr_runtime::Expectations;
///
/// let mut object = ConfigMap::default();
/// object.metadata.uid = Some("7a1f".to_owned());
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
    /// By uid.
    written: Mutex<HashMap<String, Written>>,
    kind: PhantomData<fn(K)>,
}

#[derive(Debug)]
struct Written {
    version: u64,
    at: Instant,
}

impl<K> Default for Expectations<K> {
    fn default() -> Self {
        Self {
            written: Mutex::default(),
            kind: PhantomData,
        }
    }
}

impl<K: Resource> Expectations<K> {
    /// Records a write. `object` is what the API server returned from it.
    pub fn expect(&self, object: &K) {
        let Some(uid) = object.uid() else {
            return;
        };
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody asks again about an object that was deleted.
        written.retain(|_, written| written.at.elapsed() < PATIENCE);
        let (version, at) = (version(object), Instant::now());
        written.insert(uid, Written { version, at });
    }

    /// Whether `object`, which comes from the watch, is at least as new as the last recorded write.
    ///
    /// If not, do nothing, and retry soon with
    /// [`Action::requeue`](kube::runtime::controller::Action::requeue): the newer object is on its way,
    /// but a selector of the watch may exclude it.
    /// Versions are compared as numbers (KEP-5504). If an API server uses other versions, every object
    /// satisfies.
    pub fn satisfied_by(&self, object: &K) -> bool {
        let Some(uid) = object.meta().uid.as_ref() else {
            return true;
        };
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let is_satisfied = written.get(uid).is_none_or(|written| {
            written.version <= version(object) || written.at.elapsed() >= PATIENCE
        });
        if is_satisfied {
            written.remove(uid);
        }
        is_satisfied
    }
}
