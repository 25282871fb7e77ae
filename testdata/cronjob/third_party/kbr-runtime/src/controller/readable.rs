// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The objects of a controller's watch that can be read.

use std::future::{Ready, ready};
use std::hash::Hash;

use kube::Resource;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher::Event;

use crate::watch::{Decoded, Skipped};

/// Filters out objects that cannot be read, and removes them from the cache: no reconcile may act on an
/// older version.
pub(super) struct Readable<K>
where
    K: Clone + Resource + 'static,
    K::DynamicType: Eq + Hash,
{
    /// The objects as they are known so far.
    cache: Store<K>,
    skipped: Skipped<K>,
}

impl<K> Readable<K>
where
    K: Clone + Resource + 'static,
    K::DynamicType: Clone + Default + Eq + Hash,
{
    pub(super) fn new(cache: Store<K>, skipped: Skipped<K>) -> Self {
        Self { cache, skipped }
    }

    /// For `filter_map` of a stream.
    pub(super) fn into_filter(
        mut self,
    ) -> impl FnMut(Event<Decoded<K>>) -> Ready<Option<Event<K>>> {
        move |event| ready(self.take(event))
    }

    pub(super) fn take(&mut self, event: Event<Decoded<K>>) -> Option<Event<K>> {
        self.skipped.note(&event);
        match event {
            Event::Init => Some(Event::Init),
            Event::InitDone => Some(Event::InitDone),
            Event::InitApply(Decoded::Object(object)) => Some(Event::InitApply(object)),
            Event::InitApply(Decoded::Unreadable(_)) => None,
            Event::Apply(Decoded::Object(object)) => Some(Event::Apply(object)),
            Event::Delete(Decoded::Object(object)) => Some(Event::Delete(object)),
            Event::Apply(object @ Decoded::Unreadable(_))
            | Event::Delete(object @ Decoded::Unreadable(_)) => {
                let meta = object.meta();
                let mut key = ObjectRef::new(meta.name.as_deref().unwrap_or_default());
                key.namespace = meta.namespace.clone();
                let known = self.cache.get(&key)?;
                Some(Event::Delete((*known).clone()))
            }
        }
    }
}
