// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Namespaces for tests of an operator that watches individual namespaces instead of the cluster.
//!
//! It must know them when it starts, so they are all created first. In each, the manager gets the
//! permissions that it has in a namespace that it is deployed to watch.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::try_join_all;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{ApiResource, ObjectMeta, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::grants::items;
use super::install::{Manifests, apply};

/// Which namespaces the operator watches in an environment.
#[derive(Clone, Debug)]
pub(super) enum Wanted {
    /// This many, with generated names.
    Many(usize),
    Named(Vec<String>),
}

/// Namespaces that the operator watches.
pub(super) struct Pool {
    /// What the manager is granted in each of them.
    granted: Vec<(ApiResource, Value)>,
    names: Vec<String>,
    taken: AtomicUsize,
}

impl Pool {
    /// Creates the namespaces, and the manager's permissions in them.
    pub(super) async fn create(
        client: &Client,
        manifests: &Manifests,
        wanted: &Wanted,
    ) -> kube::Result<Self> {
        let granted = manifests.granted_where_watched().into_iter();
        let granted = granted.map(|(resource, document)| (resource, document.clone()));
        let mut pool = Self {
            granted: granted.collect(),
            names: Vec::new(),
            taken: AtomicUsize::new(0),
        };
        let name_one = async |name: &String| {
            ensure(client, name).await?;
            pool.grant(client, name).await?;
            Ok::<_, kube::Error>(name.clone())
        };
        pool.names = match wanted {
            Wanted::Many(count) => try_join_all((0..*count).map(|_| pool.add(client))).await?,
            Wanted::Named(names) => try_join_all(names.iter().map(name_one)).await?,
        };
        Ok(pool)
    }

    /// Creates another namespace like these, and the manager's permissions in it, and returns the name.
    pub(super) async fn add(&self, client: &Client) -> kube::Result<String> {
        let name = generate(client).await?;
        self.grant(client, &name).await?;
        Ok(name)
    }

    async fn grant(&self, client: &Client, namespace: &str) -> kube::Result<()> {
        for (resource, document) in &self.granted {
            let mut copy = document.clone();
            copy["metadata"]["namespace"] = json!(namespace);
            let object = copy["metadata"]["name"].as_str().unwrap_or_default();
            apply(client, resource, object, &copy).await?;
        }
        Ok(())
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns a namespace that was not taken before.
    ///
    /// # Panics
    ///
    /// When there is none.
    pub(super) fn take(&self) -> String {
        let next = self.taken.fetch_add(1, Ordering::Relaxed);
        let Some(name) = self.names.get(next) else {
            let all = self.names.len();
            panic!(
                "all {all} namespaces that the operator watches are taken: start the environment with \
                 more, with `TestEnv::builder(..).namespaces({})`",
                (all * 2).max(1)
            );
        };
        name.clone()
    }
}

/// The namespaces that the variable `WATCH_NAMESPACE` of the manager's container names, its own first;
/// none without that variable.
pub(super) fn watched(container: Option<&Value>, own: &str) -> Vec<String> {
    let mut variables = container
        .into_iter()
        .flat_map(|container| items(&container["env"]));
    let Some(variable) = variables.find(|variable| variable["name"] == "WATCH_NAMESPACE") else {
        return Vec::new();
    };
    // Without a value, it comes from the pod's metadata.
    let names = variable["value"].as_str().unwrap_or(own);
    let mut names: Vec<String> = names.split(',').map(str::to_owned).collect();
    // The first one represents all: in its own namespace, the manager has permissions that it does not
    // have in the others.
    names.sort_by_key(|name| name != own);
    names
}

/// Creates a namespace with a generated name, and returns the name.
pub(super) async fn generate(client: &Client) -> kube::Result<String> {
    let namespace = Namespace {
        metadata: ObjectMeta {
            generate_name: Some("test-".to_owned()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    let api = Api::<Namespace>::all(client.clone());
    let created = api.create(&PostParams::default(), &namespace).await?;
    Ok(created.metadata.name.unwrap_or_default())
}

/// Creates a namespace if it does not exist.
pub(super) async fn ensure(client: &Client, name: &str) -> kube::Result<()> {
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    apply(
        client,
        &ApiResource::erase::<Namespace>(&()),
        name,
        &namespace,
    )
    .await
}

/// The API resource of a document that grants something in a namespace.
pub(super) fn resource(document: &Value) -> Option<ApiResource> {
    match document["kind"].as_str()? {
        "Role" => Some(ApiResource::erase::<Role>(&())),
        "RoleBinding" => Some(ApiResource::erase::<RoleBinding>(&())),
        _ => None,
    }
}
