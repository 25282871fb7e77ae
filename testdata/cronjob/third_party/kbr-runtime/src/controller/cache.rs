// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The cache of a controller's objects, and how kube reconciles the objects in it.

use std::convert::Infallible;
use std::fmt::{self, Debug};
use std::hash::Hash;
use std::sync::Arc;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use kube::Resource;
use kube::runtime::controller::{Action, Config, Error as Event, applier};
use kube::runtime::reflector::{ObjectRef, Store};
use serde::de::DeserializeOwned;

use crate::backoff::Key;
use crate::reading::DecodeError;
use crate::reconciler::{Failed, Reconcile};
use crate::watch::Packed;

/// A cache of a controller's objects, as its watch shows them, from
/// [`Controller::cache`](crate::Controller::cache). Clones share it.
///
/// It is empty until the manager runs, and does not contain objects that cannot be read. Returned objects
/// are snapshots: they do not change with the cache.
pub struct Cache<K>(Arc<dyn Objects<K>>);

impl<K: 'static> Cache<K> {
    pub(super) fn of<S: Stored<K>>(store: Store<S>) -> Self
    where
        S::DynamicType: Clone + Debug + Default + Eq + Hash + Send + Sync + Unpin,
    {
        Self(Arc::new(store))
    }

    /// The object with that name and namespace, if the cache has it.
    #[must_use]
    pub fn get(&self, object: &ObjectRef<K>) -> Option<Arc<K>>
    where
        K: Resource,
    {
        self.0.get(&Key::from(object))
    }

    /// All objects, in no particular order. With [`Controller::new`](crate::Controller::new), each call
    /// parses all of them from their JSON.
    #[must_use]
    pub fn state(&self) -> Vec<Arc<K>> {
        self.0.state()
    }

    pub(super) fn keys(&self) -> Vec<Key> {
        self.0.keys()
    }

    /// Waits for the first list. Never completes if the controller ends before it arrives.
    pub(super) fn listed(&self) -> BoxFuture<'static, ()> {
        self.0.listed()
    }

    /// Lets kube reconcile the objects of `turns`.
    pub(super) fn reconcile(
        &self,
        reconcile: Reconcile<K>,
        turns: BoxStream<'static, Arc<Key>>,
        config: Config,
    ) -> BoxStream<'static, Result<(), Event<Failed, Infallible>>> {
        self.0.reconcile(reconcile, turns, config)
    }
}

impl<K> Clone for Cache<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> Debug for Cache<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Cache").finish_non_exhaustive()
    }
}

/// How an object of kind `K` is kept.
pub(super) trait Stored<K>: Clone + Resource + Send + Sync + 'static {
    fn open(self: Arc<Self>) -> Result<Arc<K>, DecodeError>;
}

impl<K: Clone + Resource + Send + Sync + 'static> Stored<K> for K {
    fn open(self: Arc<Self>) -> Result<Arc<K>, DecodeError> {
        Ok(self)
    }
}

impl<K: Clone + DeserializeOwned + Resource + 'static> Stored<K> for Packed<K> {
    fn open(self: Arc<Self>) -> Result<Arc<K>, DecodeError> {
        Self::open(&self).map(Arc::new)
    }
}

/// A store of kube, whatever form it keeps the objects in. This way, kube's code for it is compiled once
/// for each kind, and not for each `reconcile`.
trait Objects<K>: Send + Sync {
    fn get(&self, object: &Key) -> Option<Arc<K>>;

    fn state(&self) -> Vec<Arc<K>>;

    fn keys(&self) -> Vec<Key>;

    fn listed(&self) -> BoxFuture<'static, ()>;

    fn reconcile(
        &self,
        reconcile: Reconcile<K>,
        turns: BoxStream<'static, Arc<Key>>,
        config: Config,
    ) -> BoxStream<'static, Result<(), Event<Failed, Infallible>>>;
}

impl<K: 'static, S: Stored<K>> Objects<K> for Store<S>
where
    S::DynamicType: Clone + Debug + Default + Eq + Hash + Send + Sync + Unpin,
{
    fn get(&self, object: &Key) -> Option<Arc<K>> {
        Self::get(self, &object.reference())?.open().ok()
    }

    fn state(&self) -> Vec<Arc<K>> {
        let all = Self::state(self).into_iter();
        all.filter_map(|object| object.open().ok()).collect()
    }

    fn keys(&self) -> Vec<Key> {
        Self::state(self)
            .iter()
            .map(|object| Key::of(&**object))
            .collect()
    }

    fn listed(&self) -> BoxFuture<'static, ()> {
        let store = self.clone();
        Box::pin(async move {
            if store.wait_until_ready().await.is_err() {
                std::future::pending().await
            }
        })
    }

    fn reconcile(
        &self,
        reconcile: Reconcile<K>,
        turns: BoxStream<'static, Arc<Key>>,
        config: Config,
    ) -> BoxStream<'static, Result<(), Event<Failed, Infallible>>> {
        let reconcile = move |object: Arc<S>, _| {
            let key = Key::of(&*object);
            reconcile(key, Box::new(move || object.open()))
        };
        let queue = turns.map(|object| Ok::<_, Infallible>(object.reference()));
        let reconciled = applier(reconcile, retry, Arc::new(()), self.clone(), queue, config);
        reconciled.map(|event| event.map(drop)).boxed()
    }
}

/// kube's error policy: the delay was already decided when the reconcile failed.
fn retry<S>(_: Arc<S>, failed: &Failed, _: Arc<()>) -> Action {
    failed.action.clone()
}
