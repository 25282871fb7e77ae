// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The defaults of `Bar` objects of `v1`, on a real API server.

use api::fiz::v1;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::env;

type Object = v1::Bar;

const SAMPLE: &str = "config/samples/fiz_v1_bar.yaml";

const ANNOTATION: &str = "testproject.org/defaulted";

fn sample() -> Object {
    env().read(SAMPLE)
}

/// Creates `object`, in a namespace of its own.
async fn create(object: &Object) -> (Api<Object>, Object) {
    let api = Api::namespaced(env().admin(), &env().namespace().await);
    let created = api.create(&PostParams::default(), object).await.unwrap();
    (api, created)
}

#[tokio::test]
async fn a_new_object_gets_its_defaults() {
    let (_, created) = create(&sample()).await;

    assert_eq!(created.annotations()[ANNOTATION], "true");
}

#[tokio::test]
async fn a_value_that_is_set_is_kept() {
    let mut object = sample();
    let annotations = object.annotations_mut();
    annotations.insert(ANNOTATION.to_owned(), "by hand".to_owned());

    let (_, created) = create(&object).await;

    assert_eq!(created.annotations()[ANNOTATION], "by hand");
}

#[tokio::test]
async fn a_default_that_is_removed_is_set_again() {
    let (api, created) = create(&sample()).await;

    let without = Patch::Merge(json!({ "metadata": { "annotations": { ANNOTATION: null } } }));
    let changed = api
        .patch(&created.name_any(), &PatchParams::default(), &without)
        .await
        .unwrap();

    assert_eq!(changed.annotations()[ANNOTATION], "true");
}
