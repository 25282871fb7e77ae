// Copyright The scaffold authors
// SPDX-License-Identifier: Apache-2.0

//! Which `Pod` objects of `v1` are rejected, on a real API server.

use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::env;

type Object = k8s_openapi::api::core::v1::Pod;

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
async fn a_valid_object_is_admitted_and_so_is_a_change_to_it() {
    let api = api().await;
    let created = api.create(&PostParams::default(), &sample()).await.unwrap();

    let label = Patch::Merge(json!({ "metadata": { "labels": { "touched": "true" } } }));
    let changed = api
        .patch(&created.name_any(), &PatchParams::default(), &label)
        .await
        .unwrap();

    assert_eq!(changed.labels()["touched"], "true");
}

#[tokio::test]
async fn a_name_that_is_too_long_is_rejected_with_its_path() {
    let mut object = sample();
    object.metadata.name = Some("a".repeat(64));

    let refused = api().await.create(&PostParams::default(), &object).await;

    let Err(kube::Error::Api(status)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"));
    let causes = status.details.unwrap().causes;
    assert_eq!(causes.len(), 1, "{causes:?}");
    assert_eq!(causes[0].field, "metadata.name");
    assert!(causes[0].message.starts_with("Too long: "), "{causes:?}");
}
