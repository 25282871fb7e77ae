// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Why a request is denied, as users see it: worded like the API server's own errors.

use kube::core::response::{Status, StatusCause, StatusDetails};

use super::request::Request;
use crate::chain::chain;
use crate::webhook::{BoxError, FieldError};

/// Bytes that are shown of an object that cannot be decoded.
const EXCERPT: usize = 40;

/// The object has these errors.
pub(super) fn invalid(request: &Request<'_>, errors: &[FieldError]) -> Status {
    let mut texts: Vec<String> = Vec::new();
    for error in errors {
        let text = error.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    let all = match texts.as_slice() {
        [one] => one.clone(),
        texts => format!("[{}]", texts.join(", ")),
    };
    let causes = errors.iter().map(|error| StatusCause {
        reason: error.reason.to_owned(),
        message: error.message.clone(),
        field: error.field.to_string(),
    });
    unprocessable(request, &all, causes.collect())
}

/// The object does not fit the type that the webhook has for it.
pub(super) fn undecodable(
    request: &Request<'_>,
    object: &str,
    error: &serde_json::Error,
) -> Status {
    let line = object
        .lines()
        .nth(error.line().saturating_sub(1))
        .unwrap_or_default();
    let end = error.column().min(line.len());
    let excerpt = &line.as_bytes()[end.saturating_sub(EXCERPT)..end];
    let excerpt = String::from_utf8_lossy(excerpt);
    let text = format!("this operator cannot read it: {error}, after `{excerpt}`");
    unprocessable(request, &text, Vec::new())
}

/// The webhook is at fault, not the user.
pub(super) fn internal_error(message: &str) -> Status {
    Status::failure(message, "InternalError").with_code(500)
}

/// The webhook could not decide.
pub(super) fn failed(error: BoxError) -> Status {
    let error = chain(&*error);
    tracing::error!(error, "the webhook failed");
    internal_error(&format!("the webhook failed: {error}"))
}

fn unprocessable(request: &Request<'_>, text: &str, causes: Vec<StatusCause>) -> Status {
    let (group, kind, name) = (&request.kind.group, &request.kind.kind, &request.name);
    let dot = if group.is_empty() { "" } else { "." };
    let message = format!("{kind}{dot}{group} {name:?} is invalid: {text}");
    let details = StatusDetails {
        name: name.to_string(),
        group: group.clone(),
        kind: kind.clone(),
        uid: String::new(),
        causes,
        retry_after_seconds: 0,
    };
    let status = Status::failure(&message, "Invalid").with_code(422);
    status.with_details(details)
}
