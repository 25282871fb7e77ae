// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The index of references: for each object of another kind, the controller's objects that refer to it.
//!
//! The watch of the controller's objects updates the index before it asks for a reconcile. So a change of
//! the other object either finds the reference here, or happens before the reconcile that the reference
//! triggers, which reads that object.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::Resource;
use kube::runtime::reflector::ObjectRef;

use crate::key::Key;

/// The references of one controller's objects to the objects of one other kind. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct References(Arc<Mutex<Index>>);

#[derive(Default)]
struct Index {
    /// The references of each object that has any.
    mentioned: HashMap<Arc<Key>, Box<[Arc<Key>]>>,
    /// The objects that refer to each.
    by: HashMap<Arc<Key>, BTreeSet<Arc<Key>>>,
}

impl References {
    /// Replaces the references of `object`.
    pub(crate) fn set<Other: Resource + 'static>(
        &self,
        object: &Arc<Key>,
        mentioned: impl IntoIterator<Item = ObjectRef<Other>>,
    ) {
        let mut others = Vec::new();
        for other in mentioned {
            let namespace = other.namespace.as_deref().or(object.namespace());
            let other = Key::within::<Other>(namespace, &other.name);
            if !others.contains(&other) {
                others.push(other);
            }
        }
        self.lock().set(object, &others);
    }

    /// The objects that refer to `other`.
    pub(crate) fn of(&self, other: &Key) -> Vec<Arc<Key>> {
        let index = self.lock();
        index.by.get(other).into_iter().flatten().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Index> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Index {
    /// Replaces the references of `object`.
    fn set(&mut self, object: &Arc<Key>, mentioned: &[Key]) {
        let before = self.mentioned.get(object);
        let before = before.into_iter().flatten().map(|key| &**key);
        if before.eq(mentioned) {
            return;
        }
        if let Some((object, before)) = self.mentioned.remove_entry(object) {
            for other in before {
                if let Some(by) = self.by.get_mut(&other) {
                    by.remove(&object);
                    if by.is_empty() {
                        self.by.remove(&other);
                    }
                }
            }
        }
        if mentioned.is_empty() {
            return;
        }
        let mut shared = Vec::with_capacity(mentioned.len());
        for other in mentioned {
            let known = self.by.get_key_value(other).map(|(other, _)| other.clone());
            let other = known.unwrap_or_else(|| Arc::new(other.clone()));
            let by = self.by.entry(other.clone()).or_default();
            by.insert(object.clone());
            shared.push(other);
        }
        self.mentioned.insert(object.clone(), shared.into());
    }
}
