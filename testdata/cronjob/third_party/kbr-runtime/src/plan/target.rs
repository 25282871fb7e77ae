// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What a request is about, from its path.

use std::fmt;

use http::header::UPGRADE;
use http::{Method, Request};

use crate::client::parameter;

/// The CRD of a kind has the name of its resource and group.
const CRDS: (&str, &str) = ("apiextensions.k8s.io", "customresourcedefinitions");

/// What acts on a running container or behind a proxy. A dry run would do it, too.
const CONNECTIONS: [&str; 4] = ["attach", "exec", "portforward", "proxy"];

/// An object, or all objects of a kind in a namespace or the cluster. Prints as `jobs.batch default/example`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Target {
    pub(super) group: String,
    pub(super) resource: String,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
    /// Such as `status`.
    pub(super) subresource: Option<String>,
}

impl Target {
    /// `None` for a path that is not that of a resource.
    pub(super) fn of(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let (group, rest) = match parts.as_slice() {
            ["api", _version, rest @ ..] => ("", rest),
            ["apis", group, _version, rest @ ..] => (*group, rest),
            _ => return None,
        };
        let (namespace, rest) = match rest {
            // The subresources of a namespace itself.
            ["namespaces", _, "status" | "finalize"] => (None, rest),
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
            _ => (None, rest),
        };
        let (resource, rest) = rest.split_first()?;
        let name = rest.first().map(|name| (*name).to_owned());
        Some(Self {
            group: group.to_owned(),
            resource: (*resource).to_owned(),
            namespace: namespace.map(str::to_owned),
            name,
            subresource: rest.get(1).map(|name| (*name).to_owned()),
        })
    }

    /// Whether the API server has a dry run of such a write.
    pub(super) fn has_dry_run(&self) -> bool {
        !self.is_connection()
    }

    fn is_connection(&self) -> bool {
        let subresource = self.subresource.as_deref();
        subresource.is_some_and(|name| CONNECTIONS.contains(&name))
    }

    pub(super) fn is_event(&self) -> bool {
        self.resource == "events" && ["", "events.k8s.io"].contains(&&*self.group)
    }

    pub(super) fn is_secret(&self) -> bool {
        self.resource == "secrets" && self.group.is_empty()
    }

    /// Whether it is `created`, or cannot exist without it: something in that namespace, or of that kind.
    pub(super) fn needs(&self, created: &Self) -> bool {
        let is_in = created.resource == "namespaces"
            && created.group.is_empty()
            && created.name == self.namespace;
        let kind = format!("{}.{}", self.resource, self.group);
        let is_of = (&*created.group, &*created.resource) == CRDS && created.name == Some(kind);
        is_in || is_of || self.is_alike(created) && self.name == created.name
    }

    /// Whether a list of this should have `created`.
    pub(super) fn lists(&self, created: &Self) -> bool {
        let all = Self {
            namespace: created.namespace.clone(),
            ..self.clone()
        };
        let is_everywhere = self.namespace.is_none();
        self.is_alike(created) || is_everywhere && all.is_alike(created)
    }

    fn is_alike(&self, other: &Self) -> bool {
        self.resource == other.resource
            && self.group == other.group
            && self.namespace == other.namespace
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        let namespace = self.namespace.iter().map(|name| format!("{name}/"));
        let name = self.name.as_deref().unwrap_or("*");
        write!(f, " {}{name}", namespace.collect::<String>())
    }
}

/// Whether a request changes nothing in the cluster. Reviews and tokens are created, but not stored.
pub(super) fn is_read<B>(request: &Request<B>, target: Option<&Target>) -> bool {
    let is_get = [Method::GET, Method::HEAD, Method::OPTIONS].contains(request.method());
    let is_upgrade = request.headers().contains_key(UPGRADE);
    let is_asked = parameter(request, "dryRun") == Some("All");
    target.map_or(is_get, |target| {
        let is_review = ["authentication.k8s.io", "authorization.k8s.io"].contains(&&*target.group);
        let is_token = target.subresource.as_deref() == Some("token");
        match target.is_connection() {
            true => is_get && !is_upgrade && target.subresource.as_deref() == Some("proxy"),
            false => {
                is_get || is_asked && *request.method() != Method::DELETE || is_review || is_token
            }
        }
    })
}
