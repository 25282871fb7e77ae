// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The manager: one client, the controllers, webhooks and probes, and their common start and end.
//!
//! All of them only start in [`Manager::run`]: servers at once, controllers when this process leads.

use std::error::Error as StdError;
use std::fmt::Debug;
use std::future::pending;
use std::hash::Hash;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use kube::runtime::controller::Action;
use kube::{Client, Config, Resource};
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::api_server::ApiServer;
use crate::controller::Run;
use crate::election::{self, Election};
use crate::health::Health;
use crate::probes::Probes;
use crate::running::Running;
use crate::webhook::{self, Webhooks};
use crate::{Clock, Controller, Flags, ManagerError, client, logging, signals};

/// Makes the client that controllers share, and runs controllers, webhooks and health probes.
///
/// Nothing starts before [`Manager::run`]. It corresponds to `manager.Manager` of controller-runtime.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kbr_runtime::{Controller, Flags, Manager, ManagerError};
/// use kube::runtime::controller::Action;
/// use kube::runtime::watcher::Config;
/// use kube::{Api, Client};
///
/// async fn reconcile(object: Arc<ConfigMap>, client: Arc<Client>) -> kube::Result<Action> {
///     // Bring the cluster closer to what `object` asks for.
/// #   let _ = (object, client);
///     Ok(Action::await_change())
/// }
///
/// async fn run(flags: Flags) -> Result<(), ManagerError> {
///     let mut manager = Manager::new(flags).await?;
///     let client = manager.client();
///     let controller = Controller::new(Api::<ConfigMap>::all(client.clone()), Config::default());
///     manager.add("example", controller, reconcile, Arc::new(client));
///     manager.run().await
/// }
/// ```
pub struct Manager {
    flags: Flags,
    config: Config,
    server: ApiServer,
    client: Client,
    clock: Clock,
    controllers: Vec<Registration>,
    webhooks: Webhooks,
    stop: CancellationToken,
}

struct Registration {
    name: &'static str,
    start: Start,
}

/// Runs a controller until it is to stop; returns why it ended if it was not for that.
type Start = Box<dyn FnOnce(Run) -> BoxFuture<'static, String> + Send>;

impl Manager {
    /// Sets up the process's logs, see [`init_logging`](crate::init_logging), and makes the client.
    /// Sends nothing to the cluster yet.
    ///
    /// The cluster is that of `flags.kubeconfig`, or else that of `$KUBECONFIG`, of `~/.kube/config` or
    /// of the pod's service account.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Kubeconfig`] when `flags.kubeconfig` is not usable, [`ManagerError::NoCluster`]
    /// when no cluster is configured, and those of [`Manager::with_config`].
    pub async fn new(flags: Flags) -> Result<Self, ManagerError> {
        client::install_tls_provider();
        logging::init(&flags);
        let config = client::load_config(flags.kubeconfig.as_deref()).await?;
        Self::with_config(flags, config)
    }

    /// Makes a manager for the cluster of `config`, and leaves the process's logs as they are.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Client`] when `config` is not usable, such as a certificate in it.
    pub fn with_config(flags: Flags, config: Config) -> Result<Self, ManagerError> {
        client::install_tls_provider();
        let server = ApiServer::new(config.clone());
        Ok(Self {
            flags,
            config,
            client: server.client().map_err(ManagerError::Client)?,
            server,
            clock: Clock::system(),
            controllers: Vec::new(),
            webhooks: Webhooks::default(),
            stop: CancellationToken::new(),
        })
    }

    /// The client that controllers share.
    ///
    /// A request that is no watch ends with an error if it is not answered within 30 seconds. None is
    /// repeated by the client: return the error from the reconcile, which is repeated.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The clock that controllers share: the system's, or that of [`Manager::set_clock`].
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// Replaces the clock. Call it before [`Manager::clock`], which returns the one that is set then.
    pub fn set_clock(&mut self, clock: Clock) {
        self.clock = clock;
    }

    /// The webhooks that [`Manager::run`] serves. Add yours to them.
    ///
    /// None are served without `--webhook-cert-path`, or if `$ENABLE_WEBHOOKS` is `false`.
    pub fn webhooks(&mut self) -> &mut Webhooks {
        &mut self.webhooks
    }

    /// Is cancelled when the manager stops. Cancel it yourself to stop the manager.
    #[must_use]
    pub fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Adds a controller. [`Manager::run`] starts it.
    ///
    /// `reconcile` is called with an object and `context`. If it fails, panics or takes longer than
    /// [`Controller::timeout`] allows, that is logged, and it is called again after 5 ms. The delay
    /// doubles with each further failure of this object, up to 1000 s, and a success ends it: the rule of
    /// client-go's `ItemExponentialFailureRateLimiter`. A change does not wait for it, and an attempt that
    /// came early does not count. While a watch of the controller fails, no delay exceeds 8 s. Where a [`kube::Error`] among the error and its
    /// sources has a `Retry-After`, the delay is at least that, and a 409 Conflict is logged as no error.
    /// A [`Retry`](crate::Retry) among them says when the object is tried again, or that it is not until
    /// it changes. `name` is the controller's name in the logs.
    ///
    /// While the API server does not answer, no reconcile starts, and failures do not count.
    pub fn add<K, C, R, F, E>(
        &mut self,
        name: &'static str,
        controller: Controller<K>,
        reconcile: R,
        context: Arc<C>,
    ) where
        K: Clone + Debug + DeserializeOwned + Resource + Send + Sync + 'static,
        K::DynamicType: Clone + Debug + Default + Eq + Hash + Send + Sync + Unpin,
        C: Send + Sync + 'static,
        R: Fn(Arc<K>, Arc<C>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Action, E>> + Send + 'static,
        E: StdError + Send + 'static,
    {
        let back_off = |_: &K, _: &E, _: &C| None;
        self.add_with_error_policy(name, controller, reconcile, back_off, context);
    }

    /// Adds a controller that decides for each error when to try again.
    ///
    /// `error_policy` is called with the object, the error and `context`. It returns
    /// `Some(`[`Action::requeue`]`)` to try again after that delay, `Some(`[`Action::await_change`]`)` to
    /// try again only after a change, or `None` for what [`Manager::add`] does. A panic
    /// always gets the growing delay, and `error_policy` is not called for it.
    pub fn add_with_error_policy<K, C, R, F, E, P>(
        &mut self,
        name: &'static str,
        controller: Controller<K>,
        reconcile: R,
        error_policy: P,
        context: Arc<C>,
    ) where
        K: Clone + Debug + DeserializeOwned + Resource + Send + Sync + 'static,
        K::DynamicType: Clone + Debug + Default + Eq + Hash + Send + Sync + Unpin,
        C: Send + Sync + 'static,
        R: Fn(Arc<K>, Arc<C>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Action, E>> + Send + 'static,
        E: StdError + Send + 'static,
        P: Fn(&K, &E, &C) -> Option<Action> + Send + Sync + 'static,
    {
        let policy = Arc::new(error_policy);
        let start = move |run| -> BoxFuture<'static, String> {
            Box::pin(controller.run(name, reconcile, policy, context, run))
        };
        self.controllers.push(Registration {
            name,
            start: Box::new(start),
        });
    }

    /// Runs until SIGTERM or SIGINT, then waits for the running reconciles and returns.
    ///
    /// It waits no longer than `--graceful-shutdown-timeout`. A second signal ends the process at once,
    /// with exit code 1.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Thread`] or [`ManagerError::ThreadEnded`] when signals cannot be handled, and those of
    /// [`Manager::run_until_stopped`].
    pub async fn run(&mut self) -> Result<(), ManagerError> {
        let mut signals = signals::listen(self.stop.clone(), || std::process::exit(1))?;
        tokio::select! {
            outcome = self.run_until_stopped() => outcome,
            error = signals.ended() => Err(error),
        }
    }

    /// Runs until [`Manager::stop_token`] is cancelled, then waits for the running reconciles and
    /// returns. It handles no signals.
    ///
    /// Webhooks are served until the controllers have finished, since their last writes may need them.
    /// Controllers and webhooks run once: a second call starts none.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Flag`] when a flag cannot be used, [`ManagerError::Election`] and
    /// [`ManagerError::LeadershipLost`] with `--leader-elect`,
    /// [`ManagerError::Listen`] or [`ManagerError::Thread`] when the probes or webhooks cannot be
    /// served, [`ManagerError::ThreadEnded`] or [`ManagerError::ControllerEnded`] when one of them or a
    /// controller ends by itself, and [`ManagerError::GracePeriodElapsed`] when reconciles do not finish
    /// in time.
    pub async fn run_until_stopped(&mut self) -> Result<(), ManagerError> {
        let election = match election::Settings::of(&self.flags)? {
            Some(settings) => {
                let gate = self.server.gate();
                Some(Election::start(settings, self.config.clone(), gate)?)
            }
            None => None,
        };
        let mut server = webhook::Server::start(&self.flags, std::mem::take(&mut self.webhooks))?;
        let mut health = Health::new(self.server.clone());
        let controllers = self.take_controllers(&mut health);
        let certificate = server.certificate();
        let address = &self.flags.health_probe_bind_address;
        let mut probes = Probes::start(address, self.config.clone(), certificate, health)?;
        let others = async {
            tokio::select! {
                error = server.ended() => error,
                error = probes.ended() => error,
                () = self.server.report_outages(&self.client) => pending().await,
            }
        };
        let lead = Lead {
            election,
            stop: self.stop.clone(),
            grace: self.flags.graceful_shutdown_timeout,
        };
        let outcome = lead.run(controllers, others).await;
        self.stop.cancel();
        server.stop().await;
        outcome
    }

    fn take_controllers(
        &mut self,
        health: &mut Health,
    ) -> Vec<(&'static str, BoxFuture<'static, String>)> {
        let controllers = self.controllers.drain(..).map(|controller| {
            let run = Run {
                server: self.server.clone(),
                work: health.add(controller.name),
                stop: self.stop.clone(),
            };
            (controller.name, (controller.start)(run))
        });
        controllers.collect()
    }
}

/// How controllers are run.
struct Lead {
    /// Without one, this process leads.
    election: Option<Election>,
    stop: CancellationToken,
    grace: Duration,
}

impl Lead {
    /// Runs `controllers` once this process leads, until the stop or until one of them or of the
    /// `others` ends.
    async fn run(
        mut self,
        controllers: Vec<(&'static str, BoxFuture<'static, String>)>,
        others: impl Future<Output = ManagerError>,
    ) -> Result<(), ManagerError> {
        let mut others = pin!(others);
        if let Some(election) = &mut self.election {
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return self.step_back(Ok(())).await,
                error = others.as_mut() => return self.step_back(Err(error)).await,
                won = election.won() => won?,
            }
        }
        let mut running = Running::default();
        for (name, controller) in controllers {
            tracing::info!(controller = name, "starting");
            running.spawn(name, controller);
        }
        let Self { stop, grace, .. } = self;
        let finished = async {
            let outcome = tokio::select! {
                // A controller that ends because of the stop is none that ended by itself.
                biased;
                () = stop.cancelled() => Ok(()),
                error = running.ended() => Err(error),
                error = others => Err(error),
            };
            stop.cancel();
            let finished = running.finish(grace).await;
            outcome.and(finished)
        };
        let Some(mut election) = self.election else {
            return finished.await;
        };
        let outcome = tokio::select! {
            outcome = finished => outcome,
            // What is running is dropped where it awaits.
            error = election.lost() => return Err(error),
        };
        // What has not ended may still write. Then the Lease has to expire.
        if !matches!(outcome, Err(ManagerError::GracePeriodElapsed(_))) {
            election.release().await;
        }
        outcome
    }

    /// Leaves the election before this process leads.
    async fn step_back(self, outcome: Result<(), ManagerError>) -> Result<(), ManagerError> {
        if let Some(election) = self.election {
            election.release().await;
        }
        outcome
    }
}

#[cfg(test)]
mod tests;
