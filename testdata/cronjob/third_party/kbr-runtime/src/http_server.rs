// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! An HTTP/1.1 server for webhooks, probes and metrics, which no client can block for the others.
//!
//! Connections, memory and time are limited. When they run out, a connection that waits for its peer is
//! evicted: see [`peer`].

mod log_limit;
mod metered;
mod peer;

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::chain::chain;
pub(crate) use log_limit::LogLimit;
use metered::Metered;
pub(crate) use peer::{Peer, Unavailable};
use peer::{Peers, Phase};

/// How long no connection is accepted after a failure, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// How long an evicted connection may take for its last response.
const LAST_ANSWER: Duration = Duration::from_millis(100);

/// How often overdue connections are evicted.
const SWEEP: Duration = Duration::from_millis(250);

/// Size of a connection's read buffer in bytes. The head of a request must fit. hyper allows no less.
const BUFFER: usize = 8 << 10;

/// What the server accepts, and how long it waits.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Open connections.
    pub(crate) connections: usize,
    /// Bytes that all requests may hold together, see [`Peer::hold`].
    pub(crate) memory: usize,
    /// How many of these bytes are reserved for small requests.
    pub(crate) reserve: usize,
    /// Time for the TLS handshake of a new connection.
    pub(crate) handshake: Duration,
    /// Time until the head of the next request on a connection has arrived.
    pub(crate) idle: Duration,
    /// Time for the peer to read a response.
    pub(crate) answer: Duration,
    /// Time to finish open requests after the stop.
    pub(crate) drain: Duration,
}

/// Answers requests with `respond` until `stop`, then finishes the open ones. Serves HTTPS if `tls` is
/// given.
pub(crate) async fn serve<R, F>(
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    limits: Limits,
    stop: CancellationToken,
    respond: R,
) -> io::Result<()>
where
    R: Fn(Arc<Peer>, Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let peers = Peers::new(limits);
    let untrusted = Arc::new(LogLimit::default());
    let mut sweep = interval(SWEEP);
    sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let accept = async {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let connection = Connection {
                        tls: tls.clone().map(TlsAcceptor::from),
                        peer: Arc::new(peers.admit().await),
                        respond: respond.clone(),
                        stop: stop.clone(),
                        idle: limits.idle,
                        untrusted: untrusted.clone(),
                    };
                    tokio::spawn(connection.serve(stream));
                }
                Err(error) => {
                    tracing::warn!(error = chain(&error), "could not accept a connection");
                    // The system may have a lower limit than ours.
                    peers.evict_connection();
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    };
    let watch = async {
        loop {
            sweep.tick().await;
            peers.evict_overdue();
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = accept => {}
        () = watch => {}
    }
    drop(listener);
    // Requests that take longer are cut off when the thread ends.
    let _ = timeout(limits.drain, peers.ended()).await;
    Ok(())
}

struct Connection<R> {
    tls: Option<TlsAcceptor>,
    peer: Arc<Peer>,
    respond: R,
    stop: CancellationToken,
    idle: Duration,
    /// Log lines about clients that do not trust the certificate.
    untrusted: Arc<LogLimit<()>>,
}

impl<R, F> Connection<R>
where
    R: Fn(Arc<Peer>, Request<Incoming>) -> F,
    F: Future<Output = Response<Body>>,
{
    async fn serve(self, stream: TcpStream) {
        // A response is one small write, and nothing follows for which it could wait.
        let _ = stream.set_nodelay(true);
        let Some(tls) = &self.tls else {
            return self.speak(stream).await;
        };
        let handshake = tokio::select! {
            handshake = tls.accept(stream) => handshake,
            () = self.peer.evicted() => return tracing::debug!("no TLS handshake in time"),
            () = self.stop.cancelled() => return,
        };
        match handshake {
            Ok(stream) => self.speak(stream).await,
            // Such as an API server that is configured to trust another CA.
            Err(error)
                if is_refusal(&error) && self.untrusted.pass((), Instant::now()).is_some() =>
            {
                tracing::warn!(error = chain(&error), "a client refused the certificate");
            }
            Err(error) => tracing::debug!(error = chain(&error), "no TLS handshake"),
        }
    }

    /// Answers the requests that arrive on `stream`.
    async fn speak<S: AsyncRead + AsyncWrite + Unpin>(self, stream: S) {
        let Self { peer, respond, .. } = self;
        peer.enter(Phase::Idle, Some(self.idle));
        let service = service_fn(|request| {
            let (peer, respond) = (peer.clone(), &respond);
            async move {
                peer.begin().await;
                let answer = respond(peer.clone(), request).await;
                peer.answer(answer.body());
                Ok::<_, Infallible>(answer)
            }
        });
        let stream = Metered::new(stream, peer.clone());
        let connection = http1::Builder::new()
            .max_buf_size(BUFFER)
            // `evict_overdue` takes care of that.
            .header_read_timeout(None)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = self.stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
            () = peer.evicted() => {
                if peer.is_idle() {
                    return;
                }
                connection.as_mut().graceful_shutdown();
                // A client that reads at once still gets a last response.
                timeout(LAST_ANSWER, connection).await.unwrap_or(Ok(()))
            }
        };
        if let Err(error) = ended {
            tracing::debug!(error = chain(&error), "a connection ended early");
        }
    }
}

/// Whether the client says that it does not trust the certificate. Go reports all of these as a bad
/// certificate.
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
