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

use futures::FutureExt;
use http::{Request, StatusCode};
use hyper::body::Incoming;
use kube::{Client, Config};
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::field::display;

use crate::certificate::Certificate;
use crate::chain::chain;
use crate::checks::Checks;
use crate::client::ask_readiness;
use crate::health::Health;
use crate::http_server::{self, Answer, Limits, Respond, Server, refused_method, text};
use crate::{BindAddress, ManagerError};

/// How long the API server may take to answer; less than the second after which the kubelet
/// gives up on a probe by default, so that the reason is logged here.
const PATIENCE: Duration = Duration::from_millis(800);

/// How long an answer of the API server is cached. Otherwise every probe could cause a request.
const GOOD_FOR: Duration = Duration::from_secs(5);

/// The kubelet opens a few short connections.
const LIMITS: Limits = Limits::FEW;

/// The checks that the project has added.
#[derive(Default)]
pub(crate) struct Added {
    pub(crate) health: Checks,
    pub(crate) ready: Checks,
}

/// Serves on `address` until the process ends, and asks the API server of `config` if `health` is in doubt.
/// Without a `certificate`, readiness does not wait for one.
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
) -> Result<Server, ManagerError> {
    let Some(listener) = http_server::listen(address, "the health probes")? else {
        return Ok(Server::default());
    };
    Server::start("probes", LIMITS, |_| {
        serve(listener, config, certificate, health, checks)
    })
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
    let process = Arc::new(Process {
        client,
        certificate,
        health,
        checks,
        asked: Mutex::new(None),
    });
    let address = listener.local_addr().ok().map(display);
    tracing::info!(address, "serving health probes");
    let respond: Respond = Box::new(move |_, request| {
        let process = process.clone();
        async move { process.respond(&request).await }.boxed()
    });
    http_server::serve(listener, None, LIMITS, CancellationToken::new(), respond).await
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

    /// Why this process is not ready, apart from the checks.
    fn not_ready(&self) -> Option<String> {
        let reason = self.certificate.as_ref()?.missing()?;
        tracing::warn!(error = reason, "not ready: webhooks have no certificate");
        Some(format!("webhooks have no certificate: {reason}"))
    }

    /// Why this process is not healthy, apart from the checks.
    async fn not_healthy(&self) -> Option<String> {
        let reason = self.health.stuck()?;
        if !self.reaches_api_server().await {
            return None;
        }
        tracing::error!(error = reason, "not healthy: the process is stuck");
        Some(reason)
    }

    /// The response shows the outcomes of all checks, or of the one that the path names, if one of them has
    /// failed, or with `?verbose`.
    async fn respond(&self, request: &Request<Incoming>) -> Answer {
        let path = request.uri().path().strip_prefix('/').unwrap_or_default();
        let (page, only) = match path.split_once('/') {
            Some((page, check)) => (page, Some(check)),
            None => (path, None),
        };
        let (probe, checks) = match page {
            "healthz" => ("healthy", &self.checks.health),
            "readyz" => ("ready", &self.checks.ready),
            _ => return text(StatusCode::NOT_FOUND, ""),
        };
        if let Some(refusal) = refused_method(request, "GET, HEAD") {
            return refusal;
        }
        let problem = match page {
            _ if only.is_some() => None,
            "healthz" => self.not_healthy().await,
            _ => self.not_ready(),
        };
        if let Some(reason) = problem {
            return text(StatusCode::SERVICE_UNAVAILABLE, reason);
        }
        let Some(report) = checks.run(only).await else {
            return text(StatusCode::NOT_FOUND, "there is no such check");
        };
        let mut is_well = true;
        for (check, error) in report.failed() {
            is_well = false;
            tracing::error!(check, error, "not {probe}: a check failed");
        }
        if !is_well {
            return text(StatusCode::SERVICE_UNAVAILABLE, report.lines());
        }
        let mut words = request.uri().query().unwrap_or_default().split('&');
        let lines = if words.any(|word| word == "verbose") {
            report.lines()
        } else {
            String::new()
        };
        text(StatusCode::OK, lines + "ok")
    }
}

#[cfg(test)]
mod tests;
