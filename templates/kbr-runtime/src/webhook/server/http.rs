// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! HTTP requests and their answers.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Method, Request, Response, StatusCode};
use axum::response::IntoResponse;
use futures::{FutureExt, StreamExt};
use hyper::body::{Body as _, Incoming};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};

use crate::logging::panic_message;
use crate::webhook::{Webhook, Webhooks};

/// Bytes that a review may have. The API server takes requests of 3 MiB, and a review may hold two
/// such objects, which it writes longer than they came if they came as protobuf.
pub(super) const LONGEST: usize = 16 << 20;

/// Bytes that are set aside before any have arrived, at most: a body need not be as long as it says.
const AHEAD: usize = 64 << 10;

const JSON: &str = "application/json";

type Refusal = (StatusCode, String);

/// Answers `request` within `patience`. The review takes as many permits of `budget` as it has bytes;
/// where they are not left, it is refused.
pub(super) async fn respond(
    webhooks: &Webhooks,
    budget: &Semaphore,
    request: Request<Incoming>,
    patience: Duration,
) -> Response<Body> {
    let path = request.uri().path().to_owned();
    // A defaulter or validator that panics has answered already, with a denial.
    let answering = AssertUnwindSafe(answer(webhooks, budget, request, patience));
    let (status, reason) = match answering.catch_unwind().await {
        Ok(Ok(review)) => {
            let json = HeaderValue::from_static(JSON);
            return ([(CONTENT_TYPE, json)], review).into_response();
        }
        Ok(Err(refusal)) => refusal,
        Err(payload) => {
            let message = panic_message(&*payload);
            let reason = format!("the webhook panicked: {message}");
            (StatusCode::INTERNAL_SERVER_ERROR, reason)
        }
    };
    tracing::warn!(
        path,
        status = status.as_u16(),
        error = reason,
        "refused a request"
    );
    (status, reason).into_response()
}

async fn answer(
    webhooks: &Webhooks,
    budget: &Semaphore,
    request: Request<Incoming>,
    patience: Duration,
) -> Result<Vec<u8>, Refusal> {
    let webhook = find(webhooks, &request)?;
    let deadline = Instant::now() + patience;
    let arrived = timeout_at(deadline, read(request.into_body(), budget)).await;
    let (review, _taken) = arrived.map_err(|_| {
        let reason = format!("the review did not arrive within {patience:?}");
        (StatusCode::REQUEST_TIMEOUT, reason)
    })??;
    let answered = timeout_at(deadline, webhook.answer(&review)).await;
    // No denial: what the API server does without an answer is up to the `failurePolicy`.
    let answered = answered.map_err(|_| {
        let reason = format!("the webhook gave no answer within {patience:?}");
        (StatusCode::GATEWAY_TIMEOUT, reason)
    })?;
    answered.map_err(|reason| (StatusCode::BAD_REQUEST, reason))
}

/// The webhook that `request` is for.
fn find<'a, B>(webhooks: &'a Webhooks, request: &Request<B>) -> Result<Webhook<'a>, Refusal> {
    let path = request.uri().path();
    let webhook = webhooks.at(path).ok_or_else(|| {
        let reason = format!("no webhook is served at `{path}`");
        (StatusCode::NOT_FOUND, reason)
    })?;
    if request.method() != Method::POST {
        let reason = format!("a review is sent with POST, not {}", request.method());
        return Err((StatusCode::METHOD_NOT_ALLOWED, reason));
    }
    let content_type = request.headers().get(CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let media_type = content_type.and_then(|value| value.split(';').next());
    if media_type.is_none_or(|media_type| !media_type.trim().eq_ignore_ascii_case(JSON)) {
        let reason = format!(
            "a review is {JSON}, not {}",
            content_type.unwrap_or("unnamed")
        );
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, reason));
    }
    Ok(webhook)
}

/// A review, and what it takes of the budget until it is answered.
async fn read(
    body: Incoming,
    budget: &Semaphore,
) -> Result<(Vec<u8>, Option<SemaphorePermit<'_>>), Refusal> {
    let too_long = || {
        let reason = format!("the review is longer than {LONGEST} bytes");
        (StatusCode::PAYLOAD_TOO_LARGE, reason)
    };
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > LONGEST {
        return Err(too_long());
    }
    let mut review = Vec::with_capacity(announced.min(AHEAD));
    let mut taken: Option<SemaphorePermit<'_>> = None;
    let mut chunks = Body::new(body).into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| {
            let reason = format!("the review did not arrive: {error}");
            (StatusCode::BAD_REQUEST, reason)
        })?;
        if review.len() + chunk.len() > LONGEST {
            return Err(too_long());
        }
        // It fits: no chunk is longer than a review may be.
        let length = u32::try_from(chunk.len()).unwrap_or(u32::MAX);
        let more = budget.try_acquire_many(length).map_err(|_| {
            let reason = "other reviews take all the memory that there is for them".to_owned();
            (StatusCode::SERVICE_UNAVAILABLE, reason)
        })?;
        match &mut taken {
            Some(taken) => taken.merge(more),
            None => taken = Some(more),
        }
        review.extend_from_slice(&chunk);
    }
    Ok((review, taken))
}
