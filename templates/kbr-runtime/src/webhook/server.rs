// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The webhook server, which runs on its own thread from start to stop.

mod http;
mod weight;

use std::future::pending;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ::http::Request;
use futures::FutureExt;
use futures::future::BoxFuture;
use hyper::body::Incoming;
use tokio_util::sync::CancellationToken;
use tracing::field::display;

use super::Webhooks;
use super::watchdog::Watchdog;
use crate::certificate::{Certificate, Files, clients_of};
use crate::flags::WEBHOOK_MEMORY;
use crate::http_server::{self, Peer, Respond, Tls};
use crate::metrics::{Metrics, WebhookCounts as Counts};
use crate::{BindAddress, Flags, ManagerError};

/// A certificate, and what keeps it up to date.
pub(crate) type Issued = (Certificate, BoxFuture<'static, ()>);

/// The webhook server, unless it is off.
#[derive(Default)]
pub(crate) struct Server {
    server: http_server::Server,
    certificate: Option<Certificate>,
    watchdog: Watchdog,
    block: Duration,
}

/// What the server accepts, and how long it waits.
#[derive(Clone, Copy)]
struct Limits {
    server: http_server::Limits,
    /// Time for one review, including its transfer. The API server waits for 30 seconds at most.
    review: Duration,
    /// Time for which a webhook may block its thread. What ends later has no reader any more.
    block: Duration,
}

const LIMITS: Limits = Limits {
    server: http_server::Limits {
        // API servers have one connection for each review in progress, and keep a few dozen open.
        connections: 500,
        memory: (WEBHOOK_MEMORY as usize) << 20,
        reserve: 8 << 20,
        handshake: Duration::from_secs(10),
        // The API server closes idle connections after 90 seconds; if this were less, it could send a
        // request while the connection is being closed here.
        idle: Duration::from_secs(120),
        answer: Duration::from_secs(10),
        lame_duck: Duration::from_secs(3),
        drain: Duration::from_secs(2),
    },
    review: Duration::from_secs(28),
    block: Duration::from_secs(60),
};

impl Server {
    /// Serves `webhooks` according to `flags`, with a certificate that the manager `issued` if there is one, if `flags` and
    /// `$ENABLE_WEBHOOKS` enable them; otherwise logs why not.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Listen`] or [`ManagerError::Thread`].
    pub(crate) fn start(
        flags: &Flags,
        webhooks: Webhooks,
        metrics: &Metrics,
        issued: Option<Issued>,
    ) -> Result<Self, ManagerError> {
        let enabled = std::env::var("ENABLE_WEBHOOKS").ok();
        let mut limits = LIMITS;
        limits.server.memory = usize::from(flags.webhook_memory) << 20;
        Self::start_if(
            enabled.as_deref(),
            flags,
            (webhooks, issued),
            metrics,
            limits,
        )
    }

    fn start_if(
        enabled: Option<&str>,
        flags: &Flags,
        (webhooks, issued): (Webhooks, Option<Issued>),
        metrics: &Metrics,
        limits: Limits,
    ) -> Result<Self, ManagerError> {
        if webhooks.paths().is_empty() {
            return Ok(Self::default());
        }
        // Anything else means yes, as it does in a kubebuilder project.
        if enabled == Some("false") {
            tracing::info!("webhooks are off: ENABLE_WEBHOOKS is false");
            return Ok(Self::default());
        }
        if issued.is_none() && flags.webhook_cert_path.is_none() {
            tracing::info!(
                "webhooks are off: neither --webhook-cert-path nor --webhook-cert-secret is set"
            );
            return Ok(Self::default());
        }
        let Some(listener) = listen(flags)? else {
            return Ok(Self::default());
        };
        let clients = flags.webhook_client_ca.as_deref().map(clients_of);
        let clients = clients.transpose().map_err(|problem| ManagerError::Flag {
            flag: "--webhook-client-ca",
            problem: format!("must be a file with certificates in PEM: {problem}"),
        })?;
        let (certificate, follow) = match issued {
            Some(issued) => issued,
            None => {
                let folder = flags.webhook_cert_path.as_deref().unwrap_or(Path::new(""));
                let names = (&*flags.webhook_cert_name, &*flags.webhook_cert_key);
                let files = Files::new("webhooks", folder, names, metrics.certificate_reads());
                (files.certificate(), files.follow().boxed())
            }
        };
        let tls = Tls {
            certificate: certificate.clone(),
            follow: Some(follow),
            clients,
        };
        let counts = metrics.webhooks().at(webhooks.paths());
        let watchdog = webhooks.watchdog.clone();
        let server = http_server::Server::start("webhooks", limits.server, |stop| {
            run(listener, (webhooks, counts), tls, stop, limits)
        })?;
        Ok(Self {
            server,
            certificate: Some(certificate),
            watchdog,
            block: limits.block,
        })
    }

    /// The certificate of the server; `None` if the server is off.
    pub(crate) fn certificate(&self) -> Option<Certificate> {
        self.certificate.clone()
    }

    /// Waits until the server ends and returns the reason; waits forever if it is off.
    pub(crate) async fn ended(&mut self) -> ManagerError {
        if self.certificate.is_none() {
            return pending().await;
        }
        let limit = self.block;
        tokio::select! {
            error = self.server.ended() => error,
            call = self.watchdog.blocked(limit) => ManagerError::WebhookBlocked { call, limit },
        }
    }

    /// Accepts no more requests, finishes the open ones, and frees the port.
    pub(crate) async fn stop(self) {
        // A webhook that blocks the thread keeps it from ending.
        if !self.server.stop().await {
            tracing::warn!("a webhook is still busy and was abandoned");
        }
    }
}

fn listen(flags: &Flags) -> Result<Option<TcpListener>, ManagerError> {
    let (host, port) = (flags.webhook_host.as_str(), flags.webhook_port);
    let address = match host {
        "" => BindAddress::Everywhere(port),
        host if host.contains(':') && !host.starts_with('[') => {
            BindAddress::Host(format!("[{host}]:{port}"))
        }
        host => BindAddress::Host(format!("{host}:{port}")),
    };
    http_server::listen(&address, "the webhooks")
}

/// Serves until the stop or a failure, and returns the reason.
async fn run(
    listener: TcpListener,
    (webhooks, counts): (Webhooks, Counts),
    tls: Tls,
    stop: CancellationToken,
    limits: Limits,
) -> String {
    let address = listener.local_addr().ok().map(display);
    tracing::info!(address, "serving webhooks");
    let webhooks = Arc::new((webhooks, http::Refusals::default()));
    let respond: Respond = Box::new(move |peer: Arc<Peer>, request: Request<Incoming>| {
        let webhooks = webhooks.clone();
        let in_flight = counts.begin(request.uri().path());
        async move {
            let (webhooks, refusals) = &*webhooks;
            let answer = http::respond(webhooks, refusals, &peer, request, limits.review).await;
            if let Some(in_flight) = in_flight {
                in_flight.answered(answer.status());
            }
            answer
        }
        .boxed()
    });
    http_server::serve(listener, Some(tls), limits.server, stop, respond).await
}

#[cfg(test)]
mod tests;
