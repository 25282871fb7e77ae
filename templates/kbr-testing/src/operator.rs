// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The operator in the test process: a manager on its own thread.
//!
//! The thread has its own event loop, because a test's event loop ends with the test, and its own
//! logger, so that each environment has its own log.

use std::collections::BTreeSet;
use std::fs::File;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use futures::FutureExt;
use http::header::USER_AGENT;
use http::{HeaderValue, Request};
use kbr_runtime::internal::{chain, panic_message, warnings_of_writes};
use kbr_runtime::{BindAddress, Flags, Manager, ManagerError};
use kube::Config;
use kube::client::Body;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt;

use super::audit::AuditLog;
use super::builder::block_on;
use super::control_plane::{LOOPBACK, PAUSE, START_TIMEOUT};
use super::failure::Failure;
use super::grants::Grant;
use super::keys;
use super::roles::Role;
use super::serving::Serving;
use super::{OPERATOR_LOG, TestEnv, TestEnvError, client, thread};

/// Its user agent, which tells its requests from others in the manager's name.
pub(super) const NAME: &str = "operator";

/// A running manager. Dropping this leaves the manager running until the environment is dropped.
#[derive(Debug)]
pub struct Operator {
    stop: CancellationToken,
    stopped: Receiver<()>,
}

impl Operator {
    /// Stops the manager as SIGTERM does, and blocks until it has finished what it was doing.
    ///
    /// If that takes longer than the grace period of 25 s, the environment fails, and with it the tests that use it.
    pub fn stop(self) {
        self.stop.cancel();
        // The sender is dropped with the thread, and then this returns.
        let _ = self.stopped.recv();
    }
}

/// Runs a manager with the controllers and webhooks that `register` adds; the environment fails if the
/// manager ends before it is told to. Returns when the webhooks that the API server calls respond.
///
/// # Errors
///
/// [`TestEnvError::Folder`], [`TestEnvError::Operator`], [`TestEnvError::NoWebhooks`] and [`TestEnvError::NotReady`].
pub(super) fn start(
    register: impl FnOnce(&mut Manager) + Send + 'static,
    env: &TestEnv,
) -> Result<Operator, TestEnvError> {
    let (manager, logs, dropped) = (env.manager.as_ref(), env.logs(), env.operators.token());
    let path = logs.join(OPERATOR_LOG);
    let log = File::options().create(true).append(true).open(&path);
    let log = log.map_err(|source| TestEnvError::Folder {
        path: path.clone(),
        source,
    })?;
    let stop = dropped.child_token();
    let (sender, stopped) = channel();
    let (registered, served) = channel();
    let register = move |manager: &mut Manager| {
        register(manager);
        // Nobody receives this if no webhooks are called.
        let _ = registered.send(manager.webhooks().paths());
    };
    let mut flags = Flags::default();
    flags.health_probe_bind_address = BindAddress::Off;
    if let Some((namespace, name)) = manager.and_then(|manager| manager.lease.clone()) {
        flags.leader_elect = true;
        flags.leader_election_namespace = Some(namespace);
        flags.leader_election_id = Some(name);
    }
    if let Some(metrics) = manager.and_then(|manager| manager.metrics.as_ref()) {
        flags.metrics_bind_address =
            BindAddress::Host(format!("{LOOPBACK}:{}", metrics.port.number));
    }
    if let Some(pool) = manager.and_then(|manager| manager.pool.as_ref()) {
        flags.watch_namespace = pool.names().to_vec();
    }
    let serving = manager.and_then(|manager| manager.serving.as_ref());
    if let Some(serving) = serving {
        serving.set(&mut flags);
    }
    let mut config = manager
        .map_or(&env.admin, |manager| &manager.config)
        .clone();
    config
        .headers
        .push((USER_AGENT, HeaderValue::from_static(NAME)));
    let log = (log, path.clone());
    let (failed, allowed) = (env.failure().clone(), env.allowed_warnings.clone());
    let warned = move |warning: &str| {
        if !allowed.iter().any(|text| warning.contains(text)) {
            failed.set(&format!(
                "the API server warned about a write of the operator: {warning}\n\
                 Correct the write, or allow the warning with `Builder::allow_warning` if it is meant, \
                 such as that of a validator"
            ));
        }
    };
    let run = run(
        (register, warned),
        (flags, config),
        log,
        stop.clone(),
        sender,
    );
    let (dropped, failure) = (dropped.clone(), env.failure().clone());
    let run = async move || match run.await {
        Err(problem) if !dropped.is_cancelled() => failure.set(&problem),
        _ => {}
    };
    if let Some(manager) = manager {
        let (log, failure) = (AuditLog::of(logs), env.failure().clone());
        let watch = watch(log, manager.grants.clone(), stop.clone(), failure);
        thread::spawn("audit", || watch).map_err(TestEnvError::Operator)?;
    }
    thread::spawn("operator", run).map_err(TestEnvError::Operator)?;
    let operator = Operator { stop, stopped };
    let Some((manager, serving)) = manager.zip(serving) else {
        return Ok(operator);
    };
    match served.recv() {
        Ok(paths) if paths.is_empty() => {
            operator.stop();
            let paths = manager.webhook_paths.iter().cloned().collect();
            return Err(TestEnvError::NoWebhooks { paths });
        }
        Ok(_) => block_on(async {
            tokio::select! {
                answers = serving.answers(&path) => answers,
                // The test fails once it uses the environment.
                _ = env.failure().wait() => Ok(()),
            }
        })?,
        // It has ended, and the environment fails.
        Err(_) => drop(operator.stopped.recv()),
    }
    Ok(operator)
}

async fn run(
    operator: (impl FnOnce(&mut Manager), impl Fn(&str) + Send + 'static),
    settings: (Flags, Config),
    (log, path): (File, PathBuf),
    stop: CancellationToken,
    _stopped: Sender<()>,
) -> Result<(), String> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(Mutex::new(log));
    let _logger = subscriber.set_default();

    let manager = AssertUnwindSafe(manage(operator, settings, stop.clone()));
    let reason = match manager.catch_unwind().await {
        Ok(Ok(())) if stop.is_cancelled() => return Ok(()),
        Ok(Ok(())) => "it stopped without being told to".to_owned(),
        Ok(Err(error)) => chain(&error),
        Err(panic) => panic_message(&*panic).to_owned(),
    };
    let path = path.display();
    Err(format!("the operator ended: {reason}; its log: {path}"))
}

/// The environment fails when the API server refuses a request that no role allows, since the operator
/// would only retry it.
async fn watch(
    mut log: AuditLog,
    granted: BTreeSet<(Role, Grant)>,
    stop: CancellationToken,
    failure: Failure,
) {
    while !stop.is_cancelled() {
        // A log that cannot be read now may be readable later.
        let mut requests = log.read_on().unwrap_or_default();
        requests.retain(|request| request.user_agent == NAME);
        for request in requests {
            let Some(missing) = Grant::missed_by(&request) else {
                continue;
            };
            // An API server that has just started does not know the roles yet.
            let is_granted = granted
                .iter()
                .any(|(role, grant)| role.is_bound_for(&request) && grant.covers(&missing));
            if !is_granted {
                let place = match request.controller() {
                    Some(controller) => format!("the reconcile of the controller `{controller}`"),
                    None => "the reconcile that sends the request".to_owned(),
                };
                return failure.set(&format!(
                    "the API server refused the manager: {}\n\
                     Add `{missing}` above {place}, and run `kbr manifests`",
                    request.message
                ));
            }
        }
        sleep(PAUSE).await;
    }
}

/// Runs a manager, and calls `warned` with each warning about one of its writes.
pub(super) async fn manage(
    (register, warned): (impl FnOnce(&mut Manager), impl Fn(&str) + Send + 'static),
    (flags, config): (Flags, Config),
    stop: CancellationToken,
) -> Result<(), ManagerError> {
    let mut manager = Manager::with_config(flags, config)?;
    let mut warnings = warnings_of_writes(&manager);
    tokio::spawn(async move {
        while let Some(warning) = warnings.recv().await {
            warned(&warning);
        }
    });
    register(&mut manager);
    let token = manager.stop_token();
    tokio::spawn(async move {
        stop.cancelled().await;
        token.cancel();
    });
    manager.run_until_stopped().await
}

impl Serving {
    /// Sets the flags so that a manager serves its webhooks there.
    pub(super) fn set(&self, flags: &mut Flags) {
        flags.webhook_host = LOOPBACK.to_owned();
        flags.webhook_port = self.port.number;
        flags.webhook_cert_path = Some(self.certificates.clone());
        flags.webhook_cert_name = keys::SERVING_CERTIFICATE.to_owned();
        flags.webhook_cert_key = keys::SERVING_KEY.to_owned();
    }

    /// Waits until a server with the certificate responds there; `log` is the operator's.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::NotReady`].
    pub(super) async fn answers(&self, log: &Path) -> Result<(), TestEnvError> {
        let mut reason = "it did not answer".to_owned();
        let answers = async {
            while let Err(error) = self.ask().await {
                reason = chain(&error);
                sleep(PAUSE).await;
            }
        };
        let answered = timeout(START_TIMEOUT, answers).await;
        answered.map_err(|_| TestEnvError::NotReady {
            server: "the operator's webhook server",
            seconds: START_TIMEOUT.as_secs(),
            reason,
            log: log.to_owned(),
        })
    }

    async fn ask(&self) -> kube::Result<()> {
        let request = Request::get(self.url("/")).body(Body::empty());
        let request = request.map_err(kube::Error::HttpError)?;
        let mut config = Config::new(request.uri().clone());
        config.root_cert = Some(vec![self.authority.der().to_vec()]);
        config.default_retry = false;
        // Any response will do: nothing is served at this path.
        client(config).send(request).await.map(|_| ())
    }
}
