// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The index of references: for each object of another kind, the controller's objects that refer to it.
//!
//! The watch of the controller's objects updates the index before it asks for a reconcile. So a change of
//! the other object either finds the reference here, or happens before the reconcile that the reference
//! triggers, which reads that object.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use kube::Resource;
use kube::runtime::reflector::ObjectRef;

use crate::key::{Index, Key, unindex};
use crate::lock::lock;

/// The references of one controller's objects to the objects of one other kind. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct References(Arc<Mutex<Mentions>>);

#[derive(Default)]
struct Mentions {
    /// The references of each object that has any.
    mentioned: HashMap<Arc<Key>, Box<[Arc<Key>]>>,
    /// The objects that refer to each.
    by: Index<Arc<Key>>,
}

impl References {
    /// Replaces the references of `object`.
    pub(crate) fn set<Other: Resource + 'static>(
        &self,
        object: &Arc<Key>,
        mentioned: impl IntoIterator<Item = ObjectRef<Other>>,
    ) {
        let others = mentioned.into_iter().map(|other| {
            let namespace = other.namespace.as_deref().or(object.namespace());
            Key::within::<Other>(namespace, &other.name)
        });
        let others: BTreeSet<Key> = others.collect();
        let Mentions { mentioned, by } = &mut *lock(&self.0);
        let before = mentioned.get(object).into_iter().flatten();
        if before.map(|key| &**key).eq(&others) {
            return;
        }
        for other in mentioned.remove(object).into_iter().flatten() {
            unindex(by, &other, object);
        }
        if others.is_empty() {
            return;
        }
        let shared = others.into_iter().map(|other| {
            let known = by.get_key_value(&other).map(|(other, _)| other.clone());
            let other = known.unwrap_or_else(|| Arc::new(other));
            by.entry(other.clone()).or_default().insert(object.clone());
            other
        });
        mentioned.insert(object.clone(), shared.collect());
    }

    /// The objects that refer to `other`.
    pub(crate) fn of(&self, other: &Key) -> BTreeSet<Arc<Key>> {
        lock(&self.0).by.get(other).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
