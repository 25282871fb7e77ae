// Copyright The scaffold authors
// SPDX-License-Identifier: Apache-2.0

//! Which requests for `Pod` objects of `v1` a policy refuses, on a real API server.
//!
//! The policy is `config/policy/core_v1_pod_validating.yaml`.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::env;

type Object = k8s_openapi::api::core::v1::Pod;

const ANNOTATION: &str = "tutorial.kubebuilder.io/protected";

/// How long to wait for the policy: far longer than it takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// An object that the API server accepts.
fn sample() -> Object {
    let object = json!({
        "metadata": { "name": "sample" },
        "spec": { "containers": [{ "name": "main", "image": "main" }] }
    });
    serde_json::from_value(object).unwrap()
}

async fn api() -> Api<Object> {
    Api::namespaced(env().admin(), &env().namespace().await)
}

/// Creates an object that is protected, and returns its name.
async fn create_protected(api: &Api<Object>) -> String {
    let mut object = sample();
    object
        .annotations_mut()
        .insert(ANNOTATION.to_owned(), "true".to_owned());
    let created = api.create(&PostParams::default(), &object).await.unwrap();
    created.name_any()
}

#[tokio::test]
async fn a_protected_object_is_deleted_only_without_the_annotation() {
    let api = api().await;
    let name = create_protected(&api).await;

    let refused = api.delete(&name, &DeleteParams::default()).await;
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("must be removed first"), "{message}");

    let removed = Patch::Merge(json!({ "metadata": { "annotations": { ANNOTATION: null } } }));
    api.patch(&name, &PatchParams::default(), &removed)
        .await
        .unwrap();
    api.delete(&name, &DeleteParams::default()).await.unwrap();
}

#[tokio::test]
async fn a_protected_object_is_deleted_with_its_namespace() {
    let namespace = env().namespace().await;
    let api = Api::<Object>::namespaced(env().admin(), &namespace);
    let name = create_protected(&api).await;
    let namespaces = Api::<Namespace>::all(env().admin());

    namespaces
        .delete(&namespace, &DeleteParams::default())
        .await
        .unwrap();

    // The policy knows it a moment later.
    let start = Instant::now();
    while let Err(error) = api.delete(&name, &DeleteParams::default()).await {
        assert!(start.elapsed() < PATIENCE, "{error}");
    }
}
