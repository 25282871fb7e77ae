// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Objects of one kind as their watch shows them, together with the writes of this process.
//!
//! There is one watch for each kind, set of namespaces, selector and form, whoever asks: [`Caches`] hands out
//! clones of one cache. The watch updates the cache first, and then tells the controllers that it triggers, so a
//! reconcile sees at least the change that triggered it.

mod entry;
mod guard;
mod shared;
mod store;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::{self, Debug};
use std::hash::Hash;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, TryLockError};
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use kube::api::ObjectMeta;
use kube::runtime::Predicate;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Event;
use prometheus_client::metrics::counter::Counter;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::key::Key;
use crate::lock::lock;
use crate::owned_error::OwnedError;
use crate::reading::DecodeError;
use crate::watch::{Selection, resource};
pub(crate) use entry::{Entry, Owner, Received, is_controlled_by_a};
use entry::{Term, fingerprint, version};
pub(crate) use guard::guard;
use guard::{may_block, may_write, without_writes};
pub(crate) use shared::{Caches, Source, Watched, all_listed};
use store::Store;
pub(crate) use store::{Change, Named};

/// What a type must have to be cached: every type of [`k8s_openapi`], every derived custom resource, and
/// [`DynamicObject`](kube::api::DynamicObject) have it.
pub trait Cached:
    Resource<DynamicType: Clone + Debug + Eq + Hash + Send + Sync + Unpin>
    + Clone
    + Debug
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
}

impl<K> Cached for K where
    K: Resource<DynamicType: Clone + Debug + Eq + Hash + Send + Sync + Unpin>
        + Clone
        + Debug
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// A cache of the objects of kind `K` that a watch selects, from [`Manager::all`](crate::Manager::all) or
/// [`Manager::cache`](crate::Manager::cache). Clones share it.
///
/// Reading sends no request. Returned objects are snapshots: they do not change with the cache. What this process
/// writes through a [`Handle`](crate::Handle) is in the cache at once, even if the watch has not shown it yet.
///
/// Objects are kept as the JSON that the API server sent, without `metadata.managedFields`, and parsed when they
/// are read: parsing takes some microseconds, and the cache a third of the memory or less. An object that does
/// not fit its Rust type is logged, reported in an event with the reason `Unreadable`, and not in the cache.
///
/// The cache is empty until the manager runs it. It keeps what its controllers read: a controller its own objects
/// and what those own, and everything with [`Controller::reads`](crate::Controller::reads), [`Cache::index`] or
/// [`Cache::on_every_replica`], or if no controller uses it. Of other objects, it has only the metadata: they are counted,
/// but neither found nor listed.
///
/// ```no_run
/// use k8s_openapi::api::core::v1::Pod;
/// use kbr_runtime::{Cache, Manager, OwnedError};
///
/// fn pods_by_node(manager: &mut Manager) -> Cache<Pod> {
///     let pods = manager.all::<Pod>();
///     pods.index("node", |pod| pod.spec.iter().flat_map(|spec| spec.node_name.clone()).collect());
///     pods
/// }
///
/// /// In a reconcile, a task or a webhook.
/// fn count(pods: &Cache<Pod>, node: &str) -> Result<usize, OwnedError> {
///     Ok(pods.by("node", node)?.len())
/// }
/// ```
#[derive(Clone)]
pub struct Cache<K: Resource>(Arc<Inner<K>>, Option<Arc<Hasher<K>>>);

/// The hash of what matters of an object, if it has that.
pub(crate) type Hasher<K> = dyn Fn(&K) -> Option<u64> + Send + Sync;

struct Inner<K: Resource> {
    kind: K::DynamicType,
    store: Mutex<Store>,
    watched: Watched,
    /// Is sent to after each event.
    events: watch::Sender<()>,
    /// Code of the user runs on a clone, under no lock.
    uses: Mutex<Arc<Uses<K>>>,
    /// The names of the indexes.
    indexes: Mutex<Vec<String>>,
    /// What no subscriber has been told of yet, in the order of the changes. Added to while `store` is locked.
    untold: Mutex<VecDeque<Untold<K>>>,
    /// Locked by whoever tells them.
    subscribers: Mutex<Vec<Subscriber<K>>>,
    /// The watch, until it begins.
    selection: Mutex<Option<Selection>>,
}

/// What happens to an object before it is in the cache.
#[derive(Clone)]
struct Uses<K> {
    indexes: Vec<Arc<IndexFn<K>>>,
    slim: Option<Arc<SlimFn<K>>>,
    /// Each says whether somebody reads an object with these owners.
    readers: Vec<Arc<Reader>>,
    /// Whether a subscriber or an index needs the objects themselves.
    needs_objects: bool,
    /// The panics of `indexes` and `slim`.
    panics: Counter,
}

impl<K> Uses<K> {
    /// Whether functions of the operator are called with each object.
    fn calls_functions(&self) -> bool {
        self.needs_objects || self.slim.is_some()
    }
}

type Reader = dyn Fn(&[Owner]) -> bool + Send + Sync;

type IndexFn<K> = dyn Fn(&K) -> Vec<String> + Send + Sync;

/// Removes what is never read, and returns the rest as JSON.
type SlimFn<K> = dyn Fn(&mut K) -> serde_json::Result<String> + Send + Sync;

/// Changes that happened at once. The object is that of the one change with a new one, if it was read.
type Untold<K> = (Vec<Change>, Option<K>);

/// Is told what the watch has shown: the change, and the new object if it was read.
pub(crate) type Subscriber<K> = Box<dyn FnMut(&Change, Option<&K>) + Send>;

/// An object that does not fit its type.
pub(crate) struct Unreadable {
    pub(crate) key: Key,
    pub(crate) reference: ObjectReference,
    pub(crate) error: DecodeError,
}

impl<K: Cached> Cache<K> {
    /// Without a selection, nothing is watched.
    pub(crate) fn new(selection: Option<Selection>, kind: K::DynamicType) -> Self {
        let inner = Inner {
            watched: Watched {
                resource: resource::<K>(&kind),
                namespace: selection.as_ref().and_then(|it| it.namespace.clone()),
                ..Watched::default()
            },
            kind,
            store: Mutex::default(),
            events: watch::Sender::default(),
            uses: Mutex::new(Arc::new(Uses {
                indexes: Vec::new(),
                slim: None,
                readers: Vec::new(),
                needs_objects: false,
                panics: Counter::default(),
            })),
            indexes: Mutex::default(),
            untold: Mutex::default(),
            subscribers: Mutex::default(),
            selection: Mutex::new(selection),
        };
        Self(Arc::new(inner), None)
    }

    /// The same cache, whose changes trigger a controller only if `predicate` has another hash than before, such as
    /// [`predicates::generation`](kube::runtime::predicates::generation), which leaves out changes of the status. What
    /// is read is the same. The first list, deletions and changes of the owners always trigger.
    ///
    /// ```no_run
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kbr_runtime::{Controller, Manager};
    /// use kube::runtime::predicates;
    ///
    /// fn controller(manager: &mut Manager) -> Controller<ConfigMap> {
    ///     let deployments = manager.all::<Deployment>().predicates(predicates::generation);
    ///     Controller::new(manager.all()).owns(deployments)
    /// }
    /// ```
    #[must_use]
    pub fn predicates(&self, predicate: impl Predicate<K> + Send + Sync + 'static) -> Self {
        let predicate = move |object: &K| predicate.hash_property(object);
        Self(self.0.clone(), Some(Arc::new(predicate)))
    }

    /// The same cache without a predicate.
    pub(crate) fn unfiltered(&self) -> Self {
        Self(self.0.clone(), None)
    }

    pub(crate) fn predicate(&self) -> Option<Arc<Hasher<K>>> {
        self.1.clone()
    }

    /// Adds an index: `keys` returns what [`Cache::by`] finds an object by. Call this before the manager runs, which it
    /// does not if the cache has two indexes of one name. `keys` cannot write to a cache.
    pub fn index(
        &self,
        name: &'static str,
        keys: impl Fn(&K) -> Vec<String> + Send + Sync + 'static,
    ) {
        if !self.index_once(name.to_owned(), keys) {
            self.refuse(format!("has two indexes with the name `{name}`"));
        }
    }

    /// Adds an index, unless there is one of that name. Returns whether it was added.
    pub(crate) fn index_once(
        &self,
        name: String,
        keys: impl Fn(&K) -> Vec<String> + Send + Sync + 'static,
    ) -> bool {
        let mut names = lock(&self.0.indexes);
        let is_new = !names.contains(&name);
        if is_new {
            names.push(name);
            self.0.use_for(|uses| {
                uses.indexes.push(Arc::new(keys));
                uses.readers.push(Arc::new(|_| true));
                uses.needs_objects = true;
            });
        }
        is_new
    }

    /// Lets `slim` remove from each object what is large and never read, to save memory. Of the rest, only the
    /// fields that the type serializes are kept. This concerns everybody who shares the cache. Call it once, before
    /// the manager runs, which it does not if two functions slim the objects of one cache. `slim` cannot write to a
    /// cache.
    ///
    /// A field that is removed is still corrected by [`Handle::apply`](crate::Handle::apply) if somebody changes it.
    pub fn slim(&self, slim: impl Fn(&mut K) + Send + Sync + 'static)
    where
        K: Serialize,
    {
        let slim = move |object: &mut K| {
            slim(object);
            serde_json::to_string(object)
        };
        let before = self.0.use_for(|uses| uses.slim.replace(Arc::new(slim)));
        if before.is_some() {
            self.refuse("is slimmed by two functions".to_owned());
        }
    }

    /// Keeps the manager from running, because of what was asked of this cache.
    fn refuse(&self, why: String) {
        lock(&self.0.watched.faults).push(why);
    }

    /// Keeps all objects, and fills the cache on each replica, whether it leads or not. Call this before the manager runs.
    ///
    /// It is for a task on every replica, and for a task that reads other objects than the controllers that use the
    /// cache; [`Webhooks::reads`](crate::webhook::Webhooks::reads) does it for a webhook. Otherwise a cache that a controller
    /// uses is filled when the controller starts, and keeps what that reads. Each replica then has a watch and the memory,
    /// and ends if it cannot list the objects for two minutes although the API server answers, or for the longest
    /// [`Controller::cache_sync_timeout`](crate::Controller::cache_sync_timeout) of the cache.
    ///
    /// ```no_run
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kbr_runtime::Manager;
    ///
    /// fn register(manager: &mut Manager) {
    ///     let maps = manager.all::<ConfigMap>();
    ///     maps.on_every_replica();
    ///     manager.add_task_on_every_replica("count", move |_| async move {
    ///         tracing::info!(maps = maps.count(), "listed");
    ///         Ok::<_, kube::Error>(())
    ///     });
    /// }
    /// ```
    pub fn on_every_replica(&self) {
        self.keep(|_| true);
        self.0.watched.is_warm.store(true, Ordering::Relaxed);
    }

    /// Waits until the watch has listed the objects. Before that, the cache is empty, which says nothing about the
    /// cluster: a reconcile or task of the manager begins only after it, and everything else has to wait.
    ///
    /// It may take for as long as the API server does not answer, and for ever if nothing fills the cache: see
    /// [`Cache::on_every_replica`].
    pub async fn listed(&self) {
        self.0.watched.listed().await;
    }

    /// Whether the watch has listed the objects.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        *self.0.watched.is_listed.borrow()
    }

    /// The object with that name and namespace, if the cache has it.
    #[must_use]
    pub fn get(&self, object: &ObjectRef<K>) -> Option<Arc<K>> {
        let key = Key::new(object.namespace.clone(), object.name.clone());
        self.entry(&key)?.open()
    }

    /// All objects, sorted by namespace and name.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<K>> {
        let all = lock(&self.0.store).all();
        opened(&all)
    }

    /// How many objects there are. None is parsed.
    #[must_use]
    pub fn count(&self) -> usize {
        lock(&self.0.store).count()
    }

    /// The objects for which the function of the index `name` returns `key`, sorted by namespace and name.
    ///
    /// # Errors
    ///
    /// [`OwnedError::Undeclared`] if there is no index of that name.
    pub fn by(&self, name: &str, key: &str) -> Result<Vec<Arc<K>>, OwnedError> {
        let number = lock(&self.0.indexes)
            .iter()
            .position(|index| *index == name);
        let number = number.ok_or_else(|| {
            let resource = &self.0.watched.resource;
            OwnedError::Undeclared(format!(
                "the cache of {resource} has no index `{name}`: add it with `Cache::index`"
            ))
        })?;
        let found = lock(&self.0.store).by(&(number, key.into()));
        Ok(opened(&found))
    }

    /// Puts an object into the cache, as the API server returned it from a write without a
    /// [`Handle`](crate::Handle). Does nothing if the watch is already past its version.
    pub fn insert(&self, object: &K)
    where
        K: Serialize,
    {
        may_write();
        // If it cannot be serialized, the watch shows it later.
        if let Ok(text) = serde_json::to_string(object)
            && let Ok(mut received) = Received::read(&text)
        {
            received.is_answer = false;
            self.wrote(received);
        }
    }

    pub(crate) fn entry(&self, key: &Key) -> Option<Arc<Entry>> {
        lock(&self.0.store).get(key).cloned()
    }

    /// The object once it `is` as wanted, or as it is after `limit`.
    pub(crate) async fn shows(
        &self,
        key: &Key,
        limit: Duration,
        is: impl Fn(Option<&Entry>) -> bool,
    ) -> Option<Arc<Entry>> {
        let is_shown = || is(self.entry(key).as_deref());
        let mut events = self.0.events.subscribe();
        let shown = async { while !is_shown() && events.changed().await.is_ok() {} };
        let _ = timeout(limit, shown).await;
        self.entry(key)
    }

    /// Whether the object with this uid is gone.
    pub(crate) fn is_gone(&self, key: &Key, uid: &str) -> bool {
        self.entry(key).is_none_or(|entry| *entry.uid != *uid)
    }

    /// The names of all objects, sorted.
    pub(crate) fn keys(&self) -> Vec<Arc<Key>> {
        let all = lock(&self.0.store).all().into_iter();
        all.map(|(key, _)| key).collect()
    }

    /// The objects that the object with this uid controls, sorted, each with its name.
    pub(crate) fn controlled_by(&self, uid: &str) -> Vec<Named> {
        lock(&self.0.store).controlled_by(uid)
    }

    /// Records what this process wrote, as the API server returned it. Returns it as the cache keeps it.
    pub(crate) fn wrote(&self, received: Received<K>) -> Arc<Entry> {
        self.wrote_opened(received, None)
    }

    /// The same, with the object if it is parsed already.
    pub(crate) fn wrote_opened(&self, received: Received<K>, object: Option<&K>) -> Arc<Entry> {
        let key = lock(&self.0.store).key(received.key());
        let (entry, ..) = self.0.read(received, object);
        let entry = Arc::new(entry);
        self.0.change(None, |store| {
            let gone = store.wrote(&key, entry.clone());
            gone.into_iter().collect()
        });
        entry
    }

    /// Records the answer to a request that lets `object` go: what the API server says is left of it, which is
    /// nothing if it said nothing. An object that has finalizers or a grace period stays for as long.
    pub(crate) fn deleted(&self, object: &ObjectMeta, left: Option<Received<K>>) {
        if let Some(left) = left.filter(|left| left.is_terminating) {
            self.wrote(left);
            return;
        }
        let (key, uid) = (Arc::new(Key::of_meta(object)), object.uid.as_deref());
        self.0.change(None, |store| {
            store.deleted(&key, uid.unwrap_or_default(), version(object));
            Vec::new()
        });
    }

    pub(crate) fn kind(&self) -> &K::DynamicType {
        &self.0.kind
    }

    /// What is cached, such as `jobs.batch`.
    pub(crate) fn resource(&self) -> String {
        self.0.watched.resource.clone()
    }

    /// Keeps the objects with such owners, and not only their metadata.
    pub(crate) fn keep(&self, reads: impl Fn(&[Owner]) -> bool + Send + Sync + 'static) {
        self.0.use_for(|uses| uses.readers.push(Arc::new(reads)));
    }

    /// Tells `subscriber` of everything that the watch shows, with the objects themselves if it needs them.
    pub(crate) fn subscribe(&self, needs_objects: bool, subscriber: Subscriber<K>) {
        lock(&self.0.subscribers).push(subscriber);
        self.0.use_for(|uses| uses.needs_objects |= needs_objects);
    }

    pub(crate) fn source(&self) -> Arc<dyn Source> {
        self.0.clone()
    }
}

impl<K: Cached> Inner<K> {
    /// Takes an event of the watch. Returns the object in it if it cannot be read, unless this version of it is
    /// known.
    fn take(&self, event: Event<Received<K>>) -> Option<Unreadable> {
        match event {
            Event::Init => self.change(None, |store| {
                store.begin_list();
                Vec::new()
            }),
            Event::InitApply(received) | Event::Apply(received) => {
                let key = lock(&self.store).key(received.key());
                let needs_objects = lock(&self.uses).needs_objects;
                let echo = lock(&self.store).echo(&key, received.meta());
                if let Some(entry) = echo.filter(|_| !needs_objects) {
                    self.change(None, |store| store.show(&key, entry));
                    return None;
                }
                let (entry, object, mut unreadable) = self.read(received, None);
                let object = object.map(Cow::into_owned);
                self.change(object, |store| {
                    let is_known = store.get(&key).is_some_and(|before| {
                        !before.is_readable
                            && before.uid == entry.uid
                            && before.version == entry.version
                    });
                    unreadable.take_if(|_| is_known);
                    store.show(&key, Arc::new(entry))
                });
                return unreadable;
            }
            Event::Delete(received) => {
                let key = lock(&self.store).key(received.key());
                let metadata = received.meta();
                let uid = metadata.uid.as_deref().unwrap_or_default();
                self.change(None, |store| store.hide(&key, uid, version(metadata)));
            }
            Event::InitDone => {
                self.change(None, Store::end_list);
                self.watched.is_listed.send_replace(true);
            }
        }
        None
    }

    /// The watch has shown everything up to that version.
    fn passed(&self, version: u64) {
        self.change(None, |store| store.pass(version));
    }

    /// Changes who uses the cache, and for what.
    fn use_for<T>(&self, change: impl FnOnce(&mut Uses<K>) -> T) -> T {
        change(Arc::make_mut(&mut lock(&self.uses)))
    }

    /// Changes the state, and tells the subscribers of the changes. `object` is that of the one change with a new one.
    fn change(&self, object: Option<K>, change: impl FnOnce(&mut Store) -> Vec<Change>) {
        let mut store = lock(&self.store);
        let changes = change(&mut store);
        let is_news = !changes.is_empty();
        if is_news {
            lock(&self.untold).push_back((changes, object));
        }
        drop(store);
        self.events.send_replace(());
        if is_news {
            self.tell();
        }
    }

    /// Tells the subscribers what they have not been told. If somebody else is doing that, he tells this as well: a
    /// write waits for no subscriber of a watch, and a subscriber may write.
    fn tell(&self) {
        let next = || lock(&self.untold).pop_front();
        loop {
            let mut subscribers = match self.subscribers.try_lock() {
                Ok(subscribers) => subscribers,
                Err(TryLockError::Poisoned(error)) => error.into_inner(),
                Err(TryLockError::WouldBlock) => return,
            };
            while let Some((changes, object)) = next() {
                for change in &changes {
                    let object = object.as_ref().filter(|_| change.new.is_some());
                    for subscriber in subscribers.iter_mut() {
                        subscriber(change, object);
                    }
                }
            }
            drop(subscribers);
            // Somebody may have left a change here just before that.
            if lock(&self.untold).is_empty() {
                return;
            }
        }
    }

    /// An object as it is kept, the object itself if somebody needs it, and why it cannot be read. `opened` is the
    /// object if it is parsed already.
    fn read<'a>(
        &self,
        mut received: Received<K>,
        opened: Option<&'a K>,
    ) -> (Entry, Option<Cow<'a, K>>, Option<Unreadable>) {
        let uses = lock(&self.uses).clone();
        let is_kept = uses.readers.iter().any(|reads| reads(&received.owners));
        if !is_kept && !uses.needs_objects {
            return (metadata_of(received, Box::default()), None, None);
        }
        let opened = opened.map_or_else(
            || received.open().map(Cow::Owned),
            |object| Ok(Cow::Borrowed(object)),
        );
        let mut object = match opened {
            Ok(object) => object,
            Err(error) => {
                let unreadable = Unreadable {
                    key: received.key(),
                    reference: received.object_ref(&self.kind),
                    error,
                };
                let entry = Entry {
                    is_readable: false,
                    ..metadata_of(received, Box::default())
                };
                return (entry, None, Some(unreadable));
            }
        };
        let key = received.key();
        let (resource, panics) = (&self.watched.resource, &uses.panics);
        let mut terms: Vec<Term> = Vec::new();
        without_writes(|| {
            for (number, keys) in uses.indexes.iter().enumerate() {
                let keys = || keys(&object);
                let keys = guard(format_args!("an index of {resource}"), &key, panics, keys);
                let keys = keys.into_iter().flatten();
                terms.extend(keys.map(|key| (number, key.into())));
            }
        });
        let terms = terms.into();
        if !is_kept {
            return (metadata_of(received, terms), Some(object), None);
        }
        let mut whole = None;
        if let Some(slim) = &uses.slim {
            let slim = || slim(object.to_mut());
            let slimmed = without_writes(|| {
                guard(
                    format_args!("the function that slims {resource}"),
                    &key,
                    panics,
                    slim,
                )
            });
            // What cannot be serialized is kept whole.
            if let Some(Ok(text)) = slimmed {
                whole = fingerprint(&received.text);
                received.text = text.into();
            }
        }
        let entry = Entry {
            whole,
            ..received.into_entry(terms)
        };
        (entry, Some(object), None)
    }
}

/// The objects that are kept and fit their type. Without the lock of the cache: parsing takes a while.
fn opened<K: DeserializeOwned>(found: &[Named]) -> Vec<Arc<K>> {
    found.iter().filter_map(|(_, entry)| entry.open()).collect()
}

/// As the cache keeps an object that nobody reads.
fn metadata_of<K>(received: Received<K>, terms: Box<[Term]>) -> Entry {
    Entry {
        text: None,
        ..received.into_entry(terms)
    }
}

impl<K: Resource> Debug for Cache<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Cache").finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(crate) mod tests;
