// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! `/healthz` and `/readyz`, for the kubelet.
//!
//! Healthy means that this process answers. Ready means that its API server answers too, and that
//! webhooks, where there are any to serve, have a certificate. It waits for no cache, so that an
//! operator can start before its resources are installed. They are served from their own thread with
//! their own client, so busy reconciles cannot starve them.

use std::net::TcpListener;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::get;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use kube::{Client, Config};
use tokio_util::sync::CancellationToken;

use crate::chain::chain;
use crate::client::ask_readiness;
use crate::http_server::{self, Limits};
use crate::thread::Thread;
use crate::webhook::Certificate;
use crate::{BindAddress, ManagerError};

/// How long the API server may take to answer; less than the second after which the kubelet
/// gives up on a probe by default, so that the reason is logged here.
const PATIENCE: Duration = Duration::from_millis(800);

/// The kubelet has some connections for a moment each.
const LIMITS: Limits = Limits {
    connections: 100,
    memory: 0,
    reserve: 0,
    handshake: Duration::ZERO,
    idle: Duration::from_secs(10),
    answer: Duration::from_secs(10),
    drain: Duration::ZERO,
};

/// The probe server, unless it is turned off.
pub(crate) struct Probes(Option<Thread>);

impl Probes {
    /// Serves on `address` until the process ends, asking the API server of `config`.
    /// Without a `certificate` there is none to wait for.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Listen`] or [`ManagerError::Thread`].
    pub(crate) fn start(
        address: &BindAddress,
        config: Config,
        certificate: Option<Certificate>,
    ) -> Result<Self, ManagerError> {
        let listener = address.listen().map_err(|source| ManagerError::Listen {
            server: "the health probes",
            address: address.clone(),
            source,
        })?;
        listener
            .map(|listener| Thread::spawn("probes", serve(listener, config, certificate)))
            .transpose()
            .map(Self)
    }

    /// Waits for the end of the server and says why it came; for ever if it is turned off.
    pub(crate) async fn ended(&mut self) -> ManagerError {
        match &mut self.0 {
            Some(thread) => thread.ended().await,
            None => std::future::pending().await,
        }
    }
}

/// Serves until something fails, and returns what.
async fn serve(
    listener: TcpListener,
    mut config: Config,
    certificate: Option<Certificate>,
) -> String {
    // A retry would only delay the answer: the kubelet asks again.
    config.default_retry = false;
    let client = match Client::try_from(config) {
        Ok(client) => client,
        Err(error) => return chain(&error),
    };
    let router = Router::new()
        .route("/healthz", get("ok"))
        .route("/readyz", get(ready))
        .with_state(Ready {
            client,
            certificate,
        });
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

/// What the process needs before it is ready.
#[derive(Clone)]
struct Ready {
    client: Client,
    certificate: Option<Certificate>,
}

async fn ready(State(state): State<Ready>) -> (StatusCode, String) {
    if let Some(reason) = state
        .certificate
        .and_then(|certificate| certificate.missing())
    {
        tracing::warn!(error = reason, "not ready: webhooks have no certificate");
        let reason = format!("webhooks have no certificate: {reason}");
        return (StatusCode::SERVICE_UNAVAILABLE, reason);
    }
    let answer = tokio::time::timeout(PATIENCE, ask_readiness(&state.client)).await;
    let reason = match answer {
        Ok(Ok(())) => return (StatusCode::OK, "ok".to_owned()),
        Ok(Err(error)) => chain(&error),
        Err(_) => format!("no answer within {PATIENCE:?}"),
    };
    tracing::warn!(error = reason, "not ready: the API server does not answer");
    (StatusCode::SERVICE_UNAVAILABLE, reason)
}

#[cfg(test)]
mod tests;
