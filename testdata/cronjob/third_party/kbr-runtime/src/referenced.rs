// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The index of references: for each object of another kind, the controller's objects that refer to it.
//!
//! The watch of the controller's objects updates the index before it asks for a reconcile. So a change of
//! the other object either finds the reference here, or happens before the reconcile that the reference
//! triggers, which reads that object.

use std::any::TypeId;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::Resource;
use kube::core::ClusterResourceScope;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Event;

use crate::backoff::Key;

/// The references of one controller's objects to the objects of one other kind. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct References(Arc<Mutex<Index>>);

#[derive(Default)]
struct Index {
    /// The references of each object that has any.
    mentioned: HashMap<Arc<Key>, Box<[Arc<Key>]>>,
    /// The objects that refer to each.
    by: HashMap<Arc<Key>, HashSet<Arc<Key>>>,
    /// The objects that a list that is arriving has shown.
    listed: HashSet<Key>,
}

impl References {
    /// Takes an event of the watch of the controller's objects.
    pub(crate) fn note<K, Other, I>(&self, event: &Event<&K>, mentions: impl Fn(&K) -> I)
    where
        K: Resource,
        Other: Resource + 'static,
        I: IntoIterator<Item = ObjectRef<Other>>,
    {
        let set = |object: &K| {
            let key = Key::of(object);
            let mut mentioned = Vec::new();
            for other in mentions(object) {
                let other = named(other, object);
                if !mentioned.contains(&other) {
                    mentioned.push(other);
                }
            }
            self.lock().set(&key, &mentioned);
            key
        };
        match event {
            Event::Init => self.lock().listed.clear(),
            Event::InitApply(object) => {
                let key = set(object);
                self.lock().listed.insert(key);
            }
            Event::InitDone => self.lock().drop_unlisted(),
            Event::Apply(object) => {
                set(object);
            }
            Event::Delete(object) => self.lock().set(&Key::of(*object), &[]),
        }
    }

    /// The objects that an event of the watch of the other kind concerns. No event reports what was deleted
    /// while that watch was interrupted, so a list concerns all objects with references.
    pub(crate) fn concerned<Other: Resource>(&self, event: &Event<Other>) -> Vec<Arc<Key>> {
        let index = self.lock();
        match event {
            Event::Init | Event::InitApply(_) => Vec::new(),
            Event::InitDone => index.mentioned.keys().cloned().collect(),
            Event::Apply(other) | Event::Delete(other) => {
                let by = index.by.get(&Key::of(other));
                by.into_iter().flatten().cloned().collect()
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Index> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Index {
    /// Replaces the references of `object`.
    fn set(&mut self, object: &Key, mentioned: &[Key]) {
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
        let object = Arc::new(object.clone());
        let mut shared = Vec::with_capacity(mentioned.len());
        for other in mentioned {
            let known = self.by.get_key_value(other).map(|(other, _)| other.clone());
            let other = known.unwrap_or_else(|| Arc::new(other.clone()));
            let by = self.by.entry(other.clone()).or_default();
            by.insert(object.clone());
            shared.push(other);
        }
        self.mentioned.insert(object, shared.into());
    }

    fn drop_unlisted(&mut self) {
        let listed = std::mem::take(&mut self.listed);
        let all = self.mentioned.keys();
        let gone: Vec<_> = all
            .filter(|key| !listed.contains(&***key))
            .cloned()
            .collect();
        for object in gone {
            self.set(&object, &[]);
        }
    }
}

/// The unique name of an object that `object` refers to.
fn named<Other: Resource + 'static>(other: ObjectRef<Other>, object: &impl Resource) -> Key {
    let is_cluster_wide = TypeId::of::<Other::Scope>() == TypeId::of::<ClusterResourceScope>();
    let namespace = match other.namespace {
        _ if is_cluster_wide => None,
        None => object.meta().namespace.clone(),
        namespace => namespace,
    };
    Key::new(namespace, other.name)
}
