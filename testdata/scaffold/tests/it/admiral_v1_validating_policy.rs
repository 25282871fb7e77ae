// Copyright The scaffold authors
// SPDX-License-Identifier: Apache-2.0

//! Which requests for `Admiral` objects of `v1` a policy refuses, on a real API server.
//!
//! The policy is `config/policy/batch_v1_admiral_validating.yaml`.

use api::v1;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::env;

type Object = v1::Admiral;

const SAMPLE: &str = "config/samples/batch_v1_admiral.yaml";

const ANNOTATION: &str = "tutorial.kubebuilder.io/protected";

/// The sample, with a name that the API server generates.
fn sample() -> Object {
    let mut object: Object = env().read(SAMPLE);
    object.metadata.name = None;
    object.metadata.generate_name = Some("test-".to_owned());
    object
}

async fn api() -> Api<Object> {
    Api::all(env().admin())
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
