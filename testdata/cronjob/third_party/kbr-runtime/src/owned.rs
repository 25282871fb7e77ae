// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The objects that a controller's objects own, cached by owner as their watch shows them.
//!
//! The watch that fills the cache also triggers the owner's reconcile, and it fills the cache first: a
//! reconcile sees at least the change that triggered it. Reading sends no request, and costs the same
//! however many other objects there are.
//!
//! A reconcile also records its own writes in the cache, so that the next one sees them even if the watch
//! has not shown them yet. They are kept apart from what the watch shows, and only until the watch has
//! passed them.

mod apply;
mod delete;
mod index;
mod state;

use std::fmt::{self, Debug};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::queue::Trigger;
use crate::reading::DecodeError;
use crate::watch::{Decoded, Packed, Unreadable, Watches, resource};
use state::State;

pub(crate) use index::owners;

/// How long a reconcile waits for the first list: less than the grace period at shutdown.
const PATIENCE: Duration = Duration::from_secs(10);

/// A cache of the objects of kind `K` that objects of kind `O` own. Clones share it.
///
/// It is for a reconcile that reads its owned objects. If they only trigger it,
/// [`Controller::owns`](crate::Controller::owns) is enough. The cache holds the objects with an owner
/// reference that has `controller: true`, as [`kube::Resource::controller_owner_ref`] creates it.
///
/// ```no_run
/// use k8s_openapi::api::apps::v1::Deployment;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kbr_runtime::{Controller, NotListed, Owned};
/// use kube::runtime::watcher::Config;
/// use kube::{Api, Client};
///
/// fn watch(client: Client) -> (Controller<Deployment>, Owned<Deployment, ConfigMap>) {
///     let config_maps = Owned::watch(Api::all(client.clone()), Config::default());
///     let controller = Controller::new(Api::all(client), Config::default())
///         .owns_cached(&config_maps);
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

/// Why the objects that an object owns are unknown. Return it as the error of the reconcile, which is then
/// retried.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotListed {
    /// The first list did not arrive within ten seconds. The log says why the watch fails.
    #[error("the first list of {resource} did not arrive within {PATIENCE:?}")]
    Late {
        /// The resource and its group, such as `jobs.batch`.
        resource: String,
    },
    /// An object exists, but does not fit the Rust type. The log says what is wrong with it.
    #[error("{resource} `{name}` cannot be read")]
    Unreadable {
        /// The resource and its group, such as `jobs.batch`.
        resource: String,
        /// The name of the object.
        name: String,
    },
}

/// Why an owned object was not written. Return it as the error of the reconcile, which is then retried.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OwnedError {
    /// It is not known whether the object exists.
    #[error(transparent)]
    NotListed(#[from] NotListed),
    /// An object of that name exists that the owner does not control. It was left as it is.
    #[error("{resource} `{name}` exists, and is not controlled by this {owner}")]
    NameTaken {
        /// The resource and its group, such as `deployments.apps`.
        resource: String,
        /// The name of the object.
        name: String,
        /// The kind of the owner.
        owner: String,
    },
    /// The API server refused to create or change it, or did not answer.
    #[error("could not apply {resource} `{name}`")]
    Apply {
        /// The resource and its group, such as `deployments.apps`.
        resource: String,
        /// The name of the object.
        name: String,
        /// The error of the request.
        #[source]
        reason: kube::Error,
    },
    /// The API server refused to delete it, or did not answer.
    #[error("could not delete {resource} `{name}`")]
    Delete {
        /// The resource and its group, such as `deployments.apps`.
        resource: String,
        /// The name of the object.
        name: String,
        /// The error of the request.
        #[source]
        reason: kube::Error,
    },
}

/// Whether `owner` controls `object`: the owner reference with `controller: true` has the owner's uid.
///
/// Change and delete only objects that are controlled by the object that you reconcile. A name or a label
/// proves nothing: somebody else may have created an object with it, and an owner that was deleted and
/// recreated under its old name is a different object.
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kbr_runtime::is_controlled_by;
/// use kube::Resource;
///
/// let mut owner = Deployment::default();
/// owner.metadata.name = Some("web".to_owned());
/// owner.metadata.uid = Some("7a1f".to_owned());
/// let mut object = ConfigMap::default();
/// assert!(!is_controlled_by(&object, &owner));
///
/// object.metadata.owner_references = owner.controller_owner_ref(&()).map(|owner| vec![owner]);
/// assert!(is_controlled_by(&object, &owner));
/// ```
#[doc(alias = "IsControlledBy")]
pub fn is_controlled_by(object: &impl Resource, owner: &impl Resource) -> bool {
    let uid = owner.meta().uid.as_deref();
    let mut owners = object.meta().owner_references.iter().flatten();
    let controller = owners.find(|owner| owner.controller == Some(true));
    uid.is_some() && controller.map(|controller| controller.uid.as_str()) == uid
}

struct Cache<K> {
    state: Mutex<State<Packed<K>>>,
    is_listed: watch::Sender<bool>,
    watch: Mutex<Option<Watch<K>>>,
}

/// Starts the watch that fills a cache.
pub(crate) type Watch<K> =
    Box<dyn FnOnce(&Watches) -> BoxStream<'static, Event<Decoded<Packed<K>>>> + Send>;

impl<O, K> Owned<O, K>
where
    O: Resource<DynamicType = ()> + 'static,
    K: Clone + Debug + DeserializeOwned + Resource<DynamicType = ()> + Send + Sync + 'static,
    K: Serialize,
{
    /// Creates a cache of the objects of `api` that `config` selects. Pass it to
    /// [`Controller::owns_cached`](crate::Controller::owns_cached): it stays empty unless a controller
    /// runs it.
    ///
    /// Objects that no `O` controls are not cached. The others are cached as their JSON without
    /// `metadata.managedFields`, which is parsed when they are read.
    #[must_use]
    pub fn watch(api: Api<K>, config: watcher::Config) -> Self {
        Self::of_watch(Box::new(move |watches| watches.watch(api, config)))
    }

    /// Like [`Owned::watch`], but `slim` removes from each object what is large and never read, to save
    /// memory. Of the rest, only the fields that the type serializes are cached.
    #[must_use]
    pub fn watch_with(
        api: Api<K>,
        config: watcher::Config,
        slim: impl Fn(&mut K) + Send + 'static,
    ) -> Self {
        let slim = move |event: Event<Decoded<Packed<K>>>| {
            event.modify(|object| {
                if let Decoded::Object(packed) = object
                    && let Ok(mut object) = packed.open()
                {
                    slim(&mut object);
                    if let Ok(slimmed) = Packed::of(&object) {
                        *packed = slimmed;
                    }
                }
            })
        };
        Self::of_watch(Box::new(move |watches| {
            watches.watch(api, config).map(slim).boxed()
        }))
    }

    /// Like [`Owned::watch`], for a watch that you have created yourself with
    /// [`watcher`](kube::runtime::watcher()). Only the fields that the type serializes are cached.
    #[must_use]
    pub fn from_stream<S>(watch: S) -> Self
    where
        S: Stream<Item = Result<Event<K>, watcher::Error>> + Send + 'static,
    {
        let events = watch.map_ok(|event| match event {
            Event::Init => Event::Init,
            Event::InitApply(object) => Event::InitApply(packed(object)),
            Event::InitDone => Event::InitDone,
            Event::Apply(object) => Event::Apply(packed(object)),
            Event::Delete(object) => Event::Delete(packed(object)),
        });
        Self::of_watch(Box::new(move |watches| {
            watches.follow(resource::<K>(&()), events)
        }))
    }

    fn of_watch(watch: Watch<K>) -> Self {
        let cache = Cache {
            state: Mutex::new(State::default()),
            is_listed: watch::Sender::new(false),
            watch: Mutex::new(Some(watch)),
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
    /// [`NotListed::Late`] when the first list of the objects does not arrive within ten seconds, and
    /// [`NotListed::Unreadable`] when one of the objects of `owner` does not fit its Rust type.
    pub async fn of(&self, owner: &O) -> Result<Vec<Arc<K>>, NotListed> {
        let mut is_listed = self.cache.is_listed.subscribe();
        let listed = timeout(PATIENCE, is_listed.wait_for(|is_listed| *is_listed)).await;
        let resource = || resource::<K>(&());
        if !matches!(listed, Ok(Ok(_))) {
            return Err(NotListed::Late {
                resource: resource(),
            });
        }
        let uid = owner.meta().uid.as_deref().unwrap_or_default();
        let unreadable = |name: &str| NotListed::Unreadable {
            resource: resource(),
            name: name.to_owned(),
        };
        // Parsed after the lock is released.
        let objects: Vec<_> = {
            let state = self.lock();
            if let Some(name) = state.unreadable(uid) {
                return Err(unreadable(name));
            }
            state.of(uid).cloned().collect()
        };
        let objects = objects.into_iter().map(|packed| {
            let name = packed.meta().name.as_deref().unwrap_or_default();
            packed.open().map(Arc::new).map_err(|_| unreadable(name))
        });
        objects.collect()
    }

    /// Puts an object into the cache, as the API server returned it from a write. The next reconcile
    /// then sees it even if the watch has not shown it yet.
    ///
    /// Does nothing if the watch is already past the object's version.
    pub fn insert(&self, object: K) {
        // If it cannot be serialized, the watch shows it later.
        if let Ok(packed) = Packed::of(&object) {
            self.lock().insert::<O>(packed);
        }
    }

    /// Removes an object from the cache after it was deleted. It reappears if it turns out to still exist,
    /// for example because of a finalizer.
    pub fn remove(&self, object: &K) {
        self.lock().remove(object.meta());
    }

    /// Starts the watch that fills the cache.
    ///
    /// # Panics
    ///
    /// If it has been taken before.
    pub(crate) fn take_watch(&self) -> Watch<K> {
        let watch = self.cache.watch.lock();
        let watch = watch.unwrap_or_else(PoisonError::into_inner).take();
        let Some(watch) = watch else {
            panic!("a cache of owned {} has two controllers", K::plural(&()));
        };
        watch
    }

    /// Follows the watch. Yields the owners of changed objects, each with the reason for its reconcile.
    pub(crate) fn follow(
        self,
        watch: Watch<K>,
        watches: &Watches,
    ) -> BoxStream<'static, (ObjectRef<O>, Trigger)> {
        let mut skipped = watches.skipped();
        let events = watch(watches);
        let touched = events.flat_map(move |event| {
            skipped.note(&event);
            let why = match &event {
                Event::Apply(_) | Event::Delete(_) => Trigger::Change,
                _ => Trigger::List,
            };
            let owners = self.take(event).into_iter();
            stream::iter(owners.map(move |owner| (owner, why)))
        });
        touched.boxed()
    }

    /// Takes an event of the watch. Returns the owners that it concerns.
    fn take(&self, event: Event<Decoded<Packed<K>>>) -> Vec<ObjectRef<O>> {
        let is_list = matches!(event, Event::InitDone);
        let touched = self.lock().take(event);
        if is_list {
            self.cache.is_listed.send_replace(true);
        }
        touched
    }

    fn lock(&self) -> MutexGuard<'_, State<Packed<K>>> {
        let state = self.cache.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Packs an object of a watch that the user has created.
fn packed<K: Resource + Serialize>(object: K) -> Decoded<Packed<K>> {
    match Packed::of(&object) {
        Ok(packed) => Decoded::Object(packed),
        Err(error) => Decoded::Unreadable(Box::new(Unreadable {
            metadata: object.meta().clone(),
            error: DecodeError {
                field: ".".to_owned(),
                reason: error.to_string(),
            },
        })),
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
