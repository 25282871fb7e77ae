// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What the proxies of [`Crash`](crate::Crash) and `kbr dev` have in common: HTTP/1.1 without TLS on loopback.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::control_plane::{LOOPBACK, PAUSE};

/// An error closes the connection.
pub(super) type Error = Box<dyn std::error::Error + Send + Sync>;

/// A port for a proxy.
pub(super) async fn listen() -> io::Result<TcpListener> {
    TcpListener::bind((LOOPBACK, 0)).await
}

/// Answers each request with `answer`, until this is dropped, which closes all connections.
pub(super) async fn accept<A, F, B>(listener: TcpListener, answer: A)
where
    A: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Response<B>, Error>> + Send + 'static,
    B: Body<Data = Bytes, Error = hyper::Error> + Send + 'static,
{
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(serve(stream, answer.clone()))),
                // Perhaps there are too many open files at this moment.
                Err(_) => sleep(PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Serves one connection until either side closes it.
async fn serve<A, F, B>(stream: TcpStream, answer: A)
where
    A: Fn(Request<Incoming>) -> F,
    F: Future<Output = Result<Response<B>, Error>>,
    B: Body<Data = Bytes, Error = hyper::Error> + 'static,
{
    // Small watch events must not be delayed.
    let _ = stream.set_nodelay(true);
    let connection =
        http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
    // An error means that one side has closed the connection.
    let _ = connection.await;
}

/// Reads a body to its end.
pub(super) async fn whole(mut body: Incoming) -> io::Result<Bytes> {
    let mut all = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let frame = frame.map_err(io::Error::other)?;
        if let Some(data) = frame.data_ref() {
            all.extend_from_slice(data);
        }
    }
    Ok(all.into())
}

/// A body in transit.
pub(super) enum Flow<S> {
    /// One that was read.
    Whole(Option<Bytes>),
    Stream(S),
}

impl<S: Body<Data = Bytes, Error = hyper::Error> + Unpin> Body for Flow<S> {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Stream(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.as_ref().is_none_or(Bytes::is_empty),
            Self::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Self::Stream(body) => body.size_hint(),
        }
    }
}
