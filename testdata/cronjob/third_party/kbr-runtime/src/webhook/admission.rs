// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Answers AdmissionReviews of version 1 from the API server.

mod mutating;
mod request;
mod status;
mod validating;

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::Resource;
use prometheus_client::metrics::counter::Counter;
use serde::Serialize;
use tracing::Instrument;

use crate::logging::panic_message;

pub(super) use mutating::Mutating;
pub(super) use validating::Validating;

use request::Request;

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// Longest warning, in characters. The API server may truncate longer ones, and then truncates all of
/// them.
const LONGEST_WARNING: usize = 256;

/// A webhook that reviews single objects.
pub(super) trait Admission: Send + Sync {
    /// Returns the answer to a review, both as JSON, or what is wrong with the review.
    ///
    /// A panic also gets an answer, and is counted in `panics`.
    fn answer<'a>(
        &'a self,
        review: &'a [u8],
        panics: &'a Counter,
    ) -> BoxFuture<'a, Result<Vec<u8>, String>>;
}

/// How one type of webhook handles a request.
pub(super) trait Handler: Send + Sync {
    type Object: Resource<DynamicType = ()>;

    fn handle(
        &self,
        request: &Request<'_>,
    ) -> impl Future<Output = Result<Outcome, Refusal>> + Send;
}

/// The outcome of a request.
#[derive(Default)]
pub(super) struct Outcome {
    /// Why the request is denied.
    status: Option<Status>,
    patch: Option<Vec<u8>>,
    warnings: Vec<String>,
}

/// Why a request got no outcome.
pub(super) enum Refusal {
    /// The request makes no sense, which is reported to the client that sent it, not to the user.
    Malformed(String),
    Denied(Box<Status>),
}

impl From<Status> for Refusal {
    fn from(status: Status) -> Self {
        Self::Denied(Box::new(status))
    }
}

impl<J: Handler> Admission for J {
    fn answer<'a>(
        &'a self,
        review: &'a [u8],
        panics: &'a Counter,
    ) -> BoxFuture<'a, Result<Vec<u8>, String>> {
        async move {
            let request = Request::read::<J::Object>(review)?;
            let span = request.span();
            // Called inside the future: the call itself can panic, too.
            let handling = AssertUnwindSafe(async { self.handle(&request).await });
            let outcome = match handling.catch_unwind().instrument(span).await {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(Refusal::Malformed(reason))) => return Err(reason),
                Ok(Err(Refusal::Denied(status))) => (*status).into(),
                Err(payload) => {
                    panics.inc();
                    let message = panic_message(&*payload);
                    status::internal_error(&format!("the webhook panicked: {message}")).into()
                }
            };
            encode(&request, outcome)
        }
        .boxed()
    }
}

impl From<Status> for Outcome {
    fn from(status: Status) -> Self {
        Self {
            status: Some(status),
            ..Self::default()
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    api_version: &'static str,
    kind: &'static str,
    response: Response<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    uid: &'a str,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<ByteString>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

fn encode(request: &Request<'_>, outcome: Outcome) -> Result<Vec<u8>, String> {
    let answer = Answer {
        api_version: API_VERSION,
        kind: KIND,
        response: Response {
            uid: &request.uid,
            allowed: outcome.status.is_none(),
            status: outcome.status,
            patch_type: outcome.patch.as_ref().map(|_| "JSONPatch"),
            patch: outcome.patch.map(ByteString),
            warnings: outcome.warnings.iter().map(|text| header(text)).collect(),
        },
    };
    serde_json::to_vec(&answer).map_err(|error| error.to_string())
}

/// `warning` as text that is valid in an HTTP header, in which the API server returns it.
fn header(warning: &str) -> String {
    let printable = |char: char| if char.is_control() { ' ' } else { char };
    let line = warning.trim().chars().map(printable);
    line.take(LONGEST_WARNING).collect()
}
