// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The roles bound to the manager, as in `config/default`.

use std::collections::BTreeSet;
use std::fmt;

use k8s_openapi::api::authorization::v1::ResourceRule;
use kube::api::ApiResource;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::audit::AuditedRequest;
use super::grants::{Grant, items};
use super::install::{Account, Manifests};
use super::namespaces::resource;

/// A role that is bound to the manager.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Role {
    kind: String,
    /// The namespace in which it is bound, if not in all.
    namespace: Option<String>,
    name: String,
}

impl Role {
    fn of(binding: &Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let role = &binding["roleRef"];
        Self {
            kind: text(&role["kind"]).unwrap_or_default(),
            namespace: text(&binding["metadata"]["namespace"]),
            name: text(&role["name"]).unwrap_or_default(),
        }
    }

    /// Whether it is a role that `kbr manifests` writes for a manager that makes its certificates itself.
    pub(super) fn is_for_certificates(&self) -> bool {
        self.name.ends_with("-certificates-role")
    }

    fn is(&self, document: &Value) -> bool {
        let metadata = &document["metadata"];
        document["kind"] == self.kind
            && metadata["name"] == self.name
            && (self.kind != "Role" || metadata["namespace"].as_str() == self.namespace.as_deref())
    }

    /// Whether it applies in the namespace of a request.
    #[cfg_attr(
        not(feature = "manager"),
        allow(dead_code, reason = "only for a running operator")
    )]
    pub(super) fn is_bound_for(&self, request: &AuditedRequest) -> bool {
        self.namespace.is_none() || self.namespace == request.namespace
    }
}

impl fmt::Display for Role {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} `{}`", self.kind, self.name)
    }
}

impl Manifests {
    /// The rules for resources of each role that is bound to the manager in a namespace, or
    /// cluster-wide.
    pub(super) fn bound_rules(&self, here: &str) -> impl Iterator<Item = ResourceRule> {
        let is_here = move |binding: &&Value| {
            binding["kind"] == "ClusterRoleBinding" || binding["metadata"]["namespace"] == here
        };
        let roles = self.bindings().filter(is_here).map(Role::of);
        let rules = roles.flat_map(|role| self.rules(&role));
        rules
            .filter(|rule| rule["resources"].is_array())
            .filter_map(|rule| serde_json::from_value(rule.clone()).ok())
            .map(|rule: ResourceRule| ResourceRule {
                // The API server leaves out an empty list.
                resource_names: rule.resource_names.filter(|names| !names.is_empty()),
                ..rule
            })
    }

    /// The roles bound to the manager, in any namespace.
    pub(super) fn roles(&self) -> BTreeSet<Role> {
        self.bindings().map(Role::of).collect()
    }

    /// Whether `config/default` defines a role.
    pub(super) fn has(&self, role: &Role) -> bool {
        self.documents.iter().any(|document| role.is(document))
    }

    /// All permissions of the manager, each once, with the role that grants it.
    pub(super) fn grants(&self) -> BTreeSet<(Role, Grant)> {
        let roles = self.roles().into_iter();
        let grants = roles.flat_map(|role| {
            let grants = self.rules(&role).flat_map(Grant::all);
            grants
                .map(|grant| (role.clone(), grant))
                .collect::<Vec<_>>()
        });
        grants.collect()
    }

    /// The same for a manager that watches these namespaces instead of those that it is deployed to watch.
    #[cfg(feature = "manager")]
    pub(super) fn grants_with(&self, watched: &[String]) -> BTreeSet<(Role, Grant)> {
        let mut grants = self.grants();
        let is_watched = |role: &Role| {
            role.namespace.is_some() && role.namespace.as_deref() == self.first_watched()
        };
        let copied: Vec<_> = grants
            .iter()
            .filter(|(role, _)| is_watched(role))
            .cloned()
            .collect();
        for name in watched {
            grants.extend(copied.iter().map(|(role, grant)| {
                let namespace = Some(name.clone());
                (
                    Role {
                        namespace,
                        ..role.clone()
                    },
                    grant.clone(),
                )
            }));
        }
        grants
    }

    /// The objects that grant the manager permissions in a namespace that it is deployed to watch:
    /// Roles, and the bindings of Roles and ClusterRoles there. They are the same in all of these
    /// namespaces.
    pub(super) fn granted_where_watched(&self) -> Vec<(ApiResource, &Value)> {
        let is_watched_first =
            |object: &Value| object["metadata"]["namespace"].as_str() == self.first_watched();
        let bindings: Vec<_> = self
            .bindings()
            .filter(|binding| is_watched_first(binding))
            .collect();
        let bound: Vec<_> = bindings.iter().map(|binding| Role::of(binding)).collect();
        let roles = self
            .documents
            .iter()
            .filter(|object| object["kind"] == "Role" && bound.iter().any(|role| role.is(object)));
        let all = roles.chain(bindings);
        all.filter_map(|object| Some((resource(object)?, object)))
            .collect()
    }

    /// Removes one permission from a role, and nothing else.
    pub(super) fn leave_out(&mut self, role: &Role, grant: &Grant) {
        for document in self
            .documents
            .iter_mut()
            .filter(|document| role.is(document))
        {
            let rules = items(&document["rules"]).flat_map(|rule| grant.out_of(rule));
            document["rules"] = rules.collect();
        }
    }

    fn bindings(&self) -> impl Iterator<Item = &Value> {
        let Account { namespace, name } = &self.account;
        let is_manager = move |subject: &Value| {
            subject["kind"] == "ServiceAccount"
                && subject["namespace"] == *namespace
                && subject["name"] == *name
        };
        let bindings = self.documents.iter().filter(|document| {
            document["kind"] == "ClusterRoleBinding" || document["kind"] == "RoleBinding"
        });
        // The manager has the same permissions in all namespaces that it watches: one represents
        // them.
        let others = self.watched.get(1..).unwrap_or_default();
        let is_other = move |binding: &Value| {
            others
                .iter()
                .any(|name| binding["metadata"]["namespace"] == *name)
        };
        bindings.filter(move |binding| {
            items(&binding["subjects"]).any(is_manager) && !is_other(binding)
        })
    }

    fn rules(&self, role: &Role) -> impl Iterator<Item = &Value> + use<'_> {
        let document = self.documents.iter().find(|document| role.is(document));
        document
            .into_iter()
            .flat_map(|document| items(&document["rules"]))
    }
}
