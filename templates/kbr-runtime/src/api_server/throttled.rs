// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Refusals that ask to wait.
//!
//! API Priority and Fairness answers 429 with a text and the header `Retry-After`, of which kube's error would know only
//! the text. So it gets the same as a `Status`, as the API server says it elsewhere.

use std::convert::Infallible;

use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use kube::client::DynBody;
use serde_json::json;

use super::is_json;
use crate::client::retry_after;

/// The response, as a `Status` if it is a text that refuses the request for some time.
pub(super) fn as_status(response: Response<Box<DynBody>>) -> Response<Box<DynBody>> {
    let code = response.status().as_u16();
    let (429 | 503, Some(seconds), false) = (code, retry_after(&response), is_json(&response))
    else {
        return response;
    };
    let reason = match code {
        429 => "TooManyRequests",
        _ => "ServiceUnavailable",
    };
    let status = json!({
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": format!("it asks to wait for {seconds} s"),
        "details": { "retryAfterSeconds": seconds },
    });
    let status = status.to_string();
    let (mut parts, _) = response.into_parts();
    let headers = &mut parts.headers;
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CONTENT_LENGTH, status.len().into());
    let body = Full::new(Bytes::from(status)).map_err(|never: Infallible| match never {});
    Response::from_parts(parts, Box::new(body))
}
