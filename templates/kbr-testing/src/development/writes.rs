// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What the operator writes: a proxy between it and the API server tells each write, with the fields that it changed.
//!
//! Before each write of an object that may exist, the proxy reads it as the administrator; what another client writes
//! between that and the write would be told as the operator's.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::header::{ACCEPT_ENCODING, CONTENT_TYPE};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Method, Request, Response, Uri};
use hyper::body::{Bytes, Incoming};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::Connect;
use hyper_util::rt::TokioExecutor;
use kbr_runtime::internal::{Target, differing_fields};
use kube::client::ConfigExt;
use serde_json::{Value, json};

use crate::audit::{controller_of, field_manager};
use crate::fault_proxy::write_kubeconfig;
use crate::http_proxy::{Error, Flow, accept, listen, whole};
use crate::server::report;
use crate::{TestEnv, TestEnvError, thread};

use super::Event;

/// The groups of the requests that write nothing which a user would look at: Leases, Events, and reviews.
const LEFT_OUT: [&str; 4] = [
    "authentication.k8s.io",
    "authorization.k8s.io",
    "coordination.k8s.io",
    "events.k8s.io",
];

impl TestEnv {
    /// Starts the proxy, on a thread of its own, and returns a copy of `kubeconfig` that names it.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Proxy`], [`TestEnvError::Folder`] and [`TestEnvError::Kubeconfig`].
    pub(super) async fn tell_writes(&self, kubeconfig: &Path) -> Result<PathBuf, TestEnvError> {
        let listener = listen().await.map_err(TestEnvError::Proxy)?;
        let address = listener.local_addr().map_err(TestEnvError::Proxy)?;
        let listener = listener.into_std().map_err(TestEnvError::Proxy)?;
        let copy = kubeconfig.with_extension("kbr-dev");
        write_kubeconfig(kubeconfig, &copy, &format!("http://{address}"))?;
        let config = self.admin_config();
        let serve = async move || {
            // Made here, since connections belong to the event loop of their thread.
            let connector = config.rustls_https_connector();
            let admin = kube::Client::try_from(config.clone());
            let (connector, admin) = match (connector, admin) {
                (Ok(connector), Ok(admin)) => (connector, admin),
                (Err(error), _) | (_, Err(error)) => return report(&error),
            };
            let listener = match tokio::net::TcpListener::from_std(listener) {
                Ok(listener) => listener,
                Err(error) => return report(&error),
            };
            let proxy = Arc::new(Proxy {
                server: config.cluster_url,
                client: Client::builder(TokioExecutor::new()).build(connector),
                admin,
            });
            let pass = move |request| {
                let proxy = Arc::clone(&proxy);
                async move { proxy.pass(request).await }
            };
            accept(listener, pass).await;
        };
        thread::spawn("kbr-dev-proxy", serve).map_err(TestEnvError::Proxy)?;
        Ok(copy)
    }
}

struct Proxy<C> {
    server: Uri,
    client: Client<C, Passing>,
    admin: kube::Client,
}

impl<C> Proxy<C>
where
    C: Connect + Clone + Send + Sync + 'static,
{
    async fn pass(&self, request: Request<Incoming>) -> Result<Response<Passing>, Error> {
        let (mut head, body) = request.into_parts();
        let write = Write::of(&head);
        let mut uri = self.server.clone().into_parts();
        let path = head.uri.path_and_query().cloned();
        uri.path_and_query = path.or(Some(PathAndQuery::from_static("/")));
        head.uri = Uri::from_parts(uri)?;
        let Some(write) = write else {
            let request = Request::from_parts(head, Passing::Stream(body));
            return Ok(self.client.request(request).await?.map(Passing::Stream));
        };
        let body = whole(body).await?;
        let before = self.stored(&write.target).await;
        // A compressed answer could not be read here.
        head.headers.remove(ACCEPT_ENCODING);
        let request = Request::from_parts(head, Passing::Whole(Some(body.clone())));
        let (head, answer) = self.client.request(request).await?.into_parts();
        let answer = whole(answer).await?;
        if head.status.is_success() {
            let read = |bytes: &Bytes| serde_json::from_slice(bytes).unwrap_or_default();
            for event in write.events(&before, &read(&body), &read(&answer)) {
                event.tell();
            }
        }
        Ok(Response::from_parts(head, Passing::Whole(Some(answer))))
    }

    /// The object before a write, or null.
    async fn stored(&self, target: &Target) -> Value {
        let Some(path) = target.object_path() else {
            return Value::Null;
        };
        let Ok(request) = Request::get(path).body(Vec::new()) else {
            return Value::Null;
        };
        self.admin.request(request).await.unwrap_or_default()
    }
}

/// A request that changes objects.
struct Write {
    verb: &'static str,
    target: Target,
    /// The name of the controller, if the field manager follows the scaffold.
    controller: Option<String>,
}

impl Write {
    fn of(head: &Parts) -> Option<Self> {
        let target = Target::of(head.uri.path())?;
        let content = head.headers.get(CONTENT_TYPE);
        let is_apply = content.is_some_and(|it| it.as_bytes().starts_with(b"application/apply"));
        let verb = match head.method {
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH if is_apply => "apply",
            Method::PATCH => "patch",
            Method::DELETE => "delete",
            _ => return None,
        };
        let query = head.uri.query().unwrap_or_default();
        let is_dry = query.split('&').any(|it| it.starts_with("dryRun="));
        let is_event = target.group.is_empty() && target.resource == "events";
        if is_dry || is_event || LEFT_OUT.contains(&&*target.group) {
            return None;
        }
        Some(Self {
            verb,
            target,
            controller: field_manager(query).map(controller_of),
        })
    }

    /// What to tell: nothing if nothing has changed.
    fn events(&self, before: &Value, sent: &Value, answer: &Value) -> Vec<Event> {
        if let Some(items) = answer["items"].as_array() {
            // The objects of a collection that was deleted, which do not say what they are.
            let list = answer["kind"].as_str().unwrap_or_default();
            let kind = list.strip_suffix("List").unwrap_or_default();
            let event = |item| self.event(kind, item, Vec::new());
            return items.iter().map(event).collect();
        }
        let after = match answer["kind"] == "Status" {
            true => before,
            false => answer,
        };
        let diff = match (self.verb, before) {
            // An object with finalizers stays for now.
            ("delete", _) => Vec::new(),
            // The answer would also have the fields that the API server has added.
            (_, Value::Null) => changed(&Value::Null, sent),
            // Such as a Scale, or a token, which must not be shown.
            _ if ![&before["kind"], &json!("PartialObjectMetadata")].contains(&&after["kind"]) => {
                changed(&Value::Null, sent)
            }
            _ => changed(before, after),
        };
        // Nothing has changed, or only who manages which field.
        if diff.is_empty() && ["apply", "patch", "update"].contains(&self.verb) {
            return Vec::new();
        }
        let kind = after["kind"].as_str().unwrap_or(&self.target.resource);
        vec![self.event(kind, after, diff)]
    }

    fn event(&self, kind: &str, object: &Value, diff: Vec<String>) -> Event {
        let metadata = &object["metadata"];
        let namespace = metadata["namespace"].as_str();
        let namespace = namespace.or(self.target.namespace.as_deref());
        let within = |name: &str| match namespace {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name.to_owned(),
        };
        let name = metadata["name"].as_str().or(self.target.name.as_deref());
        let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
        let mut owners = owners.filter(|owner| owner["controller"] == true);
        let owner = owners.next().and_then(|owner| owner["name"].as_str());
        Event::Wrote {
            verb: self.verb,
            object: format!("{kind} {}", within(name.unwrap_or_default())),
            subresource: self.target.subresource.clone(),
            controller: self.controller.clone(),
            owner: owner.map(within),
            diff,
        }
    }
}

/// The lines of the diff.
fn changed(before: &Value, after: &Value) -> Vec<String> {
    let is_secret = [before, after].iter().any(|it| it["kind"] == "Secret");
    let fields = differing_fields(before, after, is_secret).into_iter();
    let lines = fields.flat_map(|field| {
        let text = field.to_string();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    lines.collect()
}

type Passing = Flow<Incoming>;

#[cfg(test)]
mod tests;
