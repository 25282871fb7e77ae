// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! `/healthz` and `/readyz`, for the kubelet.
//!
//! Ready means that the servers listen, and that webhooks, if any are served, have a certificate.
//! Readiness does not wait for a cache, so that an operator can start before its resources are
//! installed, nor for the API server: webhooks must be served while it is being drained.
//!
//! Healthy means that the controllers make progress, or have a reason not to: see `health`. The API
//! server is asked only if they do not. A project can add checks to both: see `checks`. Probes are
//! served from their own thread with their own client, so busy reconciles cannot starve them.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::get;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use kube::{Client, Config};
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::certificate::Certificate;
use crate::chain::chain;
use crate::checks::Checks;
use crate::client::ask_readiness;
use crate::health::Health;
use crate::http_server::{self, Limits};
use crate::thread::Thread;
use crate::{BindAddress, ManagerError};

/// How long the API server may take to answer; less than the second after which the kubelet
/// gives up on a probe by default, so that the reason is logged here.
const PATIENCE: Duration = Duration::from_millis(800);

/// How long an answer of the API server is cached. Otherwise every probe could cause a request.
const GOOD_FOR: Duration = Duration::from_secs(5);

/// The kubelet opens a few short connections.
const LIMITS: Limits = Limits {
    connections: 100,
    memory: 0,
    reserve: 0,
    handshake: Duration::from_secs(10),
    idle: Duration::from_secs(10),
    answer: Duration::from_secs(10),
    drain: Duration::ZERO,
};

/// The checks that the project has added.
#[derive(Default)]
pub(crate) struct Added {
    pub(crate) health: Checks,
    pub(crate) ready: Checks,
}

/// The probe server, unless it is turned off.
pub(crate) struct Probes(Option<Thread>);

impl Probes {
    /// Serves on `address` until the process ends, and asks the API server of `config` if `health` is
    /// in doubt. Without a `certificate`, readiness does not wait for one.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Listen`] or [`ManagerError::Thread`].
    pub(crate) fn start(
        address: &BindAddress,
        config: Config,
        certificate: Option<Certificate>,
        health: Health,
        checks: Added,
    ) -> Result<Self, ManagerError> {
        let listener = address.listen().map_err(|source| ManagerError::Listen {
            server: "the health probes",
            address: address.clone(),
            source,
        })?;
        listener
            .map(|listener| {
                let serve = serve(listener, config, certificate, health, checks);
                Thread::spawn("probes", serve)
            })
            .transpose()
            .map(Self)
    }

    /// Waits until the server ends and returns the reason; waits forever if it is turned off.
    pub(crate) async fn ended(&mut self) -> ManagerError {
        match &mut self.0 {
            Some(thread) => thread.ended().await,
            None => std::future::pending().await,
        }
    }
}

/// Serves until something fails, and returns the reason.
async fn serve(
    listener: TcpListener,
    mut config: Config,
    certificate: Option<Certificate>,
    health: Health,
    checks: Added,
) -> String {
    // A retry would only delay the answer: the kubelet probes again.
    config.default_retry = false;
    let client = match Client::try_from(config) {
        Ok(client) => client,
        Err(error) => return chain(&error),
    };
    let router = Router::new()
        .route("/healthz", get(healthy))
        .route("/healthz/{check}", get(one_of_health))
        .route("/readyz", get(ready))
        .route("/readyz/{check}", get(one_of_ready))
        .with_state(Arc::new(Process {
            client,
            certificate,
            health,
            checks,
            asked: Mutex::new(None),
        }));
    let served = async {
        tracing::info!(address = %listener.local_addr()?, "serving health probes");
        let router = TowerToHyperService::new(router);
        let respond = move |_, request| {
            let answer = router.call(request);
            async move { answer.await.into_response() }
        };
        http_server::serve(listener, None, LIMITS, CancellationToken::new(), respond).await
    };
    match served.await {
        Ok(()) => "it stopped serving".to_owned(),
        Err(error) => chain(&error),
    }
}

/// The state of this process.
struct Process {
    client: Client,
    certificate: Option<Certificate>,
    health: Health,
    checks: Added,
    /// When the API server was last asked, and whether it answered.
    asked: Mutex<Option<(Instant, bool)>>,
}

impl Process {
    /// Whether the API server answers.
    async fn reaches_api_server(&self) -> bool {
        let mut asked = self.asked.lock().await;
        if let Some((at, answered)) = *asked
            && at.elapsed() < GOOD_FOR
        {
            return answered;
        }
        let answer = tokio::time::timeout(PATIENCE, ask_readiness(&self.client)).await;
        // Whatever the answer, the API server can be reached.
        let answered = matches!(answer, Ok(Ok(()) | Err(kube::Error::Api(_))));
        *asked = Some((Instant::now(), answered));
        answered
    }
}

type Answer = (StatusCode, String);

async fn ready(State(process): State<Arc<Process>>, query: RawQuery) -> Answer {
    let certificate = process.certificate.as_ref();
    if let Some(reason) = certificate.and_then(Certificate::missing) {
        tracing::warn!(error = reason, "not ready: webhooks have no certificate");
        let reason = format!("webhooks have no certificate: {reason}");
        return (StatusCode::SERVICE_UNAVAILABLE, reason);
    }
    checked("ready", &process.checks.ready, None, query).await
}

async fn healthy(State(process): State<Arc<Process>>, query: RawQuery) -> Answer {
    if let Some(reason) = process.health.stuck()
        && process.reaches_api_server().await
    {
        tracing::error!(error = reason, "not healthy: the process is stuck");
        return (StatusCode::SERVICE_UNAVAILABLE, reason);
    }
    checked("healthy", &process.checks.health, None, query).await
}

async fn one_of_ready(
    State(process): State<Arc<Process>>,
    Path(name): Path<String>,
    query: RawQuery,
) -> Answer {
    checked("ready", &process.checks.ready, Some(&name), query).await
}

async fn one_of_health(
    State(process): State<Arc<Process>>,
    Path(name): Path<String>,
    query: RawQuery,
) -> Answer {
    checked("healthy", &process.checks.health, Some(&name), query).await
}

/// The response of `checks`, or of the check named `only`. It shows all outcomes if a check failed, or
/// with `?verbose`.
async fn checked(
    probe: &'static str,
    checks: &Checks,
    only: Option<&str>,
    RawQuery(query): RawQuery,
) -> Answer {
    let Some(report) = checks.run(only).await else {
        return (StatusCode::NOT_FOUND, "there is no such check".to_owned());
    };
    let mut is_well = true;
    for (check, error) in report.failed() {
        is_well = false;
        tracing::error!(check, error, "not {probe}: a check failed");
    }
    if !is_well {
        return (StatusCode::SERVICE_UNAVAILABLE, report.lines());
    }
    let is_verbose = query.is_some_and(|query| query.split('&').any(|word| word == "verbose"));
    let lines = if is_verbose {
        report.lines()
    } else {
        String::new()
    };
    (StatusCode::OK, format!("{lines}ok"))
}
