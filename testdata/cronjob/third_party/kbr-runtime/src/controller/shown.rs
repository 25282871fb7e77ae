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
use crate::queue::{ReconcileRequest, Trigger};
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
    listed: Vec<ReconcileRequest>,
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
    pub(super) fn take(&mut self, event: &watcher::Event<Packed<K>>) -> Vec<ReconcileRequest> {
        if !self.observers.is_empty() {
            self.observe(event);
        }
        match event {
            watcher::Event::Init => self.listed.clear(),
            watcher::Event::InitApply(object) => {
                let trigger = self.trigger(object);
                self.listed.push(request(Key::of(object), trigger));
            }
            watcher::Event::InitDone => {
                self.is_first = false;
                return std::mem::take(&mut self.listed);
            }
            watcher::Event::Apply(object) => {
                return vec![request(Key::of(object), Trigger::Change)];
            }
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
    fn trigger(&self, object: &Packed<K>) -> Trigger {
        if self.is_first {
            return Trigger::List;
        }
        let known = self.cache.get(&ObjectRef::from_obj(object));
        let is_same = known
            .is_some_and(|known| known.meta().resource_version == object.meta().resource_version);
        if is_same {
            Trigger::List
        } else {
            Trigger::Change
        }
    }
}

/// The object in an event, and what triggers its reconcile.
pub(super) fn touched<T>(event: watcher::Event<T>) -> Option<(T, Trigger)> {
    match event {
        watcher::Event::Apply(object) | watcher::Event::Delete(object) => {
            Some((object, Trigger::Change))
        }
        watcher::Event::InitApply(object) => Some((object, Trigger::List)),
        watcher::Event::Init | watcher::Event::InitDone => None,
    }
}

/// The owners of objects that have changed.
pub(super) fn owners_touched<K, Child, S>(objects: S) -> BoxStream<'static, ReconcileRequest>
where
    K: Resource + 'static,
    K::DynamicType: Clone + Default + Send,
    Child: Resource + Send + 'static,
    S: Stream<Item = (Child, Trigger)> + Send + 'static,
{
    let kind = K::DynamicType::default();
    objects
        .flat_map(move |(object, trigger)| {
            let owners = owned::owners::<K>(object.meta(), &kind).into_iter();
            let owners: Vec<_> = owners.map(|owner| named(owner, trigger)).collect();
            stream::iter(owners)
        })
        .boxed()
}

pub(super) fn request(object: Key, trigger: Trigger) -> ReconcileRequest {
    let object = Arc::new(object);
    ReconcileRequest { object, trigger }
}

/// Asks for the object under its unique name in the queue. The reference to a cluster-scoped owner has the
/// namespace of the owned object.
pub(super) fn named<K: Resource + 'static>(
    mut object: ObjectRef<K>,
    trigger: Trigger,
) -> ReconcileRequest {
    if TypeId::of::<K::Scope>() == TypeId::of::<ClusterResourceScope>() {
        object.namespace = None;
    }
    request(Key::from(&object), trigger)
}
