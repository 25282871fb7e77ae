// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Controllers: what they watch, and how one runs from start to stop.
//!
//! Queueing and de-duplicating are kube's [`applier`]. What comes into the queue is decided here: kube's
//! own controller has one back-off for all of its watches, and one list for all of its objects.

mod readable;

use std::any::TypeId;
use std::convert::Infallible;
use std::error::Error;
use std::fmt::Debug;
use std::future::{pending, ready};
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, BoxStream};
use futures::{FutureExt, Stream, StreamExt};
use kube::api::PartialObjectMeta;
use kube::core::ClusterResourceScope;
use kube::runtime::WatchStreamExt;
use kube::runtime::controller::{Action, Config, Error as Event, applier};
use kube::runtime::reflector::{self, ObjectRef, Store, reflector};
use kube::runtime::watcher;
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::api_server::ApiServer;
use crate::backoff::{Backoff, Key};
use crate::health::Work;
use crate::owned::{self, Owned};
use crate::reconciler::{Failed, Policy, Reconciler};
use crate::watch::{Decoded, Skipped, Watches, decoding, resource};
use readable::Readable;

/// How long a reconcile may take unless [`Controller::timeout`] says otherwise.
const TIMEOUT: Duration = Duration::from_secs(300);

/// What to watch and reconcile, for [`Manager::add`](crate::Manager::add) to run.
///
/// It is built like a [`kube::runtime::Controller`]: methods with the same name do the same. Unlike
/// kube's, it reconciles one object at a time unless [`Controller::concurrency`] allows more, each of
/// its watches backs off by itself, and an object that does not fit its Rust type hinders no other: it
/// is logged, told in an event with the reason `Unreadable`, and skipped until it can be read. Errors
/// are handled by the manager, see
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
    store: Store<K>,
    sources: Vec<Source<K>>,
    concurrency: u16,
    debounce: Duration,
    timeout: Duration,
}

/// Whatever asks for objects to be reconciled, once it is told how watches are kept going.
type Source<K> = Box<dyn FnOnce(&Watches) -> BoxStream<'static, ObjectRef<K>> + Send>;

impl<K> Controller<K>
where
    K: Clone + Debug + DeserializeOwned + Resource + Send + Sync + 'static,
    K::DynamicType: Clone + Debug + Default + Eq + Hash + Send + Sync + Unpin,
{
    /// Reconciles the objects of `api` that `config` selects.
    ///
    /// The objects come without `metadata.managedFields`, to save memory. [`Controller::for_stream`]
    /// leaves that and everything else about the watch to you.
    #[must_use]
    pub fn new(api: Api<K>, config: watcher::Config) -> Self {
        let (store, writer) = reflector::store::<K>();
        let objects = store.clone();
        let source: Source<K> = Box::new(move |watches| {
            let skipped = Skipped::new(watches.controller(), api.clone().into_client());
            let readable = Readable::new(objects, skipped);
            let events = watches.follow(
                resource::<K>(&K::DynamicType::default()),
                decoding(api, config),
            );
            let events = events.filter_map(readable.into_filter());
            let events = events.map(Ok::<_, watcher::Error>).modify(|object| {
                object.meta_mut().managed_fields = None;
            });
            // None of them is an error.
            let objects = reflector(writer, events).applied_objects();
            objects
                .filter_map(|object| ready(object.ok()))
                .map(|object| ObjectRef::from_obj(&object))
                .boxed()
        });
        Self::of(store, source)
    }

    /// Reconciles the objects of `stream`, which must fill `store`; see
    /// `Controller::for_stream` of kube.
    ///
    /// An object that does not fit `K` ends a list of [`watcher()`](kube::runtime::watcher()) with an
    /// error, for all others as well.
    #[must_use]
    pub fn for_stream(
        stream: impl Stream<Item = Result<K, watcher::Error>> + Send + 'static,
        store: Store<K>,
    ) -> Self {
        let source: Source<K> = Box::new(move |watches| {
            let what = resource::<K>(&K::DynamicType::default());
            let objects = watches.follow_items(what, stream);
            objects.map(|object| ObjectRef::from_obj(&object)).boxed()
        });
        Self::of(store, source)
    }

    fn of(store: Store<K>, source: Source<K>) -> Self {
        Self {
            store,
            sources: vec![source],
            concurrency: 1,
            debounce: Duration::ZERO,
            timeout: TIMEOUT,
        }
    }

    /// Reconciles the owner of an object of `api` after each change of the object; see
    /// [`Controller::owns`](kube::runtime::Controller::owns). Only metadata is watched.
    ///
    /// With [`Controller::owns_cached`] a reconcile can also read these objects without asking the API
    /// server.
    #[must_use]
    pub fn owns<Child>(self, api: Api<Child>, config: watcher::Config) -> Self
    where
        Child: Clone + Debug + DeserializeOwned + Resource<DynamicType = ()> + Send + 'static,
    {
        self.with(move |watches| {
            let watch = decoding::<_, PartialObjectMeta<Child>>(api, config);
            let events = watches.follow(resource::<Child>(&()), watch);
            owners_touched(events.map(Ok).touched_objects())
        })
    }

    /// Reconciles the owner of each object in `stream`; see
    /// `Controller::owns_stream` of kube.
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
            owners_touched(objects.map(Ok))
        })
    }

    /// Reconciles the owner of each object in `cache` after each change of the object, and keeps the
    /// cache up to date.
    ///
    /// # Panics
    ///
    /// When another controller has been given the same cache.
    #[must_use]
    pub fn owns_cached<Child>(self, cache: &Owned<K, Child>) -> Self
    where
        K: Resource<DynamicType = ()>,
        Child:
            Clone + Debug + DeserializeOwned + Resource<DynamicType = ()> + Send + Sync + 'static,
    {
        let watch = cache.take_watch();
        let cache = cache.clone();
        self.with(move |watches| cache.follow(watch, watches))
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
            let mut skipped = Skipped::new(watches.controller(), api.clone().into_client());
            let what = resource::<Other>(&Other::DynamicType::default());
            let events = watches.follow(what, decoding(api, config));
            let events = events.inspect(move |event| skipped.note(event));
            let objects = events.map(Ok::<_, watcher::Error>).touched_objects();
            let read = objects.filter_map(|object| {
                ready(match object {
                    Ok(Decoded::Object(object)) => Some(object),
                    _ => None,
                })
            });
            read.flat_map(move |object| stream::iter(mapper(object)))
                .boxed()
        })
    }

    /// Reconciles the objects that `mapper` returns for each object in `stream`; see
    /// `Controller::watches_stream` of kube.
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
                .flat_map(move |object| stream::iter(mapper(object)))
                .boxed()
        })
    }

    /// Reconciles all objects at each item in `stream`; see
    /// [`Controller::reconcile_all_on`](kube::runtime::Controller::reconcile_all_on).
    #[must_use]
    pub fn reconcile_all_on(self, stream: impl Stream<Item = ()> + Send + 'static) -> Self {
        let store = self.store.clone();
        self.with(move |_| {
            let all = move |()| {
                let objects = store.state().into_iter();
                stream::iter(objects.map(|object| ObjectRef::from_obj(&*object)))
            };
            stream.flat_map(all).boxed()
        })
    }

    /// Reconciles each object whose reference is in `stream`; see
    /// `Controller::reconcile_on` of kube.
    #[must_use]
    pub fn reconcile_on(self, stream: impl Stream<Item = ObjectRef<K>> + Send + 'static) -> Self {
        self.with(move |_| stream.boxed())
    }

    /// A cache of this controller's objects, as the watch shows them. It is empty until the manager
    /// runs, and lacks objects that cannot be read.
    #[must_use]
    pub fn store(&self) -> Store<K> {
        self.store.clone()
    }

    /// How many objects are reconciled at the same time: 1 by default, and 0 for no limit.
    ///
    /// One object is never reconciled twice at the same time.
    #[must_use]
    pub fn concurrency(mut self, limit: u16) -> Self {
        self.concurrency = limit;
        self
    }

    /// Waits until an object has not changed for the time `quiet` before it is reconciled. Off by
    /// default.
    ///
    /// An object that changes more often than that is never reconciled; see [`Config::debounce`].
    #[must_use]
    pub fn debounce(mut self, quiet: Duration) -> Self {
        self.debounce = quiet;
        self
    }

    /// How long a reconcile may take: five minutes by default. One that takes longer is dropped where
    /// it awaits, logged, and retried like one that failed.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    fn with(
        mut self,
        source: impl FnOnce(&Watches) -> BoxStream<'static, ObjectRef<K>> + Send + 'static,
    ) -> Self {
        self.sources.push(Box::new(source));
        self
    }

    /// Reconciles until `stop` is cancelled, then lets running reconciles finish. Returns why it ended
    /// if it was not for that.
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
        let Run { server, work, stop } = run;
        let watches = Watches::new(name, server.clone());
        let backoff = Backoff::default();
        work.limit(self.timeout);
        work.counts().may_run(self.concurrency);
        let sources: Vec<_> = self
            .sources
            .into_iter()
            .map(|source| source(&watches))
            .collect();
        let waiting = work.clone();
        let queue = stream::select_all(sources)
            .map(move |object| {
                let object = normal(object);
                waiting.waits(&Key::from(&object));
                Ok::<_, Infallible>(object)
            })
            .take_until(stop.clone().cancelled_owned());
        let reconciler = Reconciler {
            controller: name,
            backoff: backoff.clone(),
            timeout: self.timeout,
            server,
            work: work.clone(),
            stop: stop.clone(),
            trouble: watches.trouble(),
        };
        let config = Config::default()
            .concurrency(self.concurrency)
            .debounce(self.debounce);
        let unsynced = stopped_before_synced(self.store.clone(), stop);
        let reconciler = reconciler.wrap(reconcile, policy);
        let reconciled = applier(reconciler, retry, context, self.store, queue, config)
            .take_until(unsynced)
            .for_each(|event| {
                observe(name, &backoff, &work, event);
                ready(())
            });
        tokio::select! {
            () = reconciled => "nothing is left to watch".to_owned(),
            reason = watches.never_listed() => reason,
        }
    }
}

/// What the manager gives to a controller that it runs.
#[derive(Clone)]
pub(crate) struct Run {
    pub(crate) server: ApiServer,
    pub(crate) work: Work,
    pub(crate) stop: CancellationToken,
}

/// The owners of objects that have changed.
fn owners_touched<K, Child, S>(objects: S) -> BoxStream<'static, ObjectRef<K>>
where
    K: Resource + 'static,
    K::DynamicType: Clone + Default + Send,
    Child: Resource + Send + 'static,
    S: Stream<Item = Result<Child, watcher::Error>> + Send + 'static,
{
    let kind = K::DynamicType::default();
    objects
        .filter_map(|object| ready(object.ok()))
        .flat_map(move |object| stream::iter(owned::owners::<K>(object.meta(), &kind)))
        .boxed()
}

/// The one name that an object has in the queue. An owner without a namespace comes with that of the
/// object that it owns.
fn normal<K: Resource + 'static>(mut object: ObjectRef<K>) -> ObjectRef<K> {
    if TypeId::of::<K::Scope>() == TypeId::of::<ClusterResourceScope>() {
        object.namespace = None;
    }
    object
}

/// kube's error policy: the delay was decided with the failure.
fn retry<K, C>(_: Arc<K>, failed: &Failed, _: Arc<C>) -> Action {
    failed.action.clone()
}

/// Completes when `stop` is cancelled before the first list of objects has arrived.
///
/// kube would then wait for that list, which does not come while the server is unreachable.
/// Nothing is lost: no reconcile starts before it.
async fn stopped_before_synced<K>(store: Store<K>, stop: CancellationToken)
where
    K: Clone + Resource + 'static,
    K::DynamicType: Clone + Eq + Hash,
{
    stop.cancelled().await;
    if store.wait_until_ready().now_or_never().is_some() {
        pending().await
    }
}

/// Logs what kube reports and the reconcile itself has not logged.
fn observe<K: Resource>(
    controller: &'static str,
    backoff: &Backoff,
    work: &Work,
    event: Result<(ObjectRef<K>, Action), Event<Failed, Infallible>>,
) {
    match event {
        Ok(_) | Err(Event::ReconcilerFailed(..) | Event::QueueError(_)) => {}
        Err(Event::ObjectNotFound(object)) => {
            let key = Key::from(&*object);
            backoff.forget(&key);
            work.gone(&key);
            tracing::debug!(controller, %object, "gone before it was reconciled");
        }
        Err(Event::RunnerError(error)) => {
            let error = crate::chain::chain(&error);
            tracing::error!(controller, error, "kube gave up on the controller");
        }
    }
}
