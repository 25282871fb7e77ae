// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! A write that is sent as a dry run, and the object before it.

use http::header::{ACCEPT, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use super::report::Present;
use crate::client::parameter;
use crate::target::Target;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Sends `request` as a dry run. Returns the response, the object before it, and what the response has if it is to be noted.
pub(super) async fn dry_run(
    client: &Client,
    target: &Target,
    request: Request<Body>,
) -> kube::Result<(Response<Body>, Present, Option<Value>)> {
    let mut is_noted = !target.is_event() && parameter(&request, "dryRun").is_none();
    let (mut parts, body) = request.into_parts();
    let mut body = body.collect_bytes().await?.to_vec();
    if parts.method == Method::DELETE {
        is_noted &= make_dry_deletion(&mut parts, &mut body)?;
    }
    let uri = parts.uri.to_string();
    let separator = if uri.contains('?') { '&' } else { '?' };
    let uri = format!("{uri}{separator}dryRun=All");
    parts.uri = uri
        .parse()
        .map_err(|error| kube::Error::HttpError(http::Error::from(error)))?;
    let old = match &target.name {
        Some(name) if is_noted => present(client, parts.uri.path(), target, name).await?,
        _ => Present::Absent,
    };
    let request = Request::from_parts(parts, body.into());
    let (parts, body) = client.send(request).await?.into_parts();
    let body = body.collect_bytes().await?;
    let is_noted = is_noted && parts.status.is_success();
    let new = is_noted.then(|| serde_json::from_slice(&body).unwrap_or_default());
    Ok((Response::from_parts(parts, body.into()), old, new))
}

/// Makes a dry run of a deletion: the API server ignores the parameters of one that has a body. Returns whether it was
/// none before.
fn make_dry_deletion(parts: &mut Parts, body: &mut Vec<u8>) -> kube::Result<bool> {
    let mut options = match body.is_empty() {
        true => json!({}),
        false => serde_json::from_slice(body).map_err(kube::Error::SerdeError)?,
    };
    let was_dry = options["dryRun"].is_array();
    options["dryRun"] = json!(["All"]);
    *body = options.to_string().into_bytes();
    parts.headers.insert(CONTENT_TYPE, JSON);
    Ok(!was_dry)
}

/// The object as it is. Not every role allows `get`: those that keep a cache allow `list`.
async fn present(
    client: &Client,
    path: &str,
    target: &Target,
    name: &str,
) -> kube::Result<Present> {
    let of_object = target.object_path();
    let of_object = of_object.filter(|_| target.subresource.as_deref() == Some("status"));
    let path = of_object.as_deref().unwrap_or(path);
    let get = |path: &str| {
        let request = Request::get(path).header(ACCEPT, JSON).body(Vec::new());
        request.map_err(kube::Error::HttpError)
    };
    match client.request::<Value>(get(path)?).await {
        Ok(object) => return Ok(Present::Object(object)),
        Err(kube::Error::Api(status)) if status.is_not_found() => return Ok(Present::Absent),
        Err(kube::Error::Api(status)) if status.is_forbidden() => {}
        Err(error) => return Err(error),
    }
    let Some(all) = path.strip_suffix(&format!("/{name}")) else {
        return Ok(Present::Unreadable);
    };
    let list = format!("{all}?fieldSelector=metadata.name%3D{name}");
    match client.request::<Value>(get(&list)?).await {
        Ok(mut list) => Ok(match list["items"].get_mut(0) {
            Some(object) => Present::Object(object.take()),
            None => Present::Absent,
        }),
        Err(kube::Error::Api(status)) if status.is_forbidden() => Ok(Present::Unreadable),
        Err(error) => Err(error),
    }
}
