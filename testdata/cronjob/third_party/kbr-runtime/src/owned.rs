// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The objects that a controller's objects own, kept by owner as their watch shows them.
//!
//! The watch that fills the cache is the one that triggers the owner's reconcile, and it fills the
//! cache first: a reconcile sees at least what it was triggered by. Reading asks no server, and
//! costs the same however many other objects there are.
//!
//! What a reconcile writes it also tells the cache, so that the next one sees it even if the watch
//! has not shown it yet.

mod index;

use std::fmt::{self, Debug};
use std::marker::PhantomData;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::{Stream, StreamExt, TryStreamExt, stream};
use kube::api::PartialObjectMeta;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::expectations::version;
use index::{Index, trigger};

/// How long a reconcile waits for the first list: less than the grace period at the end.
const PATIENCE: Duration = Duration::from_secs(10);

/// A cache of the objects of kind `K` that objects of kind `O` own. Clones share it.
///
/// It is for a reconcile that reads its owned objects. To be triggered by them only,
/// [`Controller::owns`](crate::Controller::owns) is enough. The cache holds the objects with an owner
/// reference that has `controller: true`, as [`kube::Resource::controller_owner_ref`] makes it.
///
/// ```no_run
/// use k8s_openapi::api::apps::v1::Deployment;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kbr_runtime::{Controller, NotListed, Owned};
/// use kube::runtime::watcher::Config;
/// use kube::{Api, Client};
///
/// fn watch(client: Client) -> (Controller<Deployment>, Owned<Deployment, ConfigMap>) {
///     let (config_maps, changed) = Owned::watch(Api::all(client.clone()), Config::default());
///     let controller = Controller::new(Api::all(client), Config::default()).owns_stream(changed);
///     (controller, config_maps)
/// }
///
/// /// In a reconcile.
/// async fn count(
///     deployment: &Deployment,
///     config_maps: &Owned<Deployment, ConfigMap>,
/// ) -> Result<usize, NotListed> {
///     Ok(config_maps.of(deployment).await?.len())
/// }
/// ```
pub struct Owned<O, K> {
    cache: Arc<Cache<K>>,
    owner: PhantomData<fn(O)>,
}

/// The first list of the owned objects did not arrive within ten seconds; the log says why the watch
/// fails. Return it as the error of the reconcile, which is then retried.
#[derive(Debug, thiserror::Error)]
#[error("no list of {plural} has come within {PATIENCE:?}")]
pub struct NotListed {
    plural: String,
}

struct Cache<K> {
    state: Mutex<State<K>>,
    is_listed: watch::Sender<bool>,
}

struct State<K> {
    current: Index<K>,
    /// What has come of a list that is to replace all that is current.
    list: Index<K>,
    /// The newest version that the watch has shown, of any object.
    shown: u64,
}

impl<O, K> Owned<O, K>
where
    O: Resource<DynamicType = ()>,
    K: Clone + Debug + DeserializeOwned + Resource<DynamicType = ()> + Send + Sync + 'static,
{
    /// Watches the objects of `api` that `config` selects. Returns the cache and the stream that fills
    /// it. Give the stream to [`Controller::owns_stream`](crate::Controller::owns_stream): the cache
    /// stays empty unless a controller runs it.
    ///
    /// Objects that no `O` controls are not kept, and `metadata.managedFields` is removed.
    pub fn watch(
        api: Api<K>,
        config: watcher::Config,
    ) -> (
        Self,
        impl Stream<Item = Result<PartialObjectMeta<K>, watcher::Error>> + Send,
    ) {
        Self::watch_with(api, config, |_| {})
    }

    /// Like [`Owned::watch`]. `slim` removes from each object what is large and never read, to save
    /// memory.
    pub fn watch_with(
        api: Api<K>,
        config: watcher::Config,
        slim: impl Fn(&mut K) + Send + 'static,
    ) -> (
        Self,
        impl Stream<Item = Result<PartialObjectMeta<K>, watcher::Error>> + Send,
    ) {
        Self::from_stream(watcher(api, config).modify(move |object| {
            object.meta_mut().managed_fields = None;
            slim(object);
        }))
    }

    /// Like [`Owned::watch`], for a watch that you have made yourself with
    /// [`watcher`](kube::runtime::watcher()).
    pub fn from_stream<S>(
        watch: S,
    ) -> (
        Self,
        impl Stream<Item = Result<PartialObjectMeta<K>, watcher::Error>> + Send,
    )
    where
        S: Stream<Item = Result<Event<K>, watcher::Error>> + Send,
    {
        let owned = Self::empty();
        let cache = owned.clone();
        let touched = watch
            .map_ok(move |event| stream::iter(cache.take(event)).map(Ok))
            .try_flatten();
        (owned, touched)
    }

    fn empty() -> Self {
        let state = State {
            current: Index::new(),
            list: Index::new(),
            shown: 0,
        };
        let cache = Cache {
            state: Mutex::new(state),
            is_listed: watch::Sender::new(false),
        };
        Self {
            cache: Arc::new(cache),
            owner: PhantomData,
        }
    }

    /// The objects that `owner` controls, in no particular order. Sends no request.
    ///
    /// # Errors
    ///
    /// [`NotListed`] when the first list of the objects does not arrive within ten seconds.
    pub async fn of(&self, owner: &O) -> Result<Vec<Arc<K>>, NotListed> {
        let mut is_listed = self.cache.is_listed.subscribe();
        let listed = timeout(PATIENCE, is_listed.wait_for(|is_listed| *is_listed)).await;
        if !matches!(listed, Ok(Ok(_))) {
            return Err(NotListed {
                plural: K::plural(&()).into_owned(),
            });
        }
        let state = self.lock();
        let uid = owner.meta().uid.as_deref().unwrap_or_default();
        Ok(state.current.of(uid).cloned().collect())
    }

    /// Puts an object into the cache, as the API server returned it from a write. The next reconcile
    /// then sees it even if the watch has not shown it yet.
    ///
    /// Does nothing if the watch is already past the object's version.
    pub fn insert(&self, object: K) {
        let mut state = self.lock();
        // If the watch is past that version, it has shown the object, and maybe its end.
        if version(&object) > state.shown {
            state.current.insert::<O>(object);
        }
    }

    /// Removes an object from the cache, after it was deleted.
    pub fn remove(&self, object: &K) {
        self.lock().current.remove(object);
    }

    /// Follows the watch. Returns objects of all owners that are concerned.
    fn take(&self, event: Event<K>) -> Vec<PartialObjectMeta<K>> {
        let mut state = self.lock();
        if let Event::Apply(object) | Event::InitApply(object) | Event::Delete(object) = &event {
            state.shown = state.shown.max(version(object));
        }
        match event {
            Event::Apply(object) => {
                let touched = trigger::<O, K>(&object);
                let before = state.current.insert::<O>(object);
                // An object that changes hands concerns its former owner as well.
                let before = before.map(|before| trigger::<O, K>(&before));
                before.into_iter().chain([touched]).collect()
            }
            Event::Delete(object) => {
                state.current.remove(&object);
                vec![trigger::<O, K>(&object)]
            }
            Event::Init => {
                state.list = Index::new();
                Vec::new()
            }
            Event::InitApply(object) => {
                state.list.insert::<O>(object);
                Vec::new()
            }
            Event::InitDone => {
                let list = mem::replace(&mut state.list, Index::new());
                let before = mem::replace(&mut state.current, list);
                self.cache.is_listed.send_replace(true);
                // Those of before as well: what has gone meanwhile is in no list.
                before
                    .triggers::<O>()
                    .chain(state.current.triggers::<O>())
                    .collect()
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        let state = self.cache.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }
}

impl<O, K> Clone for Owned<O, K> {
    fn clone(&self) -> Self {
        Self {
            cache: self.cache.clone(),
            owner: PhantomData,
        }
    }
}

impl<O, K> Debug for Owned<O, K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Owned").finish_non_exhaustive()
    }
}
