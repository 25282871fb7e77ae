// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The caches of a manager, of whatever kind: who asks for the same gets the same.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::future::BoxFuture;
use kube::Client;
use kube::runtime::watcher;

use super::{Cache, Cached, Inner, lock};
use crate::watch::{FailingWatches, Selection, Watches, resource};

/// A cache of any kind, as a manager and a controller see it.
pub(crate) trait Source: Send + Sync {
    /// Follows the watch. Ends at once if somebody else does.
    fn follow(self: Arc<Self>, watches: Watches) -> BoxFuture<'static, ()>;

    /// What is watched, such as `jobs.batch`.
    fn resource(&self) -> String;

    fn is_listed(&self) -> bool;

    /// Waits for the first list.
    fn listed(&self) -> BoxFuture<'static, ()>;

    /// The last error before the first list.
    fn error(&self) -> Option<String>;

    fn failing(&self) -> FailingWatches;

    /// Whether it is filled before this process leads.
    fn is_warm(&self) -> bool;

    /// Identifies it.
    fn address(&self) -> usize;
}

impl<K: Cached> Source for Inner<K> {
    fn follow(self: Arc<Self>, watches: Watches) -> BoxFuture<'static, ()> {
        Box::pin(Self::follow(self, watches))
    }

    fn resource(&self) -> String {
        resource::<K>(&self.kind)
    }

    fn is_listed(&self) -> bool {
        *self.is_listed.borrow()
    }

    fn listed(&self) -> BoxFuture<'static, ()> {
        let mut is_listed = self.is_listed.subscribe();
        Box::pin(async move {
            if is_listed.wait_for(|is_listed| *is_listed).await.is_err() {
                std::future::pending().await
            }
        })
    }

    fn error(&self) -> Option<String> {
        lock(&self.error).clone()
    }

    fn failing(&self) -> FailingWatches {
        self.failing.clone()
    }

    fn is_warm(&self) -> bool {
        self.is_warm.load(Ordering::Relaxed)
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

/// The caches of a manager.
#[derive(Default)]
pub(crate) struct Caches {
    /// Those with the manager's client and without a selector, by type and namespace.
    shared: HashMap<(TypeId, Option<String>), Box<dyn Any + Send + Sync>>,
    all: Vec<Arc<dyn Source>>,
}

impl Caches {
    /// The cache of all objects in that namespace, or in all namespaces.
    pub(crate) fn shared<K: Cached>(&mut self, client: Client, namespace: Option<&str>) -> Cache<K>
    where
        K::DynamicType: Default,
    {
        let id = (TypeId::of::<K>(), namespace.map(str::to_owned));
        let known = self.shared.get(&id).and_then(|any| any.downcast_ref());
        if let Some(cache) = known {
            return Cache::clone(cache);
        }
        let selection = Selection {
            client,
            namespace: namespace.map(str::to_owned),
            config: watcher::Config::default(),
        };
        let cache = Cache::<K>::new(selection, K::DynamicType::default());
        self.shared.insert(id, Box::new(cache.clone()));
        self.add(&cache);
        cache
    }

    pub(crate) fn add<K: Cached>(&mut self, cache: &Cache<K>) {
        self.all.push(cache.source());
    }

    pub(crate) fn all(&self) -> &[Arc<dyn Source>] {
        &self.all
    }
}
