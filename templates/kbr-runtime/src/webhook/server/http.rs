// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! HTTP requests and their responses.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use ::http::header::{CONTENT_TYPE, RETRY_AFTER};
use ::http::{HeaderValue, Method, Request, StatusCode, Uri};
use futures::{FutureExt, TryStreamExt};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use tokio::time::{Instant, timeout_at};

use super::weight::{Parsing, weight};
use crate::http_server::{self, Answer, Peer, Unavailable};
use crate::logging::{LogLimit, panic_message};
#[cfg(feature = "conversion")]
use crate::webhook::conversion::measure::LARGEST;
use crate::webhook::{Webhook, Webhooks};

/// Bytes that a review takes for each of its bytes, even if little of it is parsed: itself, its answer,
/// and the parts from which the answer is made.
pub(super) const SHARE: usize = 3;

/// How much earlier than the API server's timeout it gets a response that says why there is no answer.
const MARGIN: Duration = Duration::from_millis(500);

const JSON: &str = "application/json";

type Refusal = (StatusCode, String);

/// How many characters of what a client has sent are in a log line.
const EXCERPT: usize = 200;

/// Log lines about refused requests: for each webhook, or for all paths without one, and for each status.
pub(super) type Refusals = LogLimit<(Option<String>, StatusCode)>;

/// Answers `request` within `patience`, or sooner if the request asks for that.
pub(super) async fn respond(
    webhooks: &Webhooks,
    refusals: &Refusals,
    peer: &Peer,
    request: Request<Incoming>,
    patience: Duration,
) -> Answer {
    let path = request.uri().path().to_owned();
    // The panic of a defaulter or validator has already been turned into a denial.
    let answering = AssertUnwindSafe(answer(webhooks, peer, request, patience));
    let (status, reason) = match answering.catch_unwind().await {
        Ok(Ok(review)) => return http_server::answer(StatusCode::OK, JSON, review),
        Ok(Err(refusal)) => refusal,
        Err(payload) => {
            let message = panic_message(&*payload);
            let reason = format!("the webhook panicked: {message}");
            (StatusCode::INTERNAL_SERVER_ERROR, reason)
        }
    };
    log_refusal(webhooks, refusals, &path, status, &reason);
    let mut response = http_server::text(status, reason);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        // In seconds. The API server respects it.
        let headers = response.headers_mut();
        headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// Whoever reaches the port can cause such lines: see [`Refusals`].
pub(super) fn log_refusal(
    webhooks: &Webhooks,
    refusals: &Refusals,
    path: &str,
    status: StatusCode,
    reason: &str,
) {
    let webhook = webhooks.at(path).map(|_| path.to_owned());
    let held_back = refusals.pass((webhook, status), Instant::now());
    let excerpt = |text: &str| text.chars().take(EXCERPT).collect::<String>();
    let (path, error, status) = (excerpt(path), excerpt(reason), status.as_u16());
    match held_back {
        Some(held_back) => {
            let held_back = (held_back > 0).then_some(held_back);
            tracing::warn!(path, status, error, held_back, "refused a request");
        }
        None => tracing::debug!(path, status, error, "refused a request"),
    }
}

async fn answer(
    webhooks: &Webhooks,
    peer: &Peer,
    request: Request<Incoming>,
    patience: Duration,
) -> Result<Vec<u8>, Refusal> {
    let webhook = find(webhooks, &request)?;
    let path = request.uri().path().to_owned();
    let wanted = timeout(request.uri());
    let patience = wanted.map_or(patience, |wanted| {
        patience.min(wanted - MARGIN.min(wanted / 10))
    });
    let deadline = Instant::now() + patience;
    let parsing = match webhook {
        Webhook::Admission(..) => Parsing {
            depth: 0,
            copies: 2,
            most: usize::MAX,
        },
        #[cfg(feature = "conversion")]
        // The objects of the list `objects` in `request` are converted one after the other, and back.
        Webhook::Conversion(_) => Parsing {
            depth: 3,
            copies: 5,
            most: LARGEST,
        },
    };
    let arrived = timeout_at(deadline, read(request.into_body(), peer, parsing)).await;
    let review = arrived.map_err(|_| {
        let reason = format!("the review did not arrive within {patience:?}");
        (StatusCode::REQUEST_TIMEOUT, reason)
    })??;
    let listed = webhooks.listed(&path, deadline).await;
    listed.map_err(|resource| {
        let reason = format!("the cache of {resource} was not listed within {patience:?}");
        (StatusCode::GATEWAY_TIMEOUT, reason)
    })?;
    let answered = timeout_at(deadline, webhook.answer(&review)).await;
    // Not a denial: the `failurePolicy` decides what the API server does without an answer.
    let answered = answered.map_err(|_| {
        let reason = format!("the webhook gave no answer within {patience:?}");
        (StatusCode::GATEWAY_TIMEOUT, reason)
    })?;
    answered.map_err(|reason| (StatusCode::BAD_REQUEST, reason))
}

/// How long the API server waits: the query says so, in Go's duration format.
pub(super) fn timeout(uri: &Uri) -> Option<Duration> {
    let mut pairs = uri.query()?.split('&');
    match pairs.find_map(|pair| pair.strip_prefix("timeout="))? {
        "" => Some(Duration::ZERO),
        text => crate::flags::duration(text).ok(),
    }
}

/// The webhook that `request` is for.
fn find<'a, B>(webhooks: &'a Webhooks, request: &Request<B>) -> Result<Webhook<'a>, Refusal> {
    let path = request.uri().path();
    let webhook = webhooks.at(path).ok_or_else(|| {
        let reason = format!("no webhook is served at `{path}`");
        (StatusCode::NOT_FOUND, reason)
    })?;
    if request.method() != Method::POST {
        let reason = format!("a review must be sent with POST, not {}", request.method());
        return Err((StatusCode::METHOD_NOT_ALLOWED, reason));
    }
    let content_type = request.headers().get(CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let media_type = content_type.and_then(|value| value.split(';').next());
    if media_type.is_none_or(|media_type| !media_type.trim().eq_ignore_ascii_case(JSON)) {
        let reason = format!(
            "a review must be {JSON}, not {}",
            content_type.unwrap_or("untyped")
        );
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, reason));
    }
    Ok(webhook)
}

/// Receives a review, and reserves memory for everything that is made from it: see [`weight`].
async fn read(body: Incoming, peer: &Peer, parsing: Parsing) -> Result<Vec<u8>, Refusal> {
    let Some(length) = body.size_hint().exact() else {
        let reason = "a review must have a `Content-Length`".to_owned();
        return Err((StatusCode::LENGTH_REQUIRED, reason));
    };
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let least = length.saturating_mul(SHARE);
    hold(peer, least, length).await?;
    peer.receive();
    let mut review = Vec::with_capacity(length);
    let mut chunks = body.into_data_stream();
    let receive = async {
        while let Some(chunk) = chunks.try_next().await? {
            review.extend_from_slice(&chunk);
        }
        Ok::<_, hyper::Error>(())
    };
    let received = tokio::select! {
        received = receive => received,
        () = peer.evicted() => {
            let reason = "the review arrived too slowly and had to give way to others";
            return Err((StatusCode::SERVICE_UNAVAILABLE, reason.to_owned()));
        }
    };
    received.map_err(|error| {
        let reason = format!("the review did not arrive: {error}");
        (StatusCode::BAD_REQUEST, reason)
    })?;
    peer.work();
    hold(peer, least + weight(&review, parsing), length).await?;
    Ok(review)
}

async fn hold(peer: &Peer, bytes: usize, length: usize) -> Result<(), Refusal> {
    let held = peer.hold(bytes).await;
    held.map_err(|unavailable| match unavailable {
        Unavailable::Never(most) => {
            let reason = format!(
                "a review of {length} bytes may take {bytes} bytes of memory, \
                 but only {most} bytes are available for reviews"
            );
            (StatusCode::PAYLOAD_TOO_LARGE, reason)
        }
        Unavailable::Now => {
            let reason = "other reviews take all the memory available for reviews".to_owned();
            (StatusCode::SERVICE_UNAVAILABLE, reason)
        }
    })
}
