// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! How connections, requests and responses are passed on, or not.

use std::future::pending;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::uri::PathAndQuery;
use http::{Request, Response, StatusCode, Uri};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy::connect::Connect;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::Config;
use kube::client::ConfigExt;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};

use super::ProxiedRequest;
use super::faults::{Fault, Faults, Line};
use crate::server::report;

/// Serves connections until the port fails.
pub(super) async fn accept(
    listener: std::net::TcpListener,
    server: Config,
    faults: Arc<Faults>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        if let Some(line) = faults.connect() {
            tokio::spawn(serve(stream, line, server.clone(), Arc::clone(&faults)));
        }
    }
}

/// Serves one connection until either side closes it.
async fn serve(stream: TcpStream, line: Arc<Line>, server: Config, faults: Arc<Faults>) {
    // Small watch events must not be delayed.
    let _ = stream.set_nodelay(true);
    let connector = match server.rustls_https_connector() {
        Ok(connector) => connector,
        Err(error) => return report(&format!("the fault proxy: {error}")),
    };
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let pass = |request| pass(request, &line, &faults, &client, &server.cluster_url);
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(pass));
    tokio::select! {
        // An error means that one side has closed the connection.
        _ = connection => {}
        () = line.cut.notified() => {}
    }
}

/// Passes a request on to the API server, and returns the response. An error closes the connection.
async fn pass<C>(
    request: Request<Incoming>,
    line: &Arc<Line>,
    faults: &Faults,
    client: &Client<C, Passing>,
    server: &Uri,
) -> Result<Response<Passing>, Error>
where
    C: Connect + Clone + Send + Sync + 'static,
{
    let (mut parts, body) = request.into_parts();
    let head = ProxiedRequest::of(&parts);
    let underway = Underway(Arc::clone(line));
    if let Some(Fault::Refuse { code, retry_after }) = faults.meet(line, head) {
        return Ok(refusal(code, retry_after).map(|text| Passing::Own(Some(text))));
    }
    if line.swallows_requests() {
        return pending().await;
    }
    let mut uri = server.clone().into_parts();
    let path = parts.uri.path_and_query().cloned();
    uri.path_and_query = path.or(Some(PathAndQuery::from_static("/")));
    parts.uri = Uri::from_parts(uri).unwrap_or_default();
    let body = Passing::Up(body, Arc::clone(line));
    let answer = client.request(Request::from_parts(parts, body)).await;
    if line.swallows_responses() {
        return pending().await;
    }
    Ok(answer?.map(|body| Passing::Down(body, underway)))
}

/// An answer of the proxy itself.
pub(crate) fn refusal(code: StatusCode, retry_after: Option<Duration>) -> Response<Bytes> {
    let seconds = retry_after.map_or(0, |after| after.as_secs());
    let reason = code.canonical_reason().unwrap_or_default().replace(' ', "");
    let status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "refused by the fault proxy",
        "reason": reason,
        "details": { "retryAfterSeconds": seconds },
        "code": code.as_u16(),
    });
    let mut response = Response::new(Bytes::from(status.to_string()));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        http::HeaderValue::from_static("application/json"),
    );
    if seconds > 0 {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// Dropped when the request in progress ends.
struct Underway(Arc<Line>);

impl Drop for Underway {
    fn drop(&mut self) {
        *self.0.request() = None;
    }
}

/// A body in transit, which stops when its connection falls silent.
enum Passing {
    /// To the API server.
    Up(Incoming, Arc<Line>),
    /// To the operator.
    Down(Incoming, Underway),
    /// The proxy's own.
    Own(Option<Bytes>),
}

impl Body for Passing {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let (frame, is_silent) = match self.get_mut() {
            Self::Up(body, line) => (Pin::new(body).poll_frame(context), line.swallows_requests()),
            Self::Down(body, Underway(line)) => (
                Pin::new(body).poll_frame(context),
                line.swallows_responses(),
            ),
            Self::Own(text) => return Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
        };
        // Nobody wakes this again, and nobody needs to: such a connection stays silent.
        if is_silent { Poll::Pending } else { frame }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Up(body, _) | Self::Down(body, _) => body.is_end_stream(),
            Self::Own(text) => text.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Up(body, _) | Self::Down(body, _) => body.size_hint(),
            Self::Own(text) => SizeHint::with_exact(text.as_ref().map_or(0, Bytes::len) as u64),
        }
    }
}
