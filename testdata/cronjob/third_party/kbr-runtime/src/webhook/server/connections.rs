// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Connections from their arrival to their end.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use rustls::ServerConfig;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::{Limits, http};
use crate::chain::chain;
use crate::webhook::Webhooks;

/// More connections than this wait until others end. API servers keep some dozens.
const MOST: usize = 1000;

/// How long nothing is accepted after a failure, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop`, then finishes what it has begun.
pub(super) async fn serve(
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    webhooks: Arc<Webhooks>,
    stop: CancellationToken,
    limits: Limits,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    tracing::info!(address = %listener.local_addr()?, "serving webhooks");
    let open = Arc::new(Semaphore::new(MOST));
    let budget = Arc::new(Semaphore::new(limits.budget));
    let ending = GracefulShutdown::new();
    let mut was_full = false;
    loop {
        let is_full = open.available_permits() == 0;
        if is_full && !was_full {
            tracing::warn!(connections = MOST, "more connections wait until others end");
        }
        was_full = is_full;
        let arrived = tokio::select! {
            () = stop.cancelled() => break,
            arrived = accept(&listener, &open) => arrived,
        };
        match arrived {
            Ok((stream, permit)) => {
                let connection = Connection {
                    tls: TlsAcceptor::from(tls.clone()),
                    webhooks: webhooks.clone(),
                    budget: budget.clone(),
                    ending: ending.watcher(),
                    limits,
                };
                tokio::spawn(async move {
                    connection.serve(stream).await;
                    drop(permit);
                });
            }
            Err(error) => {
                tracing::warn!(error = chain(&error), "could not accept a connection");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    // What takes longer is cut off by the end of the thread.
    let _ = timeout(limits.drain, ending.shutdown()).await;
    Ok(())
}

async fn accept(
    listener: &tokio::net::TcpListener,
    open: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let permit = open.clone().acquire_owned().await;
    let permit = permit.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, permit))
}

struct Connection {
    tls: TlsAcceptor,
    webhooks: Arc<Webhooks>,
    /// For reviews, in bytes.
    budget: Arc<Semaphore>,
    ending: Watcher,
    limits: Limits,
}

impl Connection {
    async fn serve(self, stream: TcpStream) {
        // An answer is one small write, which nothing follows that it could wait for.
        let _ = stream.set_nodelay(true);
        let handshake = timeout(self.limits.handshake, self.tls.accept(stream));
        let stream = match handshake.await {
            Ok(Ok(stream)) => stream,
            // Such as an API server that was told to trust another authority.
            Ok(Err(error)) if is_refusal(&error) => {
                return tracing::warn!(error = chain(&error), "a client refused the certificate");
            }
            Ok(Err(error)) => {
                return tracing::debug!(error = chain(&error), "no TLS handshake");
            }
            Err(_) => return tracing::debug!("no TLS handshake in time"),
        };
        let (webhooks, budget, patience) = (self.webhooks, self.budget, self.limits.review);
        let service = service_fn(move |request| {
            let (webhooks, budget) = (webhooks.clone(), budget.clone());
            async move {
                let answer = http::respond(&webhooks, &budget, request, patience).await;
                Ok::<_, Infallible>(answer)
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.idle)
            .serve_connection(TokioIo::new(stream), service);
        if let Err(error) = self.ending.watch(connection).await {
            tracing::debug!(error = chain(&error), "a connection ended early");
        }
    }
}

/// Whether the client says that it does not trust the certificate. Go's calls all of these bad.
fn is_refusal(error: &io::Error) -> bool {
    use rustls::AlertDescription as Alert;
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
    matches!(
        cause,
        Some(rustls::Error::AlertReceived(
            Alert::BadCertificate
                | Alert::CertificateExpired
                | Alert::CertificateUnknown
                | Alert::DecryptError
                | Alert::UnknownCA
        ))
    )
}
