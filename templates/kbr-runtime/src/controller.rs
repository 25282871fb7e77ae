// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Controllers: what they watch.
//!
//! Each watch is a task that fills a [`Cache`], which tells its subscribers here what has changed. They put the
//! objects concerned into the controller's queue, from which the workers take them.

mod run;

use std::any::TypeId;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::api::PartialObjectMeta;
use kube::core::DynamicResourceScope;
use kube::runtime::Predicate;
use kube::runtime::reflector::ObjectRef;
use kube::{Resource, ResourceExt};
use serde::Serialize;

use crate::Cache;
use crate::backoff::Backoff;
use crate::cache::{Cached, Change, Hasher, Owner, Source, guard, is_controlled_by_a};
use crate::handle::{Applies, Declared, Names, TakeOver};
use crate::key::Key;
use crate::lock::lock;
use crate::pause::Pause;
use crate::queue::{Cause, Queue, Trigger};
use crate::referenced::References;
use crate::watch::{SYNC_LIMIT, resource};
pub(crate) use run::{Prepared, Run, field_manager};

/// How long a reconcile may take unless [`Controller::timeout`] says otherwise.
const TIMEOUT: Duration = Duration::from_secs(300);

/// What to watch and reconcile, for [`Manager::add`](crate::Manager::add) to run.
///
/// It reconciles one object at a time unless [`Controller::concurrency`] allows more, and changed objects before
/// those that were only listed. It begins once everything that it watches has been listed. Each watch has its own
/// backoff. An object that does not fit its Rust type does not block others: it is logged, reported in an event with
/// the reason `Unreadable`, and skipped until it can be read. Errors are handled by the manager, see
/// [`Manager::add_with_error_policy`](crate::Manager::add_with_error_policy).
///
/// ```no_run
/// use k8s_openapi::api::apps::v1::Deployment;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kbr_runtime::{Controller, Manager};
///
/// fn controller(manager: &mut Manager) -> Controller<Deployment> {
///     Controller::new(manager.all())
///         .owns(manager.all::<ConfigMap>())
///         .concurrency(4)
/// }
/// ```
pub struct Controller<K: Resource> {
    cache: Cache<K>,
    setup: Vec<Setup>,
    caches: Declared,
    sources: Vec<Arc<dyn Source>>,
    streams: Vec<BoxStream<'static, (Arc<Key>, Trigger)>>,
    /// The caches of pods, and their indexes by the object that a pod names.
    pods: Vec<(Cache<Pod>, String)>,
    applied: Arc<Mutex<Applies>>,
    names: Names,
    takes_over: TakeOver,
    pause: Option<Arc<Pause<K>>>,
    concurrency: u16,
    debounce: Duration,
    timeout: Duration,
    sync_limit: Duration,
    backoff: Backoff,
    needs_leader: bool,
    is_warm: bool,
}

/// Subscribes to a cache, once there is a queue.
type Setup = Box<dyn FnOnce(Queue) + Send>;

impl<K: Cached> Controller<K> {
    /// Reconciles the objects of `cache`.
    #[doc(alias = "For")]
    #[must_use]
    pub fn new(cache: Cache<K>) -> Self {
        cache.keep(|_| true);
        let this = Self {
            cache: cache.clone(),
            setup: Vec::new(),
            caches: Declared::default(),
            sources: Vec::new(),
            streams: Vec::new(),
            pods: Vec::new(),
            applied: Arc::default(),
            names: Names::default(),
            takes_over: TakeOver::default(),
            pause: None,
            concurrency: 1,
            debounce: Duration::ZERO,
            timeout: TIMEOUT,
            sync_limit: SYNC_LIMIT,
            backoff: Backoff::default(),
            needs_leader: true,
            is_warm: false,
        };
        this.with(cache, false)
    }

    /// Reconciles the owner of an object of `cache` after each change of the object. A reconcile can read these
    /// objects with [`Handle::owned`](crate::Handle::owned), and write them with [`Handle::apply`](crate::Handle::apply).
    ///
    /// Of objects that no `K` controls, only the metadata is kept. They are known so that no object of somebody else
    /// is taken over, and so that the object that wants the name is reconciled when it becomes free. For that, the
    /// cache must not have a selector that leaves them out.
    #[must_use]
    pub fn owns<Child: Cached>(mut self, cache: Cache<Child>) -> Self {
        let (names, applied) = (self.names.clone(), self.applied.clone());
        let (this, resource) = (self.cache.clone(), cache.resource());
        let (kind, owner) = (this.kind().clone(), this.kind().clone());
        cache.keep(move |owners| is_controlled_by_a::<K>(owners, &kind));
        self.subscribe(&cache, false, move |change, _, _| {
            let entries = change.old.iter().chain(&change.new);
            let owners = entries.flat_map(|entry| entry.owners.iter());
            let owners = owners.filter(|other| other.is::<K>(&owner));
            let key = |owner: &Owner| Arc::new(owner_of(change, &owner.name, &this));
            let mut owners: BTreeSet<_> = owners.map(key).collect();
            if is_freed(change) {
                owners.extend(names.freed(&resource, &change.key));
                if let Some(old) = &change.old {
                    lock(&applied).remove(&old.uid);
                }
            }
            owners
        });
        self.with(cache, true)
    }

    /// Reconciles the object whose name a pod of `cache` has in its label `label`, in the namespace of the pod, after
    /// each change of the pod. A reconcile can read its pods with [`Handle::pods`](crate::Handle::pods).
    ///
    /// For pods that the object does not own itself, such as those of a Deployment: set the label in the pod template.
    /// Anybody can set labels on a pod, so they are good for reporting, and not for deciding what to change or delete.
    ///
    /// ```no_run
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use k8s_openapi::api::core::v1::ConfigMap as Greeting;
    /// use kbr_runtime::{Controller, Manager};
    /// use kube::runtime::watcher::Config;
    ///
    /// fn controller(manager: &mut Manager) -> Controller<Greeting> {
    ///     // Only the pods with the label are watched.
    ///     let pods = manager.cache(None, Config::default().labels("example.com/greeting"));
    ///     Controller::new(manager.all())
    ///         .owns(manager.all::<Deployment>())
    ///         .pods(pods, "example.com/greeting")
    /// }
    /// ```
    #[must_use]
    pub fn pods(mut self, cache: Cache<Pod>, label: &'static str) -> Self {
        let kind = self.cache.kind().clone();
        let object = move |pod: &Pod| {
            let object = ObjectRef::<K>::new_with(pod.labels().get(label)?, kind.clone());
            Some(object.within(&pod.namespace()?))
        };
        let of = object.clone();
        let key = move |pod: &Pod| of(pod).iter().map(|it| named(it).to_string()).collect();
        // The other controllers of the cache have indexes of their own.
        let index = format!("{} in {label}", resource::<K>(self.cache.kind()));
        cache.index_once(index.clone(), key);
        self.pods.push((cache.clone(), index));
        self.watches(cache.clone(), object).with(cache, false)
    }

    /// Lets a reconcile read the objects of `cache` with [`Handle::get`](crate::Handle::get), without being triggered by them.
    ///
    /// If the controller has another cache of `Other` as well, [`Handle::using`](crate::Handle::using) chooses one.
    #[must_use]
    pub fn reads<Other: Cached>(self, cache: Cache<Other>) -> Self {
        cache.keep(|_| true);
        self.with(cache, false)
    }

    /// Reconciles the objects that `concerned` returns for each change in `cache`, once there is a queue. Waits for
    /// the first list of `cache`. Leaves out the changes that the predicate of `cache` leaves out.
    fn subscribe<T: Cached>(
        &mut self,
        cache: &Cache<T>,
        needs_objects: bool,
        mut concerned: impl FnMut(&Change, Option<&T>, &Queue) -> BTreeSet<Arc<Key>> + Send + 'static,
    ) {
        let cache = cache.clone();
        self.sources.push(cache.source());
        self.setup.push(Box::new(move |queue| {
            let resource = cache.resource();
            let mut filter = cache.predicate().map(|predicate| Filter {
                predicate,
                seen: HashMap::new(),
                queue: queue.clone(),
            });
            let needs_objects = needs_objects || filter.is_some();
            let subscriber = move |change: &Change, object: Option<&T>| {
                if filter
                    .as_mut()
                    .is_some_and(|filter| filter.leaves_out(change, object))
                {
                    return;
                }
                let concerned = concerned(change, object, &queue);
                if concerned.is_empty() {
                    return;
                }
                let (resource, key) = (resource.clone(), change.key.clone());
                let cause = Arc::new(Cause::Object(resource, key, change.trigger));
                for object in concerned {
                    queue.add_for(&object, change.trigger, &cause);
                }
            };
            cache.subscribe(needs_objects, Box::new(subscriber));
        }));
    }

    /// Waits for the first list of `cache`, and hands it to each reconcile.
    fn with<Other: Cached>(mut self, cache: Cache<Other>, is_owned: bool) -> Self {
        self.sources.push(cache.source());
        self.caches.add(cache.unfiltered(), is_owned);
        self
    }

    /// Reconciles the objects that `mapper` returns, after each change of an object of `cache`: those that it returns
    /// for the new object, and those that it returned for the old one. An object that does not fit `Other` is skipped.
    ///
    /// A reconcile that reads the objects needs [`Controller::reads`] too, or a clone of a cache with
    /// [`Cache::index`].
    #[must_use]
    pub fn watches<Other: Cached, I>(
        mut self,
        cache: Cache<Other>,
        mapper: impl Fn(&Other) -> I + Send + 'static,
    ) -> Self
    where
        I: IntoIterator<Item = ObjectRef<K>>,
    {
        // Who was told of each object.
        let mut told: HashMap<Arc<Key>, BTreeSet<Arc<Key>>> = HashMap::new();
        self.subscribe(&cache, true, move |change, object, queue| {
            let key = &change.key;
            // Whoever was told of an object that cannot be read now is told again.
            if object.is_none() && change.new.is_some() {
                return told.get(key).cloned().unwrap_or_default();
            }
            let mapped = object.and_then(|object| {
                guarded(queue, key, "a mapper", || {
                    let mapped = mapper(object).into_iter();
                    mapped.map(|object| Arc::new(named(&object))).collect()
                })
            });
            let mapped: BTreeSet<_> = mapped.unwrap_or_default();
            let before = if mapped.is_empty() {
                told.remove(key)
            } else {
                told.insert(key.clone(), mapped.clone())
            };
            before.into_iter().flatten().chain(mapped).collect()
        });
        self
    }

    /// Reconciles the objects that refer to an object of `cache` whenever that object is created, changed or deleted.
    ///
    /// `mentions` returns the references of an object, such as the Secrets that its spec names. A reference without a
    /// namespace is to the object's own namespace. Its results are kept in an index: a change of a Secret triggers only
    /// the objects that refer to it. The cache is one of metadata, from
    /// [`Manager::all`](crate::Manager::all)`::<`[`PartialObjectMeta`]`<Secret>>()`: a reconcile reads what it needs from
    /// the API server.
    ///
    /// The role must allow `list` and `watch` on the referenced kind, in all namespaces of `cache`; for Secrets, this
    /// allows reading all of them.
    ///
    /// ```no_run
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use k8s_openapi::api::core::v1::Secret;
    /// use kbr_runtime::{Controller, Manager};
    /// use kube::runtime::reflector::ObjectRef;
    ///
    /// fn controller(manager: &mut Manager) -> Controller<Deployment> {
    ///     Controller::new(manager.all::<Deployment>())
    ///         .references(manager.metadata::<Secret>(), |deployment| {
    ///             let pod = deployment.spec.template.spec.as_ref();
    ///             let secrets = pod.and_then(|pod| pod.image_pull_secrets.as_ref()).into_iter().flatten();
    ///             let names: Vec<_> = secrets.map(|secret| ObjectRef::new(&secret.name)).collect();
    ///             names
    ///         })
    /// }
    /// ```
    #[must_use]
    pub fn references<Other, I>(
        mut self,
        cache: Cache<PartialObjectMeta<Other>>,
        mentions: impl Fn(&K) -> I + Send + 'static,
    ) -> Self
    where
        Other: Resource<DynamicType = ()> + 'static,
        PartialObjectMeta<Other>: Cached,
        I: IntoIterator<Item = ObjectRef<Other>>,
    {
        let (this, references) = (self.cache.unfiltered(), References::default());
        let index = references.clone();
        self.subscribe(&this, true, move |change, object, queue| {
            let mentioned = match object {
                Some(object) => {
                    let what = "the function that finds references";
                    let mentioned = || mentions(object).into_iter().collect();
                    guarded(queue, &change.key, what, mentioned)
                }
                None => change.new.is_none().then(Vec::new),
            };
            if let Some(mentioned) = mentioned {
                index.set(&change.key, mentioned);
            }
            BTreeSet::new()
        });
        self.subscribe(&cache, false, move |change, _, _| {
            references.of(&change.key)
        });
        self
    }

    /// Reconciles all objects for each item in `stream`, such as [`Clock::changes`](crate::Clock::changes).
    #[must_use]
    pub fn reconcile_all_on(mut self, stream: impl Stream<Item = ()> + Send + 'static) -> Self {
        let cache = self.cache.clone();
        let all = stream.flat_map(move |()| stream::iter(cache.keys()));
        self.streams
            .push(all.map(|object| (object, Trigger::List)).boxed());
        self
    }

    /// Reconciles each object whose reference is in `stream`, for what is not an object of Kubernetes.
    #[must_use]
    pub fn reconcile_on(mut self, stream: impl Stream<Item = ObjectRef<K>> + Send + 'static) -> Self
    where
        ObjectRef<K>: Send,
    {
        let one = stream.map(|object| (Arc::new(named(&object)), Trigger::Change));
        self.streams.push(one.boxed());
        self
    }

    /// Reconciles an object after a change of itself only if `predicate` has another hash than before, such as
    /// [`predicates::generation`](kube::runtime::predicates::generation), which leaves out changes of the status.
    ///
    /// Changes of what the object owns, watches or refers to, and the first list, always trigger;
    /// [`Cache::predicates`] is for those.
    #[doc(alias = "WithEventFilter")]
    #[must_use]
    pub fn predicates(mut self, predicate: impl Predicate<K> + Send + Sync + 'static) -> Self {
        self.cache = self.cache.predicates(predicate);
        self
    }

    /// Calls `hook` when one of the objects is gone, for what is kept about each: a gauge, a connection. It is called once
    /// for each object that this process has seen, not for one that was deleted while it did not run, and must neither
    /// block nor be what cleans up elsewhere: that is [`Handle::finalizer`](crate::Handle::finalizer).
    #[must_use]
    pub fn on_deleted(mut self, hook: impl Fn(&ObjectRef<K>) + Send + 'static) -> Self {
        let cache = self.cache.unfiltered();
        let kind = cache.kind().clone();
        self.subscribe(&cache, false, move |change, _, queue| {
            if change.old.is_some() && is_freed(change) {
                let mut object = ObjectRef::new_with(change.key.name(), kind.clone());
                object.namespace = change.key.namespace().map(str::to_owned);
                guarded(queue, &change.key, "the hook for deletions", || {
                    hook(&object)
                });
            }
            BTreeSet::new()
        });
        self
    }

    /// Does not reconcile an object while it has this annotation, such as `example.com/paused`, with the
    /// value `true`. Off by default.
    ///
    /// `reconcile` is not called for the object unless it is being deleted, and is called when the
    /// annotation is removed. If you filter the events that trigger a reconcile, let changes of annotations
    /// through.
    ///
    /// If the kind has `status.conditions`, `Paused` is `True` with the reason `Paused` meanwhile, and
    /// `False` with the reason `NotPaused` afterwards. It is written with a server-side apply of that
    /// condition alone, by a field manager of its own, named as the controller's with the suffix `-pause`, which takes it
    /// over from others; the role must allow `patch` on the status. The list must have the type `map` with the key `type`;
    /// otherwise it is a single field, which belongs to the controller. What the controller itself applies
    /// must not contain the condition: see [`conditions::of_types`](crate::conditions::of_types). For a kind
    /// without conditions, pausing is only logged.
    ///
    /// Each object is serialized once per reconcile, to find the condition.
    #[must_use]
    pub fn pausable(mut self, annotation: &'static str) -> Self
    where
        K: Serialize,
    {
        self.pause = Some(Arc::new(Pause::new(annotation)));
        self
    }

    /// Takes over what these field managers have written, such as another implementation of this operator: those in Go
    /// are called `manager` in projects of kubebuilder, and else as their program.
    ///
    /// By default, [`Handle::apply_status`](crate::Handle::apply_status) takes over what anybody has written with updates. With names,
    /// it takes over what these have written, in whatever way; with none, nothing: say so if another operator writes the
    /// status of these objects as well.
    #[must_use]
    pub fn takes_over<'a>(mut self, managers: impl IntoIterator<Item = &'a str>) -> Self {
        let managers = managers.into_iter().map(str::to_owned);
        self.takes_over = TakeOver::Of(managers.collect());
        self
    }

    /// The cache of this controller's objects.
    #[must_use]
    pub fn cache(&self) -> Cache<K> {
        self.cache.unfiltered()
    }

    /// How many objects are reconciled at the same time, each on a thread of its own if there are as many: 1 by default,
    /// and 0 for no limit. `--max-concurrent-reconciles` overrides it.
    ///
    /// One object is never reconciled twice at the same time.
    #[doc(alias = "MaxConcurrentReconciles")]
    #[must_use]
    pub fn concurrency(mut self, limit: u16) -> Self {
        self.concurrency = limit;
        self
    }

    /// Reconciles an object after a change only when it has not changed for the time `quiet`. Off by default.
    ///
    /// An object that changes more often than that is never reconciled.
    #[must_use]
    pub fn debounce(mut self, quiet: Duration) -> Self {
        self.debounce = quiet;
        self
    }

    /// How long a reconcile may take: five minutes by default. A reconcile that takes longer is dropped at
    /// its current `await`, logged, and retried like one that failed.
    #[doc(alias = "ReconciliationTimeout")]
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// How long the first lists may take while the API server answers: two minutes by default. Then the manager ends
    /// with [`ManagerError::ControllerEnded`](crate::ManagerError::ControllerEnded). A cache that is filled on every replica
    /// has, on a standby, as long as the most patient of its controllers.
    #[doc(alias = "CacheSyncTimeout")]
    #[must_use]
    pub fn cache_sync_timeout(mut self, limit: Duration) -> Self {
        self.sync_limit = limit;
        self
    }

    /// The delay after the first failure of an object, 5 ms by default, which doubles with each further failure, and the
    /// longest delay, 1000 s by default.
    #[doc(alias = "RateLimiter")]
    #[must_use]
    pub fn rate_limit(mut self, first: Duration, longest: Duration) -> Self {
        self.backoff = Backoff::new(first, longest);
        self
    }

    /// Whether the controller runs only in the replica that leads: `true` by default. Without it, each replica runs the
    /// controller, which may then write nothing that two replicas must not both write.
    #[doc(alias = "NeedLeaderElection")]
    #[must_use]
    pub fn needs_leader(mut self, needs_leader: bool) -> Self {
        self.needs_leader = needs_leader;
        self
    }

    /// Whether the caches are filled before this process leads, so that it can begin at once: `false` by default. A
    /// standby then needs as much memory, and as many watches, as the leader.
    #[doc(alias = "EnableWarmup")]
    #[must_use]
    pub fn warm(mut self, is_warm: bool) -> Self {
        self.is_warm = is_warm;
        self
    }

    /// What follows the field manager of what it writes, at the most.
    pub(crate) fn suffix(&self) -> &'static str {
        self.pause.as_ref().map_or("", |_| crate::pause::SUFFIX)
    }

    /// The caches that it watches or reads.
    pub(crate) fn sources(&self) -> &[Arc<dyn Source>] {
        &self.sources
    }

    /// How many threads its reconciles need.
    pub(crate) fn workers(&self) -> usize {
        match self.concurrency {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            limit => limit.into(),
        }
    }
}

/// The result of a function of the controller with that queue; `None` if it panics.
fn guarded<T>(queue: &Queue, object: &Key, what: &str, function: impl FnOnce() -> T) -> Option<T> {
    let (counts, of) = (queue.counts(), queue.counts().controller);
    guard(
        format_args!("{what} of the controller `{of}`"),
        object,
        &counts.panics,
        function,
    )
}

/// The predicate of a subscription, and the hash that it had of each object.
struct Filter<T> {
    predicate: Arc<Hasher<T>>,
    seen: HashMap<Arc<Key>, u64>,
    queue: Queue,
}

impl<T> Filter<T> {
    /// Whether nothing of interest has changed: the hash is the same as before.
    fn leaves_out(&mut self, change: &Change, object: Option<&T>) -> bool {
        let key = &change.key;
        if change.new.is_none() {
            self.seen.remove(key);
            return false;
        }
        let hash = object.and_then(|object| {
            guarded(&self.queue, key, "a predicate", || (self.predicate)(object))
        });
        let Some(hash) = hash.flatten() else {
            return false;
        };
        let is_seen = self.seen.insert(key.clone(), hash) == Some(hash);
        is_seen && !is_replaced(change) && !has_new_owners(change)
    }
}

/// Whether the owners have changed, which decides who is concerned.
fn has_new_owners(change: &Change) -> bool {
    change.old.as_ref().map(|old| &old.owners) != change.new.as_ref().map(|new| &new.owners)
}

/// The owner with that name of the object that has changed. Whether a kind that is known only at run time has namespaces
/// shows in the cache of the owners.
fn owner_of<K: Cached>(change: &Change, name: &str, owners: &Cache<K>) -> Key {
    let key = Key::within::<K>(change.key.namespace(), name);
    if TypeId::of::<K::Scope>() == TypeId::of::<DynamicResourceScope>()
        && owners.entry(&key).is_none()
    {
        let in_cluster = Key::new(None, name.to_owned());
        if owners.entry(&in_cluster).is_some() {
            return in_cluster;
        }
    }
    key
}

/// Whether the name of the object has become free, if only for a moment.
fn is_freed(change: &Change) -> bool {
    change.new.is_none() || is_replaced(change)
}

/// Whether the object is gone, and perhaps another one has taken the name.
fn is_replaced(change: &Change) -> bool {
    let old = change.old.as_ref();
    old.is_some_and(|old| change.new.as_ref().is_none_or(|new| new.uid != old.uid))
}

/// The unique name of the object in the queue. The reference to a cluster-scoped owner may have the namespace of the
/// owned object.
fn named<K: Resource + 'static>(object: &ObjectRef<K>) -> Key {
    Key::within::<K>(object.namespace.as_deref(), &object.name)
}

#[cfg(test)]
mod tests;
