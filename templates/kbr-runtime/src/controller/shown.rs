// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The events of a controller's watches, and the objects that they ask to reconcile.

use std::any::TypeId;
use std::hash::Hash;
use std::sync::Arc;

use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt};
use kube::Resource;
use kube::core::ClusterResourceScope;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher;
use serde::de::DeserializeOwned;

use crate::backoff::Key;
use crate::owned;
use crate::queue::{Asked, Why};
use crate::watch::Packed;

/// Sees each event of the objects' watch, before it asks for a reconcile.
pub(super) type Observer<K> = Box<dyn FnMut(&watcher::Event<&K>) + Send>;

/// Turns the events of the watch of a controller's objects into objects to reconcile.
pub(super) struct Shown<K>
where
    K: Resource + 'static,
    K::DynamicType: Eq + Hash,
{
    /// The objects as they were when a list began.
    cache: Store<Packed<K>>,
    observers: Vec<Observer<K>>,
    /// The part of a list that has arrived: until all of it has, the cache has the previous objects.
    listed: Vec<Asked>,
    is_first: bool,
}

impl<K> Shown<K>
where
    K: DeserializeOwned + Resource,
    K::DynamicType: Clone + Default + Eq + Hash,
{
    pub(super) fn new(cache: Store<Packed<K>>, observers: Vec<Observer<K>>) -> Self {
        Self {
            cache,
            observers,
            listed: Vec::new(),
            is_first: true,
        }
    }

    /// Returns the objects to reconcile.
    pub(super) fn take(&mut self, event: &watcher::Event<Packed<K>>) -> Vec<Asked> {
        if !self.observers.is_empty() {
            self.observe(event);
        }
        match event {
            watcher::Event::Init => self.listed.clear(),
            watcher::Event::InitApply(object) => {
                let why = self.why(object);
                self.listed.push(asked(Key::of(object), why));
            }
            watcher::Event::InitDone => {
                self.is_first = false;
                return std::mem::take(&mut self.listed);
            }
            watcher::Event::Apply(object) => return vec![asked(Key::of(object), Why::Change)],
            watcher::Event::Delete(_) => {}
        }
        Vec::new()
    }

    fn observe(&mut self, event: &watcher::Event<Packed<K>>) {
        let object = match event {
            watcher::Event::InitApply(object)
            | watcher::Event::Apply(object)
            | watcher::Event::Delete(object) => object.open().ok(),
            watcher::Event::Init | watcher::Event::InitDone => None,
        };
        let shown = match (event, &object) {
            (watcher::Event::Init, _) => watcher::Event::Init,
            (watcher::Event::InitDone, _) => watcher::Event::InitDone,
            (watcher::Event::InitApply(_), Some(object)) => watcher::Event::InitApply(object),
            (watcher::Event::Apply(_), Some(object)) => watcher::Event::Apply(object),
            (watcher::Event::Delete(_), Some(object)) => watcher::Event::Delete(object),
            _ => return,
        };
        for observer in &mut self.observers {
            observer(&shown);
        }
    }

    /// Whether the object has changed while the watch was interrupted.
    fn why(&self, object: &Packed<K>) -> Why {
        if self.is_first {
            return Why::List;
        }
        let known = self.cache.get(&ObjectRef::from_obj(object));
        let is_same = known
            .is_some_and(|known| known.meta().resource_version == object.meta().resource_version);
        if is_same { Why::List } else { Why::Change }
    }
}

/// The object in an event, and why it asks for a reconcile.
pub(super) fn touched<T>(event: watcher::Event<T>) -> Option<(T, Why)> {
    match event {
        watcher::Event::Apply(object) | watcher::Event::Delete(object) => {
            Some((object, Why::Change))
        }
        watcher::Event::InitApply(object) => Some((object, Why::List)),
        watcher::Event::Init | watcher::Event::InitDone => None,
    }
}

/// The owners of objects that have changed.
pub(super) fn owners_touched<K, Child, S>(objects: S) -> BoxStream<'static, Asked>
where
    K: Resource + 'static,
    K::DynamicType: Clone + Default + Send,
    Child: Resource + Send + 'static,
    S: Stream<Item = (Child, Why)> + Send + 'static,
{
    let kind = K::DynamicType::default();
    objects
        .flat_map(move |(object, why)| {
            let owners = owned::owners::<K>(object.meta(), &kind).into_iter();
            let owners: Vec<_> = owners.map(|owner| named(owner, why)).collect();
            stream::iter(owners)
        })
        .boxed()
}

pub(super) fn asked(object: Key, why: Why) -> Asked {
    let object = Arc::new(object);
    Asked { object, why }
}

/// Asks for the object under its unique name in the queue. The reference to a cluster-scoped owner has the
/// namespace of the owned object.
pub(super) fn named<K: Resource + 'static>(mut object: ObjectRef<K>, why: Why) -> Asked {
    if TypeId::of::<K::Scope>() == TypeId::of::<ClusterResourceScope>() {
        object.namespace = None;
    }
    asked(Key::from(&object), why)
}
