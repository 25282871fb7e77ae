// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The manager: one client, the controllers, webhooks and probes, and how they start and stop together.
//!
//! All of them start in [`Manager::run`]: servers at once, controllers once this process leads.

mod faults;
mod lifecycle;
#[cfg(feature = "plan")]
mod plan;

use std::error::Error as StdError;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, OptionFuture};
use kube::api::PartialObjectMeta;
use kube::runtime::watcher;
use kube::{Client, Config};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::api_server::ApiServer;
use crate::cache::{Cached, Caches, Source};
use crate::controller::{Prepared, Run};
use crate::election::{self, Election};
use crate::events::{Events, Publisher};
use crate::health::Health;
#[cfg(feature = "certificates")]
use crate::issuer::Issuer;
use crate::metrics::Metrics;
use crate::probes::{self, Added};
use crate::queue::Queue;
use crate::running::{Part, Running};
use crate::watch::{SYNC_LIMIT, Selection, Watches};
use crate::webhook::{self, BoxError, Webhooks};
use crate::workers::Threads;
use crate::{
    Action, Cache, Clock, Controller, Flags, Handle, ManagerError, chain, client, logging,
    metrics_server, namespaces, signals,
};
use lifecycle::Lifecycle;

/// Who reports on the watches that no controller began.
const WATCHES: &str = "watches";

/// How long the start is delayed to find out whether the namespaces to watch exist.
const FIRST_ANSWER: Duration = Duration::from_secs(5);

/// How long events may still be published after controllers and tasks have ended.
const LAST_EVENTS: Duration = Duration::from_secs(2);

/// How long the servers may finish open requests, and the Lease be released, after a failure or the loss of leadership.
/// Together with [`AFTER_FAILURE`](lifecycle::AFTER_FAILURE), no more than two seconds.
const LAST_RESPONSES: Duration = Duration::from_secs(1);

/// Creates the client that controllers share, and runs controllers, webhooks and health probes.
///
/// Nothing starts before [`Manager::run`]. This type corresponds to controller-runtime's `manager.Manager`.
///
/// ```no_run
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kbr_runtime::{Action, Controller, Flags, Handle, Manager, ManagerError};
///
/// async fn reconcile(object: Handle<ConfigMap>) -> kube::Result<Action> {
///     // Bring the cluster closer to what `object` asks for.
/// #   let _ = object;
///     Ok(Action::await_change())
/// }
///
/// async fn run(flags: Flags) -> Result<(), ManagerError> {
///     let mut manager = Manager::new(flags).await?;
///     let controller = Controller::new(manager.all());
///     manager.add("example", controller, reconcile);
///     manager.run().await
/// }
/// ```
pub struct Manager {
    flags: Flags,
    operator: Option<&'static str>,
    config: Config,
    server: ApiServer,
    client: Client,
    clock: Clock,
    controllers: Vec<Registration>,
    caches: Caches,
    tasks: Vec<Task>,
    checks: Added,
    events: Events,
    /// Publishes them, from the start on.
    publisher: Option<Publisher>,
    webhooks: Webhooks,
    metrics: Metrics,
    /// Whether it watches some namespaces instead of the whole cluster.
    is_namespaced: bool,
    stop: CancellationToken,
    /// Ends the process, if the manager may do that.
    end: Option<fn()>,
}

struct Registration {
    name: &'static str,
    /// The cache of its objects.
    cache: Arc<dyn Source>,
    /// All of its caches.
    sources: Vec<Arc<dyn Source>>,
    /// How many objects it reconciles at the same time.
    workers: usize,
    /// What follows its field manager, at the most.
    suffix: &'static str,
    prepare: Box<dyn FnOnce(Run) -> Prepared + Send>,
}

struct Task {
    name: &'static str,
    /// Whether it runs only while this process leads.
    needs_lead: bool,
    /// Returns why it failed if it did.
    run: BoxFuture<'static, Result<(), String>>,
}

impl Manager {
    /// Sets up logging for the process, see [`init_logging`](crate::init_logging), and creates the client.
    /// Sends no request to the cluster yet.
    ///
    /// The cluster is taken from `flags.kubeconfig`, or else from `$KUBECONFIG`, `~/.kube/config` or the
    /// pod's service account.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Kubeconfig`] when `flags.kubeconfig` is not usable, [`ManagerError::NoCluster`]
    /// when no cluster is configured, and the errors of [`Manager::with_config`].
    pub async fn new(flags: Flags) -> Result<Self, ManagerError> {
        client::install_tls_provider();
        logging::init(&flags);
        let (is_plan, kubeconfig) = (flags.is_plan(), flags.kubeconfig.clone());
        let config = client::load_config(kubeconfig.as_deref()).await;
        let manager = config.and_then(|config| Self::with_config(flags, config));
        manager.map_err(|error| if is_plan { no_plan(&error) } else { error })
    }

    /// Creates a manager for the cluster of `config`, without setting up logging.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Client`] when `config` is not usable, for example because of a certificate in it.
    pub fn with_config(flags: Flags, mut config: Config) -> Result<Self, ManagerError> {
        client::install_tls_provider();
        client::say_who_asks(&mut config);
        let server = ApiServer::with_deadline(config.clone(), flags.request_timeout);
        #[cfg(feature = "plan")]
        if flags.plan {
            server.only_plan();
        }
        let (webhooks, metrics) = (Webhooks::default(), Metrics::new());
        let host = config.cluster_url.authority();
        let host = host.map_or("", |host| host.as_str());
        metrics.count_requests(host, server.requests());
        metrics.count_warnings(&server.warnings().count);
        metrics.count_panics(webhooks.panics(), webhooks.conversion_panics());
        let (events, publisher) = Events::new(metrics.dropped_events());
        Ok(Self {
            flags,
            operator: None,
            config,
            client: server.client().map_err(ManagerError::Client)?,
            server,
            clock: Clock::system(),
            controllers: Vec::new(),
            caches: Caches::default(),
            tasks: Vec::new(),
            checks: Added::default(),
            events,
            publisher: Some(publisher),
            webhooks,
            metrics,
            is_namespaced: false,
            stop: CancellationToken::new(),
            end: None,
        })
    }

    /// Names the operator in `managedFields` of what its controllers write: `name/controller`, instead of the
    /// controller's name alone. Two operators that reconcile one kind then share no field manager. The scaffold passes
    /// the name of the crate.
    ///
    /// A field manager has [at most 128 bytes][names], or [`Manager::run`] returns an error. Under another name, an apply does not remove what was written
    /// under this one, unless [`Controller::takes_over`] names it.
    ///
    /// [names]: https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation
    pub fn set_operator(&mut self, name: &'static str) {
        self.operator = Some(name);
    }

    /// The client that controllers share.
    ///
    /// A request other than a watch fails if it is not answered within [`Flags::request_timeout`]. After nine tenths of
    /// the grace period at the stop, it has 3% of that period instead. The client does not retry requests: return the
    /// error from the reconcile, which is then retried.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The clock that controllers share: the system clock, or the one set with [`Manager::set_clock`].
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// Replaces the clock. Call this before [`Manager::clock`], which returns the clock set at that time.
    pub fn set_clock(&mut self, clock: Clock) {
        self.clock = clock;
    }

    /// The namespaces to watch, from [`Flags::watch_namespace`], for an operator that does not watch the
    /// whole cluster. Add a controller for each of them.
    ///
    /// After this call, [`Manager::run`] returns an error and starts nothing if there are no namespaces to
    /// watch, if a name is not a valid namespace name, or if a namespace does not exist. To check that, the
    /// operator needs a Role in each namespace that allows `get` on `namespaces`.
    ///
    /// ```no_run
    /// # use {k8s_openapi::api::core::v1::ConfigMap, kbr_runtime::{Action, Controller, Handle, Manager}};
    /// # async fn reconcile(_: Handle<ConfigMap>) -> kube::Result<Action> { Ok(Action::await_change()) }
    /// fn register(manager: &mut Manager) {
    ///     for namespace in manager.namespaces() {
    ///         let controller = Controller::new(manager.namespaced(&namespace));
    ///         manager.add("example", controller, reconcile);
    ///     }
    /// }
    /// ```
    pub fn namespaces(&mut self) -> Vec<String> {
        self.is_namespaced = true;
        let names = &self.flags.watch_namespace;
        // Errors in them are reported when the manager runs.
        namespaces::check(names).map_or_else(|_| Vec::new(), |()| names.clone())
    }

    /// The webhooks that [`Manager::run`] serves. Add your own to them.
    ///
    /// None are served without `--webhook-cert-path` or `--webhook-cert-secret`, or if `$ENABLE_WEBHOOKS` is `false`.
    pub fn webhooks(&mut self) -> &mut Webhooks {
        &mut self.webhooks
    }

    /// The metrics that are served at `--metrics-bind-address`. Add your own to them.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// What publishes the events (`events.k8s.io`) of a task or webhook, under the name `controller`. A reconcile uses
    /// [`Handle::event`].
    #[doc(alias = "GetEventRecorder")]
    #[must_use]
    pub fn events(&self, controller: &str) -> Events {
        self.events.of(controller)
    }

    /// A token that is cancelled when the manager stops. Cancel it yourself to stop the manager.
    #[must_use]
    pub fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// A cache of all objects of kind `K`. There is one for each kind, whoever asks: controllers share it.
    pub fn all<K: Cached<DynamicType: Default>>(&mut self) -> Cache<K> {
        self.caches.shared(self.client.clone(), None)
    }

    /// The same for one namespace.
    pub fn namespaced<K: Cached<DynamicType: Default>>(&mut self, namespace: &str) -> Cache<K> {
        self.caches.shared(self.client.clone(), Some(namespace))
    }

    /// A cache of the metadata of all objects of kind `K`, for [`Controller::references`]. Nothing else is watched.
    pub fn metadata<K>(&mut self) -> Cache<PartialObjectMeta<K>>
    where
        PartialObjectMeta<K>: Cached<DynamicType: Default>,
    {
        self.all()
    }

    /// A cache of the objects that `config` selects, in one namespace or, with `None`, in all. It has a watch of its own,
    /// which its clones share.
    ///
    /// A manager is for one cluster: all caches are of the one that its client is for.
    pub fn cache<K>(&mut self, namespace: Option<&str>, config: watcher::Config) -> Cache<K>
    where
        K: Cached<DynamicType: Default>,
    {
        self.cache_of(namespace, config, K::DynamicType::default())
    }

    /// Like [`Manager::cache`], for a kind that is known only at run time, such as that of a
    /// [`DynamicObject`](kube::api::DynamicObject). A reconcile chooses between several with
    /// [`Handle::using`](crate::Handle::using).
    pub fn cache_of<K: Cached>(
        &mut self,
        namespace: Option<&str>,
        config: watcher::Config,
        kind: K::DynamicType,
    ) -> Cache<K> {
        let selection = Selection {
            namespace: namespace.map(str::to_owned),
            client: self.client.clone(),
            config,
        };
        let cache = Cache::new(Some(selection), kind);
        self.caches.all.push(cache.source());
        cache
    }

    /// Adds a controller. [`Manager::run`] starts it.
    ///
    /// `reconcile` is called with an object. If it fails, panics or takes longer than
    /// [`Controller::timeout`] allows, the failure is logged, and `reconcile` is called again after 5 ms. The
    /// delay doubles with each further failure of this object, up to 1000 s, and a success resets it: the rule
    /// of client-go's `ItemExponentialFailureRateLimiter`. A change does not wait for the delay, and a failure
    /// of such an early attempt does not count. While a watch of the controller fails, a delay is
    /// at most 8 s, or as long as the failed reconcile took if that is longer.
    /// If the error or one of its sources is a [`kube::Error`] with a `Retry-After`, the delay is at least
    /// that, and up to a third longer; a 409 Conflict is not logged as an error, and nothing is if the object has been deleted meanwhile. If one
    /// of them is a [`Retry`](crate::Retry), it says when the object is retried, or that it is not retried until it
    /// changes. `name` is the controller's name in the logs, and in the field manager of what it
    /// writes, see [`Manager::set_operator`].
    ///
    /// While the API server does not answer, no reconcile starts, and failures do not count.
    ///
    /// A reconcile that needs more than its object captures it:
    ///
    /// ```no_run
    /// # use {k8s_openapi::api::core::v1::ConfigMap, kbr_runtime::{Action, Controller, Handle, Manager}};
    /// # struct Settings;
    /// # async fn reconcile(_: Handle<ConfigMap>, _: Arc<Settings>) -> kube::Result<Action> { Ok(Action::await_change()) }
    /// use std::sync::Arc;
    ///
    /// fn register(manager: &mut Manager, settings: Arc<Settings>) {
    ///     let controller = Controller::new(manager.all());
    ///     manager.add("example", controller, move |object| reconcile(object, settings.clone()));
    /// }
    /// ```
    pub fn add<K, R, F, E>(&mut self, name: &'static str, controller: Controller<K>, reconcile: R)
    where
        K: Cached,
        R: Fn(Handle<K>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Action, E>> + Send + 'static,
        E: StdError + Send + 'static,
    {
        self.add_with_error_policy(name, controller, reconcile, |_, _| None);
    }

    /// Adds a controller that decides for each error when to retry.
    ///
    /// `error_policy` is called with the object and the error. It returns
    /// `Some(`[`Action::requeue`]`)` to retry after that delay, `Some(`[`Action::await_change`]`)` to
    /// retry only after a change, or `None` to do the same as [`Manager::add`]. A panic always gets the
    /// growing delay, and `error_policy` is not called for it.
    pub fn add_with_error_policy<K, R, F, E, P>(
        &mut self,
        name: &'static str,
        mut controller: Controller<K>,
        reconcile: R,
        error_policy: P,
    ) where
        K: Cached,
        R: Fn(Handle<K>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Action, E>> + Send + 'static,
        E: StdError + Send + 'static,
        P: Fn(&K, &E) -> Option<Action> + Send + Sync + 'static,
    {
        if let Some(limit) = self.flags.max_concurrent_reconciles {
            controller = controller.concurrency(limit);
        }
        let (workers, cache) = (controller.workers(), controller.cache().source());
        let sources = controller.sources().to_vec();
        let suffix = controller.suffix();
        let policy = Arc::new(error_policy);
        let prepare = move |run| controller.prepare(name, reconcile, policy, run);
        self.controllers.push(Registration {
            name,
            cache,
            sources,
            workers,
            suffix,
            prepare: Box::new(prepare),
        });
    }

    /// Adds a task that runs beside the controllers, in the replica that leads. It starts once the caches of the
    /// manager have been listed, so that what it finds in none of them does not exist. A cache that no controller uses
    /// keeps all objects; of one that controllers use, a task reads what these do, and the rest with
    /// [`Cache::on_every_replica`].
    ///
    /// `task` gets a token that is cancelled when the manager stops; it then has
    /// `--graceful-shutdown-timeout` to end. It may return `Ok` before that. An error or a panic ends the
    /// manager within two seconds, with [`ManagerError::TaskFailed`]. When leadership is lost, the task is dropped at its
    /// current `await`. A task that blocks its thread takes that thread away from the controllers: see
    /// [`tokio::task::spawn_blocking`].
    ///
    /// ```no_run
    #[doc = include_str!("manager/add_task.txt")]
    /// ```
    pub fn add_task<T, F, E>(&mut self, name: &'static str, task: T)
    where
        T: FnOnce(CancellationToken) -> F + Send + 'static,
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.push_task(name, true, task);
    }

    /// Like [`Manager::add_task`], but on every replica, whether or not this process leads. It starts once the caches
    /// that every replica has have been listed; [`Cache::on_every_replica`] makes it one of them. Without
    /// `--leader-elect` there is no difference.
    pub fn add_task_on_every_replica<T, F, E>(&mut self, name: &'static str, task: T)
    where
        T: FnOnce(CancellationToken) -> F + Send + 'static,
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.push_task(name, false, task);
    }

    fn push_task<T, F, E>(&mut self, name: &'static str, needs_lead: bool, task: T)
    where
        T: FnOnce(CancellationToken) -> F + Send + 'static,
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        let stop = self.stop.clone();
        let run = async {
            let outcome = task(stop).await;
            outcome.map_err(|error| chain::chain(&*error.into()))
        };
        self.tasks.push(Task {
            name,
            needs_lead,
            run: run.boxed(),
        });
    }

    /// Adds a check to `/healthz`. While it fails, the kubelet restarts the container: check only for
    /// problems that a restart fixes, and for nothing outside the process.
    ///
    /// `check` is called for each probe, on a thread of its own, and may block. A check that does not
    /// finish within 800 ms has failed, and is not called again until it has ended. The response has a line
    /// for each check; `/healthz/<name>` is the result of one check, and `/healthz?verbose` lists all checks
    /// even if none has failed. `name` should contain only characters that need no escaping in a URL.
    ///
    /// ```no_run
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// use kbr_runtime::Manager;
    ///
    /// fn register(manager: &mut Manager, is_broken: Arc<AtomicBool>) {
    ///     manager.add_health_check("connection", move || {
    ///         let is_broken = is_broken.load(Ordering::Relaxed);
    ///         async move { if is_broken { Err("it is broken") } else { Ok(()) } }
    ///     });
    /// }
    /// ```
    pub fn add_health_check<C, F, E>(&mut self, name: &'static str, check: C)
    where
        C: Fn() -> F + Send + Sync + 'static,
        F: Future<Output = Result<(), E>> + 'static,
        E: Into<BoxError>,
    {
        self.checks.health.add(name, check);
    }

    /// Adds a check to `/readyz`, as [`Manager::add_health_check`] does to `/healthz`. While it fails, this
    /// replica receives no webhook requests, and a rolling update waits for it. The check must not wait for
    /// leadership: a standby replica is ready.
    pub fn add_ready_check<C, F, E>(&mut self, name: &'static str, check: C)
    where
        C: Fn() -> F + Send + Sync + 'static,
        F: Future<Output = Result<(), E>> + 'static,
        E: Into<BoxError>,
    {
        self.checks.ready.add(name, check);
    }

    /// Runs until SIGTERM or SIGINT, then waits for the running reconciles and tasks and returns.
    ///
    /// It waits no longer than `--graceful-shutdown-timeout`. A second signal ends the process at once,
    /// with exit code 1. So does the loss of leadership, two seconds later, if the process still runs then.
    /// When a part of the manager fails, such as a task, that is logged at once, and it returns within two seconds.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Thread`] or [`ManagerError::ThreadEnded`] when signals cannot be handled, and the
    /// errors of [`Manager::run_until_stopped`], or those of a plan with [`Flags::plan`].
    pub async fn run(&mut self) -> Result<(), ManagerError> {
        let end: fn() = match self.flags.is_plan() {
            true => || std::process::exit(2),
            false => || std::process::exit(1),
        };
        let mut signals = signals::listen(self.stop.clone(), end)?;
        self.end = Some(end);
        tokio::select! {
            outcome = self.run_until_stopped() => outcome,
            error = signals.ended() => {
                lifecycle::named(&error);
                Err(error)
            }
        }
    }

    /// Runs until [`Manager::stop_token`] is cancelled, then waits for the running reconciles and tasks
    /// and returns. It handles no signals, and does not end the process.
    ///
    /// Webhooks are served until the controllers have finished, since the controllers' last writes may need
    /// them. Controllers, tasks and webhooks run only once: a second call starts none of them.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Registration`] when two parts cannot work together, [`ManagerError::Flag`] when a flag cannot be
    /// used, [`ManagerError::Namespace`] when a namespace that
    /// [`Manager::namespaces`] has returned cannot be watched, [`ManagerError::Election`] and
    /// [`ManagerError::LeadershipLost`] with `--leader-elect`,
    /// [`ManagerError::Listen`] or [`ManagerError::Thread`] when the probes, webhooks or metrics cannot be
    /// served, [`ManagerError::ThreadEnded`] or [`ManagerError::ControllerEnded`] when one of them or a
    /// controller ends by itself, [`ManagerError::CachesEnded`] when a cache cannot be listed within two minutes
    /// although the API server answers, [`ManagerError::TaskFailed`] when a task fails, and
    /// [`ManagerError::GracePeriodElapsed`] when reconciles or tasks do not finish in time. With [`Flags::plan`],
    /// [`ManagerError::WouldChange`] and [`ManagerError::Plan`].
    pub async fn run_until_stopped(&mut self) -> Result<(), ManagerError> {
        let faults = self.faults();
        if !faults.is_empty() {
            let error = ManagerError::Registration(faults);
            return Err(match self.flags.is_plan() {
                true => no_plan(&error),
                false => error,
            });
        }
        #[cfg(feature = "plan")]
        if self.flags.plan {
            return self.plan().await;
        }
        let settings = election::Settings::of(&self.flags)?;
        let mut namespaces = pin!(self.namespaces_exist()?.fuse());
        // An outage of the API server must not prevent the start.
        let first = timeout(FIRST_ANSWER, namespaces.as_mut());
        if let Some(Ok(known)) = self.stop.run_until_cancelled(first).await {
            known?;
        }
        let mut metrics = metrics_server::start(&self.flags, &self.config, &self.metrics)?;
        let election = settings.map(|settings| {
            let (config, gate) = (self.config.clone(), self.server.gate());
            Election::start(settings, config, gate, &self.metrics, self.end)
        });
        let election = election.transpose()?;
        let webhooks = std::mem::take(&mut self.webhooks);
        let issued = self.issue(&webhooks)?;
        let mut server = webhook::Server::start(&self.flags, webhooks, &self.metrics, issued)?;
        let mut health = Health::new(self.server.clone());
        let workers = self.controllers.iter().map(|controller| controller.workers);
        let threads = Threads::start(workers.sum())?;
        let controllers = self.take_controllers(&mut health, &threads);
        let certificate = server.certificate();
        let address = &self.flags.health_probe_bind_address;
        let checks = std::mem::take(&mut self.checks);
        let config = self.config.clone();
        let mut probes = probes::start(address, config, certificate, health, checks)?;
        let (watching, filled) = self.take_caches(&controllers);
        let (mut publishing, end) = (Running::default(), CancellationToken::new());
        if let Some(mut publisher) = self.publisher.take() {
            let (client, server, end) = (self.client.clone(), self.server.clone(), end.clone());
            publishing.spawn(Part::Task("events"), async move {
                publisher.run(client, &server, &end).await;
                let is_over = end.is_cancelled().then_some(());
                is_over.ok_or_else(|| "it ended".to_owned())
            });
        }
        let others = async {
            tokio::select! {
                error = server.ended() => error,
                error = probes.ended() => error,
                error = metrics.ended() => error,
                error = publishing.ended() => error,
                Err(error) = namespaces => error,
                () = self.server.report_outages(&self.client) => pending().await,
            }
        };
        let lifecycle = Lifecycle {
            election,
            server: self.server.clone(),
            stop: self.stop.clone(),
            grace: self.flags.graceful_shutdown_timeout,
            running: Running::default(),
            watching,
            filled,
        };
        let tasks = std::mem::take(&mut self.tasks);
        let (outcome, election) = lifecycle.run(controllers, tasks, others).await;
        self.stop.cancel();
        let release = OptionFuture::from(election.map(Election::release));
        end.cancel();
        let published = publishing.finish(LAST_EVENTS);
        let stopped = async { tokio::join!(release, server.stop(), metrics.stop(), published) };
        let limit = match outcome {
            Ok(()) | Err(ManagerError::GracePeriodElapsed(_)) => Duration::MAX,
            // Something is broken. Or soon another may lead, and code that blocks its thread has not ended.
            Err(_) => LAST_RESPONSES,
        };
        let _ = timeout(limit, stopped).await;
        outcome
    }

    /// Waits until the namespaces to watch are known to exist, if only some are watched.
    fn namespaces_exist(
        &self,
    ) -> Result<impl Future<Output = Result<(), ManagerError>> + use<>, ManagerError> {
        let names = self
            .is_namespaced
            .then(|| self.flags.watch_namespace.clone());
        names.as_deref().map_or(Ok(()), namespaces::check)?;
        let (client, server) = (self.client.clone(), self.server.clone());
        Ok(async move {
            match names {
                Some(names) => namespaces::exist(&client, &server, &names).await,
                None => Ok(()),
            }
        })
    }

    /// The certificates that this manager issues, if the flags say so.
    fn issue(&self, webhooks: &Webhooks) -> Result<Option<webhook::Issued>, ManagerError> {
        #[cfg(feature = "certificates")]
        return Ok(Issuer::of(
            &self.flags,
            webhooks,
            &self.metrics,
            &self.server,
            &self.config.default_namespace,
        )?
        .map(|issuer| (issuer.certificate(), issuer.follow().boxed())));
        #[cfg(not(feature = "certificates"))]
        {
            let _ = webhooks;
            Ok(None)
        }
    }

    fn take_controllers(&mut self, health: &mut Health, threads: &Threads) -> Vec<Prepared> {
        let controllers = std::mem::take(&mut self.controllers).into_iter();
        let controllers = controllers.map(|controller| {
            let queue = Queue::new(self.metrics.controller(controller.name));
            health.add(controller.name, queue.clone());
            let observed = queue.clone();
            self.metrics
                .watch(controller.name, move || observed.backlog());
            let run = Run {
                operator: self.operator,
                server: self.server.clone(),
                client: self.client.clone(),
                clock: self.clock.clone(),
                events: self.events.of(controller.name),
                series: self.metrics.watches().clone(),
                queue,
                threads: threads.handle(),
                stop: self.stop.clone(),
            };
            (controller.prepare)(run)
        });
        controllers.collect()
    }

    /// Fills the caches that say so, and those that no controller fills. Also returns which these are.
    fn take_caches(&mut self, controllers: &[Prepared]) -> (Running, Vec<Arc<dyn Source>>) {
        let events = self.events.of(WATCHES);
        let series = self.metrics.watches().clone();
        let watches = Watches::new(WATCHES, self.server.clone(), events, series);
        let used = |source: &Arc<dyn Source>| {
            let mut all = controllers.iter().flat_map(|one| &one.sources);
            all.any(|other| Arc::ptr_eq(other, source))
        };
        let (used, mut filled): (Vec<_>, Vec<_>) = std::mem::take(&mut self.caches)
            .all
            .into_iter()
            .partition(used);
        // Only a task can read them, which nobody has said.
        filled.iter().for_each(|source| source.keep_all());
        filled.extend(
            used.into_iter()
                .filter(|source| source.watched().is_warm.load(Ordering::Relaxed)),
        );
        let (mut watching, sources) = (Running::default(), filled.clone());
        let limits = filled.iter().map(|source| {
            let all = controllers.iter();
            let of = all.filter(|one| one.sources.iter().any(|it| Arc::ptr_eq(it, source)));
            let longest = of.map(|controller| controller.sync_limit).max();
            (source.clone(), longest.unwrap_or(SYNC_LIMIT))
        });
        let limits: Vec<_> = limits.collect();
        watching.spawn(Part::Caches, async move {
            Err(tokio::select! {
                reason = watches.follow(&sources) => reason,
                reason = watches.never_listed(&limits) => reason,
            })
        });
        (watching, filled)
    }
}

/// The text of each warning about a write of the manager from now on, for a test.
pub fn warnings_of_writes(manager: &Manager) -> UnboundedReceiver<String> {
    manager.server.warnings().of_writes()
}

/// An error that prevents a plan.
fn no_plan(error: &ManagerError) -> ManagerError {
    let reason = chain::chain(error);
    ManagerError::Plan { reason }
}

#[cfg(test)]
mod tests;
