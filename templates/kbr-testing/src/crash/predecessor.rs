// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Another implementation of the operator, which writes with updates as those in Go do: it has written the fields that
//! the operator is about to apply.

use http::header::CONTENT_TYPE;
use http::{Method, Request};
use hyper::body::Bytes;
use kbr_runtime::internal::Target;
use kube::Client;
use serde_json::{Value, json};

use crate::http_proxy::Error;

/// The field manager of operators whose binary has the name that kubebuilder gives it.
pub(super) const PREDECESSOR: &str = "manager";

/// Writes the fields that the request at `path` with this `body` is about to apply, and no others. Returns the body
/// that is to follow.
///
/// The status is then applied as if the operator knew of this. Another object has changed meanwhile, or exists already,
/// and the operator finds that out by itself.
pub(super) async fn write_before(admin: &Client, path: &str, body: &[u8]) -> Result<Bytes, Error> {
    let mut applied: Value = serde_json::from_slice(body)?;
    let mut fields = applied.clone();
    if let Some(metadata) = fields["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
        metadata.remove("uid");
    }
    let target = Target::of(path).ok_or("it is not about an object")?;
    let object = target.object_path().ok_or("it is not about an object")?;
    let (all, _) = object.rsplit_once('/').unwrap_or_default();
    let send = async |method: Method, path: &str, parameters: &str, content: &str, body: &Value| {
        let request = Request::builder().method(method);
        let request = request.uri(format!("{path}?fieldManager={PREDECESSOR}{parameters}"));
        let request = request.header(CONTENT_TYPE, format!("application/{content}"));
        let request = request.body(serde_json::to_vec(body)?)?;
        Ok::<_, Error>(admin.request::<Value>(request).await?)
    };
    let existing = admin.request_text(Request::get(&object).body(Vec::new())?);
    let written = match existing.await {
        Ok(_) => {
            // What the API server makes of the apply, but as an update.
            let (attempt, content) = ("&force=true&dryRun=All", "apply-patch+yaml");
            let mut updated = send(Method::PATCH, path, attempt, content, &fields).await?;
            if let Some(metadata) = updated["metadata"].as_object_mut() {
                metadata.remove("managedFields");
            }
            send(Method::PUT, path, "", "json", &updated).await?
        }
        Err(kube::Error::Api(status)) if status.is_not_found() => {
            send(Method::POST, all, "", "json", &fields).await?
        }
        Err(error) => return Err(error.into()),
    };
    if target.subresource.is_some() && applied["metadata"]["resourceVersion"].is_string() {
        applied["metadata"]["resourceVersion"] = json!(written["metadata"]["resourceVersion"]);
    }
    Ok(serde_json::to_vec(&applied)?.into())
}
