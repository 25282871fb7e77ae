// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Which of two states of an object is newer.
//!
//! Kubernetes makes the resource versions of one kind comparable as numbers (KEP-5504). Where an
//! extension API server does not, nothing counts as newer, and what is written stays conditional.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kube::api::ObjectMeta;
use kube::{Resource, ResourceExt};
use tokio::time::Instant;

/// How long a write is expected to show: longer than a watch that has gone silent is kept. The
/// controllers of Kubernetes wait as long.
const PATIENCE: Duration = Duration::from_secs(300);

/// The resource version of an object as a number; 0 when it is none.
pub(crate) fn version<K: Resource>(object: &K) -> u64 {
    version_of(object.meta())
}

/// The same, of its metadata.
pub(crate) fn version_of(metadata: &ObjectMeta) -> u64 {
    let version = metadata.resource_version.as_deref();
    version.and_then(|v| v.parse().ok()).unwrap_or_default()
}

/// The versions of objects that were written here, until the watch shows them.
///
/// A reconcile may be given its object as it was before its own last write, because the watch is
/// behind. It would then act on old state, or write again and be refused with 409 Conflict. The
/// built-in controllers of Kubernetes keep expectations for the same reason.
///
/// Objects are told apart by their uid: one that is deleted and created anew is another. A write that
/// has not shown after five minutes is no longer expected.
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
        // Nobody asks again about what is gone.
        written.retain(|_, written| written.at.elapsed() < PATIENCE);
        let (version, at) = (version(object), Instant::now());
        written.insert(uid, Written { version, at });
    }

    /// Whether `object`, which comes from the watch, is at least as new as the last recorded write.
    ///
    /// If not, do nothing, and come back soon with
    /// [`Action::requeue`](kube::runtime::controller::Action::requeue): the newer object is on its way,
    /// but what selects the objects of the watch may leave it out.
    /// Versions are compared as numbers (KEP-5504). Those of an API server that has other versions
    /// always satisfy.
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
