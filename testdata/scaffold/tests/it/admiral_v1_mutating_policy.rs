// Copyright The scaffold authors
// SPDX-License-Identifier: Apache-2.0

//! What a policy changes in `Admiral` objects of `v1`, on a real API server.
//!
//! The policy is `config/policy/batch_v1_admiral_mutating.yaml`.

use api::v1;
use kube::api::PostParams;
use kube::{Api, ResourceExt};

use crate::env;

type Object = v1::Admiral;

const SAMPLE: &str = "config/samples/batch_v1_admiral.yaml";

const ANNOTATION: &str = "tutorial.kubebuilder.io/created-by";

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

#[tokio::test]
async fn a_new_object_has_the_name_of_its_creator() {
    let api = api().await;

    let created = api.create(&PostParams::default(), &sample()).await.unwrap();

    assert_ne!(created.annotations()[ANNOTATION], "");
}
