// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Which requests change something, and which depend on what is not there.

use http::header::UPGRADE;
use http::{Method, Request};

use crate::client::parameter;
use crate::target::Target;

/// The CRD of a kind has the name of its resource and group.
const CRDS: (&str, &str) = ("apiextensions.k8s.io", "customresourcedefinitions");

/// What acts on a running container or behind a proxy. A dry run would do it, too.
const CONNECTIONS: [&str; 4] = ["attach", "exec", "portforward", "proxy"];

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

impl Target {
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
        let kind = Some(self.full_resource());
        let is_of = (&*created.group, &*created.resource) == CRDS && created.name == kind;
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
