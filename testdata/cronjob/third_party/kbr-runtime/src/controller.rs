// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Controllers: what they watch, and how one runs from start to stop.
//!
//! Running and deduplicating reconciles is left to kube's [`applier`]. This module decides what enters its
//! queue, and `queue` decides when: kube's own controller has one backoff for all of its watches, one list
//! for all of its objects, and no order.

mod cache;
mod readable;
mod shown;

use std::convert::Infallible;
use std::error::Error;
use std::fmt::Debug;
use std::future::{pending, ready};
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, Stream, StreamExt};
use kube::api::PartialObjectMeta;
use kube::runtime::controller::{Action, Config, Error as Event};
use kube::runtime::events::Recorder;
use kube::runtime::reflector::{self, ObjectRef, Store, reflector};
use kube::runtime::watcher;
use kube::{Api, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::api_server::ApiServer;
use crate::backoff::{Backoff, Key};
use crate::metrics;
use crate::owned::Owned;
use crate::pause::Pause;
use crate::queue::{Queue, ReconcileRequest, Trigger};
use crate::reconciler::{Failed, Policy, Reconciler};
use crate::referenced::References;
use crate::watch::{Decoded, Packed, SYNC_LIMIT, Watches, resource};
pub use cache::Cache;
use readable::Readable;
use shown::{Observer, Shown, named, owners_touched, request, touched};

/// How long a reconcile may take unless [`Controller::timeout`] says otherwise.
const TIMEOUT: Duration = Duration::from_secs(300);

/// What to watch and reconcile, for [`Manager::add`](crate::Manager::add) to run.
///
/// It is built like a [`kube::runtime::Controller`]: methods with the same name do the same. Unlike
/// kube's, it reconciles one object at a time unless [`Controller::concurrency`] allows more, and changed
/// objects before those that were only listed. Each of its watches has its own backoff. An object that
/// does not fit its Rust type does not block others: it is logged, reported in an event with the reason
/// `Unreadable`, and skipped until it can be read. Errors are handled by the manager, see
/// [`Manager::add_with_error_policy`](crate::Manager::add_with_error_policy).
///
/// ```no_run
/// use k8s_openapi::api::apps::v1::Deployment;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kbr_runtime::Controller;
/// use kube::runtime::watcher::Config;
/// use kube::{Api, Client};
///
/// fn controller(client: Client) -> Controller<Deployment> {
///     let managed = Config::default().labels("app.kubernetes.io/managed-by=example");
///     Controller::new(Api::all(client.clone()), managed.clone())
///         .owns(Api::<ConfigMap>::all(client), managed)
///         .concurrency(4)
/// }
/// ```
pub struct Controller<K>
where
    K: Clone + Debug + Resource + 'static,
    K::DynamicType: Eq + Hash,
{
    cache: Cache<K>,
    primary: Primary<K>,
    observers: Vec<Observer<K>>,
    sources: Vec<Source>,
    pause: Option<Pause<K>>,
    concurrency: u16,
    debounce: Duration,
    timeout: Duration,
    sync_limit: Duration,
}

/// Starts a stream of the objects to reconcile, given the means to keep a watch going.
type Source = Box<dyn FnOnce(&Watches) -> BoxStream<'static, ReconcileRequest> + Send>;

/// The watch of the objects themselves.
type Primary<K> =
    Box<dyn FnOnce(&Watches, Vec<Observer<K>>) -> BoxStream<'static, ReconcileRequest> + Send>;

impl<K> Controller<K>
where
    K: Clone + Debug + DeserializeOwned + Resource + Send + Sync + 'static,
    K::DynamicType: Clone + Debug + Default + Eq + Hash + Send + Sync + Unpin,
{
    /// Reconciles the objects of `api` that `config` selects.
    ///
    /// The watch may be silent for [`watcher::Config::timeout`](watcher::Config::timeout()), by default 45 seconds; then it is renewed. With
    /// a longer time, changes that a dead connection hides are known later.
    ///
    /// They are cached as the JSON that the API server sent, without `metadata.managedFields`, and parsed for
    /// each reconcile: parsing takes some microseconds, and the cache a third of the memory or less. With
    /// [`Controller::for_stream`], this and everything else about the watch is up to you.
    #[must_use]
    pub fn new(api: Api<K>, config: watcher::Config) -> Self {
        let (store, writer) = reflector::store::<Packed<K>>();
        let objects = store.clone();
        let primary: Primary<K> = Box::new(move |watches, observers| {
            let readable = Readable::new(objects.clone(), watches.skipped());
            let events = watches.watch::<_, Packed<K>>(api, config);
            let events = events.filter_map(readable.into_filter());
            let mut shown = Shown::new(objects, observers);
            // The stream contains no errors.
            let events = reflector(writer, events.map(Ok)).filter_map(|event| ready(event.ok()));
            events
                .flat_map(move |event| stream::iter(shown.take(&event)))
                .boxed()
        });
        Self::of(Cache::of(store), primary)
    }

    /// Reconciles the objects in `stream`, which must fill `store`; see kube's
    /// `Controller::for_stream`.
    ///
    /// An object that does not fit `K` makes a whole list of [`watcher()`](kube::runtime::watcher()) fail,
    /// for all other objects as well.
    #[must_use]
    pub fn for_stream(
        stream: impl Stream<Item = Result<K, watcher::Error>> + Send + 'static,
        store: Store<K>,
    ) -> Self {
        let primary: Primary<K> = Box::new(move |watches, mut observers| {
            let what = resource::<K>(&K::DynamicType::default());
            let objects = watches.follow_items(what, stream);
            let requests = objects.map(move |object| {
                for observer in &mut observers {
                    observer(&watcher::Event::Apply(&object));
                }
                request(Key::of(&object), Trigger::Change)
            });
            requests.boxed()
        });
        Self::of(Cache::of(store), primary)
    }

    fn of(cache: Cache<K>, primary: Primary<K>) -> Self {
        Self {
            cache,
            primary,
            observers: Vec::new(),
            sources: Vec::new(),
            pause: None,
            concurrency: 1,
            debounce: Duration::ZERO,
            timeout: TIMEOUT,
            sync_limit: SYNC_LIMIT,
        }
    }

    /// Reconciles the owner of an object of `api` after each change of the object; see
    /// [`Controller::owns`](kube::runtime::Controller::owns). Only metadata is watched.
    ///
    /// With [`Controller::owns_cached`], a reconcile can also read these objects without a request to the
    /// API server.
    #[must_use]
    pub fn owns<Child>(self, api: Api<Child>, config: watcher::Config) -> Self
    where
        Child: Clone + Debug + DeserializeOwned + Resource<DynamicType = ()> + Send + 'static,
    {
        self.with(move |watches| {
            let events = watches.watch::<_, PartialObjectMeta<Child>>(api, config);
            owners_touched::<K, _, _>(events.filter_map(|event| ready(touched(event))))
        })
    }

    /// Reconciles the owner of each object in `stream`; see kube's `Controller::owns_stream`.
    #[must_use]
    pub fn owns_stream<Child>(
        self,
        stream: impl Stream<Item = Result<Child, watcher::Error>> + Send + 'static,
    ) -> Self
    where
        Child: Resource<DynamicType = ()> + Send + 'static,
    {
        self.with(move |watches| {
            let objects = watches.follow_items(resource::<Child>(&()), stream);
            owners_touched::<K, _, _>(objects.map(|object| (object, Trigger::Change)))
        })
    }

    /// Reconciles the owner of each object in `cache` after each change of the object, and keeps the
    /// cache up to date.
    ///
    /// # Panics
    ///
    /// If another controller already uses the same cache.
    #[must_use]
    pub fn owns_cached<Child>(self, cache: &Owned<K, Child>) -> Self
    where
        K: Resource<DynamicType = ()>,
        Child:
            Clone + Debug + DeserializeOwned + Resource<DynamicType = ()> + Send + Sync + 'static,
        Child: Serialize,
    {
        let watch = cache.take_watch();
        let cache = cache.clone();
        self.with(move |watches| {
            let touched = cache.follow(watch, watches);
            touched
                .map(|(object, trigger)| named(object, trigger))
                .boxed()
        })
    }

    /// Reconciles the objects that `mapper` returns, after each change of an object of `api`; see
    /// [`Controller::watches`](kube::runtime::Controller::watches).
    ///
    /// An object that does not fit `Other` is logged and skipped.
    #[must_use]
    pub fn watches<Other, I>(
        self,
        api: Api<Other>,
        config: watcher::Config,
        mapper: impl Fn(Other) -> I + Send + Sync + 'static,
    ) -> Self
    where
        Other: Clone + Debug + DeserializeOwned + Resource + Send + 'static,
        Other::DynamicType: Clone + Debug + Default + Eq + Hash + Send + Sync,
        I: IntoIterator<Item = ObjectRef<K>> + 'static,
        I::IntoIter: Send,
    {
        self.with(move |watches| {
            let mut skipped = watches.skipped();
            let events = watches.watch(api, config);
            let events = events.inspect(move |event| skipped.note(event));
            let read = events.filter_map(|event| {
                ready(match touched(event) {
                    Some((Decoded::Object(object), trigger)) => Some((object, trigger)),
                    _ => None,
                })
            });
            read.flat_map(move |(object, trigger)| {
                let objects = mapper(object).into_iter();
                stream::iter(objects.map(move |object| named(object, trigger)))
            })
            .boxed()
        })
    }

    /// Reconciles the objects that `mapper` returns for each object in `stream`; see kube's
    /// `Controller::watches_stream`.
    #[must_use]
    pub fn watches_stream<Other, I>(
        self,
        stream: impl Stream<Item = Result<Other, watcher::Error>> + Send + 'static,
        mapper: impl Fn(Other) -> I + Send + Sync + 'static,
    ) -> Self
    where
        Other: Clone + Debug + DeserializeOwned + Resource + Send + 'static,
        Other::DynamicType: Clone + Debug + Default,
        I: IntoIterator<Item = ObjectRef<K>> + 'static,
        I::IntoIter: Send,
    {
        self.with(move |watches| {
            let what = resource::<Other>(&Other::DynamicType::default());
            let objects = watches.follow_items(what, stream);
            objects
                .flat_map(move |object| {
                    let objects = mapper(object).into_iter();
                    stream::iter(objects.map(|object| named(object, Trigger::Change)))
                })
                .boxed()
        })
    }

    /// Reconciles all objects for each item in `stream`; see
    /// [`Controller::reconcile_all_on`](kube::runtime::Controller::reconcile_all_on).
    #[must_use]
    pub fn reconcile_all_on(self, stream: impl Stream<Item = ()> + Send + 'static) -> Self {
        let cache = self.cache.clone();
        self.with(move |_| {
            let all = move |()| {
                let objects = cache.keys().into_iter();
                stream::iter(objects.map(|object| request(object, Trigger::List)))
            };
            stream.flat_map(all).boxed()
        })
    }

    /// Reconciles each object whose reference is in `stream`; see kube's `Controller::reconcile_on`.
    #[must_use]
    pub fn reconcile_on(self, stream: impl Stream<Item = ObjectRef<K>> + Send + 'static) -> Self {
        self.with(move |_| stream.map(|object| named(object, Trigger::Change)).boxed())
    }

    /// Reconciles the objects that refer to an object of `api` whenever that object is created, changed or
    /// deleted.
    ///
    /// `mentions` returns the references of an object, such as the Secrets that its spec names. A reference
    /// without a namespace is to the object's own namespace. `mentions` is called for each change of the
    /// object, and its results are kept in an index: a change of a Secret triggers only the objects that
    /// refer to it. Only the metadata of the referenced objects is watched, and none of it is cached; a
    /// reconcile reads them from the API server.
    ///
    /// The role must allow `list` and `watch` on the referenced kind, in all namespaces of `api`; for
    /// Secrets, this allows reading all of them. With [`Controller::for_stream`], deleted objects stay in
    /// the index.
    ///
    /// ```no_run
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use k8s_openapi::api::core::v1::Secret;
    /// use kbr_runtime::Controller;
    /// use kube::runtime::reflector::ObjectRef;
    /// use kube::runtime::watcher::Config;
    /// use kube::{Api, Client};
    ///
    /// fn controller(client: Client) -> Controller<Deployment> {
    ///     let secrets = Api::<Secret>::all(client.clone());
    ///     Controller::new(Api::<Deployment>::all(client), Config::default())
    ///         .references(secrets, Config::default(), |deployment| {
    ///             let pods = deployment.spec.iter().flat_map(|spec| &spec.template.spec);
    ///             let secrets = pods.flat_map(|pod| pod.image_pull_secrets.iter().flatten());
    ///             let names: Vec<_> = secrets.map(|secret| ObjectRef::new(&secret.name)).collect();
    ///             names
    ///         })
    /// }
    /// ```
    #[must_use]
    pub fn references<Other, I>(
        mut self,
        api: Api<Other>,
        config: watcher::Config,
        mentions: impl Fn(&K) -> I + Send + 'static,
    ) -> Self
    where
        Other: Clone + Debug + DeserializeOwned + Resource<DynamicType = ()> + Send + 'static,
        I: IntoIterator<Item = ObjectRef<Other>>,
    {
        let references = References::default();
        let index = references.clone();
        self.observers
            .push(Box::new(move |event| index.note(event, &mentions)));
        self.with(move |watches| {
            let events = watches.watch::<_, PartialObjectMeta<Other>>(api, config);
            let concerned = events.flat_map(move |event| {
                let trigger = match event {
                    watcher::Event::Apply(_) | watcher::Event::Delete(_) => Trigger::Change,
                    _ => Trigger::List,
                };
                let objects = references.concerned(&event).into_iter();
                stream::iter(objects.map(move |object| ReconcileRequest { object, trigger }))
            });
            concerned.boxed()
        })
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
    /// condition alone, by a field manager of its own, named after the controller with the suffix `-pause`;
    /// the role must allow `patch` on the status. The list must have the type `map` with the key `type`;
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
        let pause = Pause::new(annotation);
        let paused = pause.paused();
        self.observers.push(Box::new(move |event| {
            if let watcher::Event::Delete(object) = event {
                paused.forget(&Key::of(*object));
            }
        }));
        self.pause = Some(pause);
        self
    }

    /// The cache of this controller's objects. Reading from it sends no request.
    #[must_use]
    pub fn cache(&self) -> Cache<K> {
        self.cache.clone()
    }

    /// How many objects are reconciled at the same time: 1 by default, and 0 for no limit.
    ///
    /// One object is never reconciled twice at the same time.
    #[must_use]
    pub fn concurrency(mut self, limit: u16) -> Self {
        self.concurrency = limit;
        self
    }

    /// Reconciles an object only when it has not changed for the time `quiet`. Off by default.
    ///
    /// An object that changes more often than that is never reconciled; see [`Config::debounce`].
    #[must_use]
    pub fn debounce(mut self, quiet: Duration) -> Self {
        self.debounce = quiet;
        self
    }

    /// How long a reconcile may take: five minutes by default. A reconcile that takes longer is dropped at
    /// its current `await`, logged, and retried like one that failed.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// How long the first list of each watch may take: two minutes by default, as in controller-runtime. If one
    /// takes longer, the manager ends with [`ManagerError::ControllerEnded`](crate::ManagerError), which names
    /// what could not be listed. The time counts only while the API server answers.
    #[must_use]
    pub fn cache_sync_timeout(mut self, limit: Duration) -> Self {
        self.sync_limit = limit;
        self
    }

    fn with(
        mut self,
        source: impl FnOnce(&Watches) -> BoxStream<'static, ReconcileRequest> + Send + 'static,
    ) -> Self {
        self.sources.push(Box::new(source));
        self
    }

    /// Reconciles until `stop` is cancelled, then lets running reconciles finish. Returns why it ended
    /// if `stop` was not cancelled.
    pub(crate) async fn run<C, R, F, E>(
        self,
        name: &'static str,
        reconcile: R,
        policy: Policy<K, E, C>,
        context: Arc<C>,
        run: Run,
    ) -> String
    where
        C: Send + Sync + 'static,
        R: Fn(Arc<K>, Arc<C>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Action, E>> + Send + 'static,
        E: Error + Send + 'static,
    {
        let Run {
            server,
            recorder,
            series,
            queue,
            stop,
        } = run;
        let watches = Watches::new(name, server.clone(), recorder, series).sync_limit(self.sync_limit);
        let backoff = Backoff::default();
        // If kube debounces, it must get every object at once.
        let is_limited = self.concurrency > 0 && self.debounce.is_zero();
        queue.configure(is_limited.then_some(self.concurrency), self.timeout);
        queue.counts().may_run(self.concurrency);
        let primary = (self.primary)(&watches, self.observers);
        let others = self.sources.into_iter().map(|source| source(&watches));
        let sources: Vec<_> = [primary].into_iter().chain(others).collect();
        let turns = queue
            .turns(stream::select_all(sources).boxed())
            .take_until(stop.clone().cancelled_owned());
        let pause = match self.pause.map(|pause| (pause, server.client())) {
            Some((pause, Ok(client))) => Some(pause.run(name, client)),
            Some((_, Err(error))) => return crate::chain::chain(&error),
            None => None,
        };
        let reconciler = Reconciler {
            controller: name,
            backoff: backoff.clone(),
            timeout: self.timeout,
            server,
            queue: queue.clone(),
            stop: stop.clone(),
            failing: watches.failing(),
        };
        let config = Config::default()
            .concurrency(self.concurrency)
            .debounce(self.debounce);
        let unlisted = stopped_before_listed(self.cache.listed(), stop);
        let reconcile = reconciler.wrap(reconcile, policy, pause, context);
        let reconciled = self.cache.reconcile(reconcile, turns.boxed(), config);
        let reconciled = reconciled.take_until(unlisted).for_each(|event| {
            observe(name, &backoff, &queue, event);
            ready(())
        });
        tokio::select! {
            () = reconciled => "nothing is left to watch".to_owned(),
            reason = watches.never_listed() => reason,
            never = watches.report_unreadable() => match never {},
        }
    }
}

/// What the manager gives to a controller that it runs.
#[derive(Clone)]
pub(crate) struct Run {
    pub(crate) server: ApiServer,
    pub(crate) recorder: Recorder,
    pub(crate) series: metrics::Watches,
    pub(crate) queue: Queue,
    pub(crate) stop: CancellationToken,
}

/// Completes when `stop` is cancelled before the first list of objects has arrived.
///
/// kube would then wait for that list, which does not arrive while the server is unreachable.
/// Nothing is lost: no reconcile starts before the list has arrived.
async fn stopped_before_listed(listed: BoxFuture<'static, ()>, stop: CancellationToken) {
    stop.cancelled().await;
    if listed.now_or_never().is_some() {
        pending().await
    }
}

/// Logs what kube reports, unless the reconcile itself has logged it.
fn observe(
    controller: &'static str,
    backoff: &Backoff,
    queue: &Queue,
    event: Result<(), Event<Failed, Infallible>>,
) {
    match event {
        Ok(_) | Err(Event::ReconcilerFailed(..) | Event::QueueError(_)) => {}
        Err(Event::ObjectNotFound(object)) => {
            let key = Key::from(&*object);
            backoff.forget(&key);
            queue.finished(&key);
            tracing::debug!(controller, %object, "deleted before it was reconciled");
        }
        Err(Event::RunnerError(error)) => {
            let error = crate::chain::chain(&error);
            tracing::error!(controller, error, "kube gave up on the controller");
        }
    }
}
