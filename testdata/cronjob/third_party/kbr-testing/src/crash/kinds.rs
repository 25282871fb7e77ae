// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The kinds of the API server, and those that the operator's role allows it to write.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::api::{ApiResource, DynamicObject};
use kube::discovery::{Discovery, Scope, verbs};
use kube::{Api, Client};
use serde_json::Value;

use super::proxy::Resources;
use crate::grants::Grant;
use crate::roles::Role;

/// Events tell people what has happened. They are published at most once, and may be lost: Kubernetes makes no promise
/// about them, so they are not compared. Leases say who leads.
const NOT_COMPARED: [(&str, &str); 3] = [
    ("", "events"),
    ("events.k8s.io", "events"),
    ("coordination.k8s.io", "leases"),
];

/// Whether the objects of a resource must be the same in each run.
pub(super) fn is_compared(group: &str, resource: &str) -> bool {
    !NOT_COMPARED.contains(&(group, resource))
}

/// The kinds whose objects can be listed.
pub(super) struct Kinds(Vec<Kind>);

struct Kind {
    resource: ApiResource,
    is_namespaced: bool,
    /// Whether the operator may write its objects, and they must be the same in each run.
    is_written: bool,
}

impl Kinds {
    /// Asks the API server. `grants` is what the operator may do.
    pub(super) async fn ask(
        client: Client,
        grants: &BTreeSet<(Role, Grant)>,
    ) -> kube::Result<Self> {
        let discovery = Discovery::new(client).run().await?;
        let resources = discovery
            .groups()
            // Also those kinds that the preferred version of their group lacks.
            .flat_map(|group| group.resources_by_stability());
        let all = resources.map(|(resource, capabilities)| {
            let key = (resource.group.as_str(), resource.plural.as_str());
            let is_written = capabilities.supports_operation(verbs::LIST)
                && is_compared(key.0, key.1)
                && grants.iter().any(|(role, grant)| {
                    // The certificates of webhooks are those of the environment.
                    !role.is_for_certificates() && grant.allows_a_write_of(key.0, key.1)
                });
            let is_namespaced = capabilities.scope == Scope::Namespaced;
            Kind {
                resource,
                is_namespaced,
                is_written,
            }
        });
        Ok(Self(all.collect()))
    }

    /// The kinds that the operator may write, and that are compared.
    pub(super) fn written(&self) -> impl Iterator<Item = &ApiResource> {
        let written = self.0.iter().filter(|kind| kind.is_written);
        written.map(|kind| &kind.resource)
    }

    /// Whether the operator may write objects that are in no namespace, so that two runs at once would get into each
    /// other's way.
    pub(super) fn need_a_cluster(&self) -> bool {
        let mut all = self.0.iter();
        all.any(|kind| kind.is_written && !kind.is_namespaced)
    }

    pub(super) fn namespaced(&self) -> Arc<Resources> {
        let all = self.0.iter().filter(|kind| kind.is_namespaced);
        let all =
            all.map(|Kind { resource, .. }| (resource.group.clone(), resource.plural.clone()));
        Arc::new(all.collect())
    }

    /// The objects of a kind: those in `namespace`, or all if it is `None` or the kind has no namespaces.
    pub(super) fn api(
        &self,
        client: &Client,
        resource: &ApiResource,
        namespace: Option<&str>,
    ) -> Api<DynamicObject> {
        let mut namespaced = self.0.iter().filter(|kind| kind.is_namespaced);
        let is_same = |kind: &Kind| {
            (&kind.resource.group, &kind.resource.plural) == (&resource.group, &resource.plural)
        };
        match namespace.filter(|_| namespaced.any(is_same)) {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, resource),
            None => Api::all_with(client.clone(), resource),
        }
    }

    /// The kind of a document, in the version of the document, and whether it has namespaces.
    pub(super) fn of(&self, document: &Value) -> Option<(ApiResource, bool)> {
        let (api_version, kind) = (document["apiVersion"].as_str()?, document["kind"].as_str()?);
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let found = self
            .0
            .iter()
            .find(|Kind { resource, .. }| resource.group == group && resource.kind == kind)?;
        let resource = ApiResource {
            version: version.to_owned(),
            api_version: api_version.to_owned(),
            ..found.resource.clone()
        };
        Some((resource, found.is_namespaced))
    }
}
