// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! An HTTP/1.1 server for webhooks, probes and metrics, which no client can block for the others.
//!
//! Connections, memory and time are limited. When they run out, a connection that waits for its peer is
//! evicted: see [`peer`].

mod metered;
mod peer;

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::net::TcpListener;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, OptionFuture};
use http::header::{ALLOW, CONNECTION, CONTENT_TYPE};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::certificate::{Certificate, Clients};
use crate::chain::chain;
use crate::logging::LogLimit;
use crate::thread::Thread;
use crate::{BindAddress, ManagerError};
use metered::Metered;
use peer::Peers;
pub(crate) use peer::{Peer, Unavailable};

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
    /// Time for which requests are still answered after the stop, each response closing its connection. An
    /// idle connection that was closed at once could have a request on its way, which its client does not
    /// repeat if it is a POST.
    pub(crate) lame_duck: Duration,
    /// Time to finish open requests after that.
    pub(crate) drain: Duration,
}

impl Limits {
    /// For the few clients of a server whose requests hold no memory.
    pub(crate) const FEW: Self = Self {
        connections: 100,
        memory: 0,
        reserve: 0,
        handshake: Duration::from_secs(10),
        idle: Duration::from_secs(10),
        answer: Duration::from_secs(10),
        lame_duck: Duration::ZERO,
        drain: Duration::ZERO,
    };
}

/// Opens the listening socket of `server`, which is named in an error; `None` when it is turned off.
///
/// # Errors
///
/// [`ManagerError::Listen`].
pub(crate) fn listen(
    address: &BindAddress,
    server: &'static str,
) -> Result<Option<TcpListener>, ManagerError> {
    address.listen().map_err(|source| ManagerError::Listen {
        server,
        address: address.clone(),
        source,
    })
}

/// A whole response.
pub(crate) type Answer = Response<Full<Bytes>>;

/// Answers a request.
pub(crate) type Respond =
    Box<dyn Fn(Arc<Peer>, Request<Incoming>) -> BoxFuture<'static, Answer> + Send + Sync>;

pub(crate) fn answer(status: StatusCode, format: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    let format = HeaderValue::from_static(format);
    answer.headers_mut().insert(CONTENT_TYPE, format);
    answer
}

pub(crate) fn text(status: StatusCode, text: impl Into<Bytes>) -> Answer {
    answer(status, "text/plain; charset=utf-8", text)
}

/// The answer to `request` if its method is none of `methods`, which are separated by commas.
pub(crate) fn refused_method<B>(request: &Request<B>, methods: &'static str) -> Option<Answer> {
    let mut allowed = methods.split(", ");
    if allowed.any(|method| method == request.method()) {
        return None;
    }
    let mut refusal = text(StatusCode::METHOD_NOT_ALLOWED, "");
    let allowed = HeaderValue::from_static(methods);
    refusal.headers_mut().insert(ALLOW, allowed);
    Some(refusal)
}

/// A server on its own thread, unless it is off. It stops when it is dropped.
#[derive(Default)]
pub(crate) struct Server(pub(crate) Option<ServerThread>);

pub(crate) struct ServerThread {
    thread: Thread,
    stop: DropGuard,
    limits: Limits,
}

impl Server {
    /// Starts a thread for `serve`, which returns after the stop or a failure, and says why.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Thread`].
    pub(crate) fn start<F>(
        name: &'static str,
        limits: Limits,
        serve: impl FnOnce(CancellationToken) -> F,
    ) -> Result<Self, ManagerError>
    where
        F: Future<Output = String> + Send + 'static,
    {
        let stop = CancellationToken::new();
        Ok(Self(Some(ServerThread {
            thread: Thread::spawn(name, serve(stop.clone()))?,
            stop: stop.drop_guard(),
            limits,
        })))
    }

    /// Waits until the server ends and returns the reason; waits forever if it is off.
    pub(crate) async fn ended(&mut self) -> ManagerError {
        match &mut self.0 {
            Some(running) => running.thread.ended().await,
            None => pending().await,
        }
    }

    /// Lets clients close their connections, finishes open requests, and frees the port. Returns whether that
    /// took no longer than it may.
    pub(crate) async fn stop(self) -> bool {
        let Some(mut running) = self.0 else {
            return true;
        };
        drop(running.stop);
        let patience = running.limits.lame_duck + running.limits.drain * 2;
        timeout(patience, running.thread.ended()).await.is_ok()
    }
}

/// What a server needs for HTTPS.
pub(crate) struct Tls {
    pub(crate) certificate: Certificate,
    /// Keeps the certificate up to date, if it changes; never ends.
    pub(crate) follow: Option<BoxFuture<'static, ()>>,
    /// `None`: all.
    pub(crate) clients: Option<Clients>,
}

/// Answers requests with `respond` until `stop`, then lets clients close their connections, and finishes open
/// requests. Serves HTTPS if there is a certificate, and keeps it up to date. Returns why it has ended.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<Tls>,
    limits: Limits,
    stop: CancellationToken,
    respond: Respond,
) -> String {
    let (certificate, follow) = tls
        .map(|tls| ((tls.certificate, tls.clients), tls.follow))
        .unzip();
    let begin = || {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let tls = certificate
            .map(|(certificate, clients)| certificate.tls(clients))
            .transpose();
        Ok::<_, io::Error>((listener, tls.map_err(io::Error::other)?))
    };
    let (listener, tls) = match begin() {
        Ok(begun) => begun,
        Err(error) => return chain(&error),
    };
    let peers = Peers::new(limits);
    let close = CancellationToken::new();
    let connections = Arc::new(Connections {
        tls,
        respond,
        stop: stop.clone(),
        close: close.clone(),
        untrusted: LogLimit::default(),
    });
    let accept = async {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let peer = Arc::new(peers.admit().await);
                    tokio::spawn(connections.clone().serve(stream, peer));
                }
                Err(error) => {
                    tracing::warn!(error = chain(&error), "could not accept a connection");
                    // The system may have a lower limit than ours.
                    peers.table().evict_connection();
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    };
    let watch = async {
        loop {
            tokio::time::sleep(SWEEP).await;
            peers.evict_overdue();
        }
    };
    let follow = OptionFuture::from(follow.flatten());
    let stopped = async {
        stop.cancelled().await;
        let _ = timeout(limits.lame_duck, peers.ended()).await;
    };
    tokio::select! {
        () = stopped => {}
        () = accept => {}
        () = watch => {}
        Some(()) = follow => {}
    }
    drop(listener);
    close.cancel();
    // Requests that take longer are cut off when the thread ends.
    let _ = timeout(limits.drain, peers.ended()).await;
    "it was stopped".to_owned()
}

/// What all connections share.
struct Connections {
    tls: Option<TlsAcceptor>,
    respond: Respond,
    /// From now on, each response closes its connection.
    stop: CancellationToken,
    /// From now on, idle connections are closed.
    close: CancellationToken,
    /// Log lines about clients that do not trust the certificate.
    untrusted: LogLimit<()>,
}

/// With and without TLS it is the same type, so that the server is compiled once.
type Stream = Either<TcpStream, TlsStream<TcpStream>>;

impl Connections {
    async fn serve(self: Arc<Self>, stream: TcpStream, peer: Arc<Peer>) {
        // A response is one small write, and nothing follows for which it could wait.
        let _ = stream.set_nodelay(true);
        let Some(tls) = &self.tls else {
            return self.speak(Either::Left(stream), peer).await;
        };
        let handshake = tokio::select! {
            handshake = tls.accept(stream) => handshake,
            () = peer.evicted() => return tracing::debug!("no TLS handshake in time"),
            () = self.close.cancelled() => return,
        };
        match handshake {
            Ok(stream) => self.speak(Either::Right(stream), peer).await,
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
    async fn speak(&self, stream: Stream, peer: Arc<Peer>) {
        peer.wait();
        let service = service_fn(|request| {
            let peer = peer.clone();
            async move {
                peer.begin().await;
                let mut answer = (self.respond)(peer.clone(), request).await;
                if self.stop.is_cancelled() {
                    let close = HeaderValue::from_static("close");
                    answer.headers_mut().insert(CONNECTION, close);
                }
                peer.answer(answer.body());
                Ok::<_, Infallible>(answer)
            }
        });
        let stream = Metered {
            stream,
            peer: peer.clone(),
        };
        let connection = http1::Builder::new()
            .max_buf_size(BUFFER)
            // `evict_overdue` takes care of that.
            .header_read_timeout(None)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = self.close.cancelled() => {
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

#[cfg(test)]
mod tests;
