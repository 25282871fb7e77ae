// Copyright The scaffold authors
// SPDX-License-Identifier: Apache-2.0

//! Which requests for `Pod` objects of `v1` a policy refuses, on a real API server.
//!
//! The policy is `config/policy/core_v1_pod_validating.yaml`.

use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::env;

type Object = k8s_openapi::api::core::v1::Pod;

const ANNOTATION: &str = "tutorial.kubebuilder.io/protected";

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

#[tokio::test]
async fn a_protected_object_is_deleted_only_without_the_annotation() {
    let api = api().await;
    let mut object = sample();
    object
        .annotations_mut()
        .insert(ANNOTATION.to_owned(), "true".to_owned());
    let created = api.create(&PostParams::default(), &object).await.unwrap();
    let name = created.name_any();

    let refused = api.delete(&name, &DeleteParams::default()).await;
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("must be removed first"), "{message}");

    let removed = Patch::Merge(json!({ "metadata": { "annotations": { ANNOTATION: null } } }));
    api.patch(&name, &PatchParams::default(), &removed)
        .await
        .unwrap();
    api.delete(&name, &DeleteParams::default()).await.unwrap();
}
