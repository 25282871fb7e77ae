// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Objects from YAML files, such as samples.

use std::any::type_name;
use std::path::Path;

use kube::core::GroupVersionKind;
use kube::discovery::{Scope, pinned_kind};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::TestEnv;
use super::control_plane::kube_message;
use super::install::apply;

impl TestEnv {
    /// Reads an object from a YAML file, such as a sample. `path` is relative to the project's folder.
    ///
    /// If the file has several documents, such as a Secret before the object, it is the first one whose `kind` is the
    /// name of the type; the others are ignored. [`TestEnv::sample`] applies them.
    ///
    /// # Panics
    ///
    /// When the file cannot be read, has several documents but none of that kind, or does not match the type. A file for
    /// a [`DynamicObject`](kube::api::DynamicObject) must have one document.
    #[must_use]
    pub fn read<K: DeserializeOwned>(&self, path: impl AsRef<Path>) -> K {
        read(self.project.join(path))
    }

    /// Like [`TestEnv::read`], but first applies the other documents of the file, as `kubectl apply` does: in the
    /// namespace of `api` if they name none, or in `default` for a kind that is in none.
    ///
    /// ```no_run
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use kbr_testing::TestEnv;
    /// # use kube::{Api, api::PostParams};
    /// # async fn create(env: &TestEnv) -> kube::Result<Pod> {
    /// let api = Api::<Pod>::namespaced(env.admin(), &env.namespace().await);
    /// let pod = env.sample(&api, "config/samples/pod_with_its_secret.yaml").await;
    /// api.create(&PostParams::default(), &pod).await
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// Like [`TestEnv::read`], and when the API server refuses one of the other documents.
    pub async fn sample<K>(&self, api: &Api<K>, path: impl AsRef<Path>) -> K
    where
        K: DeserializeOwned + Resource,
    {
        let path = self.project.join(path);
        let (object, others) = split(&path);
        let client = self.admin();
        for other in others {
            let applied = apply_in(&client, api.namespace().unwrap_or("default"), other).await;
            applied.unwrap_or_else(|reason| panic!("{}: {reason}", path.display()));
        }
        object
    }
}

/// Like [`TestEnv::read`], for tests without an API server.
///
/// # Panics
///
/// When the file cannot be read, has several documents but none of that kind, or does not match the type.
#[must_use]
pub fn read<K: DeserializeOwned>(path: impl AsRef<Path>) -> K {
    split(path.as_ref()).0
}

/// The object in a file, and the other documents of the file.
fn split<K: DeserializeOwned>(path: &Path) -> (K, Vec<Value>) {
    let object = std::fs::read_to_string(path).map_err(|error| error.to_string());
    let object = object.and_then(|text| split_text(&text));
    object.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn split_text<K: DeserializeOwned>(text: &str) -> Result<(K, Vec<Value>), String> {
    let mut documents: Vec<Value> =
        serde_saphyr::from_multiple(text).map_err(|error| error.to_string())?;
    if documents.len() < 2 {
        // Its errors have the line, unlike those of the documents above.
        let objects: Vec<K> =
            serde_saphyr::from_multiple(text).map_err(|error| error.to_string())?;
        let object = objects.into_iter().next().ok_or("it is empty")?;
        return Ok((object, Vec::new()));
    }
    let wanted = type_name::<K>().rsplit("::").next().unwrap_or_default();
    if wanted == "DynamicObject" {
        return Err(format!(
            "it has {} documents, and a `DynamicObject` may be any of them: read the type of the object, or give the object a file of its own",
            documents.len()
        ));
    }
    let kinds = documents.iter().map(|document| document["kind"].as_str());
    let kinds: Vec<_> = kinds.map(Option::unwrap_or_default).collect();
    let Some(index) = kinds.iter().position(|kind| *kind == wanted) else {
        let (count, kinds) = (kinds.len(), kinds.join(", "));
        return Err(format!(
            "it has {count} documents, of which one must have the kind `{wanted}`; they have: {kinds}"
        ));
    };
    let object = serde_json::from_value(documents.remove(index));
    let object = object.map_err(|error| format!("{wanted}: {error}"))?;
    Ok((object, documents))
}

/// Applies a document, in `namespace` if it is for a namespace but names none.
async fn apply_in(client: &Client, namespace: &str, mut document: Value) -> Result<(), String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text(&document["apiVersion"]), text(&document["kind"]));
    let name = text(&document["metadata"]["name"]);
    let refused = |error: kube::Error| {
        let reason = kube_message(error);
        format!("the API server refused {kind} {name}: {reason}")
    };
    let (group, version) = version.split_once('/').unwrap_or(("", &version));
    let kind = GroupVersionKind::gvk(group, version, &kind);
    let (resource, capabilities) = pinned_kind(client, &kind).await.map_err(refused)?;
    if capabilities.scope == Scope::Namespaced && document["metadata"]["namespace"].is_null() {
        document["metadata"]["namespace"] = json!(namespace);
    }
    let applied = apply(client, &resource, &name, &document).await;
    applied.map_err(refused)
}

#[cfg(test)]
mod tests;
