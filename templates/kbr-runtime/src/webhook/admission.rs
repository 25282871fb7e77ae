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
use kube::core::Status;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tracing::Instrument;

use super::Webhooks;
use super::review::Answer;
use crate::logging::panic_message;
use crate::reading::{self, DecodeError};

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
    /// Handles a request. Only the future may panic.
    fn handle<'a>(&'a self, request: &'a Request<'_>) -> Handling<'a>;
}

pub(super) type Handling<'a> = BoxFuture<'a, Result<Outcome, Refusal>>;

/// The outcome of a request.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outcome {
    /// Why the request is denied.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<ByteString>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
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

#[derive(Serialize)]
struct Response<'a> {
    uid: &'a str,
    allowed: bool,
    #[serde(flatten)]
    outcome: Outcome,
}

impl dyn Admission + '_ {
    /// Returns the answer to a review, both as JSON, or what is wrong with the review.
    ///
    /// A panic also gets an answer, and is counted.
    pub(super) async fn answer(
        &self,
        review: &[u8],
        path: &str,
        webhooks: &Webhooks,
    ) -> Result<Vec<u8>, String> {
        let request = Request::read(review)?;
        let handling = AssertUnwindSafe(self.handle(&request)).catch_unwind();
        let handling = handling.instrument(request.span());
        let name = format!("`{path}` ({request})");
        let handled = webhooks.watchdog.run(name, handling).await;
        let handled = handled.unwrap_or_else(|payload| {
            webhooks.panics.inc();
            let message = panic_message(&*payload);
            Err(status::internal_error(&format!("the webhook panicked: {message}")).into())
        });
        let outcome = match handled {
            Ok(outcome) => outcome,
            Err(Refusal::Malformed(reason)) => return Err(reason),
            Err(Refusal::Denied(status)) => Outcome {
                status: Some(*status),
                ..Outcome::default()
            },
        };
        let answer = Answer {
            api_version: API_VERSION,
            kind: KIND,
            response: Response {
                uid: &request.uid,
                allowed: outcome.status.is_none(),
                outcome,
            },
        };
        serde_json::to_vec(&answer).map_err(|error| error.to_string())
    }
}

/// Reads an object; if its type cannot hold it, logs `problem` and where it is.
fn read<T: DeserializeOwned>(object: &RawValue, problem: &str) -> Option<T> {
    let read = reading::read_object(object.get());
    let log = |DecodeError { field, reason }| {
        tracing::warn!(field, error = reason, "{problem}");
    };
    read.map_err(log).ok()
}

/// `warning` as text that is valid in an HTTP header, in which the API server returns it.
fn header(warning: &str) -> String {
    let printable = |char: char| if char.is_control() { ' ' } else { char };
    let line = warning.trim().chars().map(printable);
    line.take(LONGEST_WARNING).collect()
}

#[cfg(test)]
mod tests;
