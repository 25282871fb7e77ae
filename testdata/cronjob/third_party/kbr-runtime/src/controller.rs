// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Controllers: what they watch, and how one runs from start to stop.
//!
//! Watching, queueing and de-duplicating are kube's, as is the back-off of a failing watch.

use std::error::Error;
use std::fmt::Debug;
use std::future::{pending, ready};
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt, Stream, StreamExt};
use kube::runtime::WatchStreamExt;
use kube::runtime::controller::{Action, Config, Controller as Watching, Error as Event};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::backoff::{Backoff, Key};
use crate::reconciler::{Failed, Policy, wrap};

/// What to watch and reconcile, for [`Manager::add`](crate::Manager::add) to run.
///
/// It is built like a [`kube::runtime::Controller`]: methods with the same name do the same. Unlike
/// kube's, it reconciles one object at a time unless [`Controller::concurrency`] allows more. Errors
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
    watching: Watching<K>,
    concurrency: u16,
    debounce: Duration,
}

impl<K> Controller<K>
where
    K: Clone + Debug + DeserializeOwned + Resource + Send + Sync + 'static,
    K::DynamicType: Clone + Debug + Default + Eq + Hash + Unpin,
{
    /// Reconciles the objects of `api` that `config` selects.
    ///
    /// The objects come without `metadata.managedFields`, to save memory. [`Controller::for_stream`]
    /// leaves that and everything else about the watch to you.
    #[must_use]
    pub fn new(api: Api<K>, config: watcher::Config) -> Self
    where
        K::DynamicType: Send + Sync,
    {
        let (store, writer) = reflector::store();
        let objects = watcher(api, config).modify(|object| object.meta_mut().managed_fields = None);
        Self::for_stream(objects.reflect(writer).applied_objects(), store)
    }

    /// Reconciles the objects of `stream`, which must fill `store`; see
    /// [`Controller::for_stream`](kube::runtime::Controller::for_stream).
    #[must_use]
    pub fn for_stream(
        stream: impl Stream<Item = Result<K, watcher::Error>> + Send + 'static,
        store: Store<K>,
    ) -> Self {
        Self {
            watching: Watching::for_stream(stream, store),
            concurrency: 1,
            debounce: Duration::ZERO,
        }
    }

    /// Reconciles the owner of an object of `api` after each change of the object; see
    /// [`Controller::owns`](kube::runtime::Controller::owns).
    ///
    /// With [`Owned::watch`](crate::Owned::watch) and [`Controller::owns_stream`], a reconcile can also
    /// read these objects without asking the API server.
    #[must_use]
    pub fn owns<Child>(self, api: Api<Child>, config: watcher::Config) -> Self
    where
        Child: Clone + Debug + DeserializeOwned + Resource<DynamicType = ()> + Send + 'static,
    {
        self.map(|watching| watching.owns(api, config))
    }

    /// Reconciles the owner of each object in `stream`; see
    /// [`Controller::owns_stream`](kube::runtime::Controller::owns_stream).
    #[must_use]
    pub fn owns_stream<Child>(
        self,
        stream: impl Stream<Item = Result<Child, watcher::Error>> + Send + 'static,
    ) -> Self
    where
        Child: Resource<DynamicType = ()> + Send + 'static,
    {
        self.map(|watching| watching.owns_stream(stream))
    }

    /// Reconciles the objects that `mapper` returns, after each change of an object of `api`; see
    /// [`Controller::watches`](kube::runtime::Controller::watches).
    #[must_use]
    pub fn watches<Other, I>(
        self,
        api: Api<Other>,
        config: watcher::Config,
        mapper: impl Fn(Other) -> I + Send + Sync + 'static,
    ) -> Self
    where
        Other: Clone + Debug + DeserializeOwned + Resource + Send + 'static,
        Other::DynamicType: Clone + Debug + Default + Eq + Hash,
        I: IntoIterator<Item = ObjectRef<K>> + 'static,
        I::IntoIter: Send,
    {
        self.map(|watching| watching.watches(api, config, mapper))
    }

    /// Reconciles the objects that `mapper` returns for each object in `stream`; see
    /// [`Controller::watches_stream`](kube::runtime::Controller::watches_stream).
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
        self.map(|watching| watching.watches_stream(stream, mapper))
    }

    /// Reconciles all objects at each item in `stream`; see
    /// [`Controller::reconcile_all_on`](kube::runtime::Controller::reconcile_all_on).
    #[must_use]
    pub fn reconcile_all_on(self, stream: impl Stream<Item = ()> + Send + 'static) -> Self {
        self.map(|watching| watching.reconcile_all_on(stream))
    }

    /// Reconciles each object whose reference is in `stream`; see
    /// [`Controller::reconcile_on`](kube::runtime::Controller::reconcile_on).
    #[must_use]
    pub fn reconcile_on(self, stream: impl Stream<Item = ObjectRef<K>> + Send + 'static) -> Self {
        self.map(|watching| watching.reconcile_on(stream))
    }

    /// A cache of this controller's objects, as the watch shows them. It is empty until the manager
    /// runs.
    #[must_use]
    pub fn store(&self) -> Store<K> {
        self.watching.store()
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

    fn map(self, change: impl FnOnce(Watching<K>) -> Watching<K>) -> Self {
        Self {
            watching: change(self.watching),
            ..self
        }
    }

    /// Reconciles until `stop` is cancelled, then lets running reconciles finish and returns.
    pub(crate) async fn run<C, R, F, E>(
        self,
        name: &'static str,
        reconcile: R,
        policy: Policy<K, E, C>,
        context: Arc<C>,
        stop: CancellationToken,
    ) where
        C: Send + Sync + 'static,
        R: Fn(Arc<K>, Arc<C>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Action, E>> + Send + 'static,
        E: Error + Send + 'static,
    {
        let backoff = Backoff::default();
        let unsynced = stopped_before_synced(self.store(), stop.clone());
        let config = Config::default()
            .concurrency(self.concurrency)
            .debounce(self.debounce);
        self.watching
            .with_config(config)
            .graceful_shutdown_on(stop.cancelled_owned())
            .run(
                wrap(name, backoff.clone(), reconcile, policy),
                retry,
                context,
            )
            .take_until(unsynced)
            .for_each(|event| {
                observe(name, &backoff, event);
                ready(())
            })
            .await;
    }
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
    event: Result<(ObjectRef<K>, Action), Event<Failed, watcher::Error>>,
) {
    match event {
        Ok(_) | Err(Event::ReconcilerFailed(..)) => {}
        Err(Event::ObjectNotFound(object)) => {
            backoff.forget(&Key::from(&*object));
            tracing::debug!(controller, %object, "gone before it was reconciled");
        }
        Err(Event::QueueError(error)) => {
            let error = crate::chain::chain(&error);
            tracing::warn!(controller, error, "a watch failed and will be retried");
        }
        Err(Event::RunnerError(error)) => {
            let error = crate::chain::chain(&error);
            tracing::error!(controller, error, "kube gave up on the controller");
        }
    }
}
