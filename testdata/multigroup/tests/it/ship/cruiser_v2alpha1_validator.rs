// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! Which `Cruiser` objects of `v2alpha1` are rejected, on a real API server.

use api::ship::v2alpha1;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::env;

type Object = v2alpha1::Cruiser;

const SAMPLE: &str = "config/samples/ship_v2alpha1_cruiser.yaml";

/// The metric that counts what the webhook has answered.
const ANSWERED: &str = r#"controller_runtime_webhook_requests_total{webhook="/validate-ship-testproject-org-v2alpha1-cruiser",code="200"} "#;

/// The sample, with a name that the API server generates.
fn sample() -> Object {
    let mut object: Object = env().read(SAMPLE);
    object.metadata.name = None;
    object.metadata.generate_name = Some("test-".to_owned());
    object
}

/// How often the API server has called the webhook.
async fn answered() -> u64 {
    let metrics = env().scrape().await;
    let mut values = metrics
        .lines()
        .filter_map(|line| line.strip_prefix(ANSWERED));
    values.next().unwrap().parse().unwrap()
}

async fn api() -> Api<Object> {
    Api::all(env().admin())
}

#[tokio::test]
async fn a_valid_object_is_admitted_and_so_is_a_change_to_it() {
    let api = api().await;
    let before = answered().await;

    let created = api.create(&PostParams::default(), &sample()).await.unwrap();
    let after_create = answered().await;
    let label = Patch::Merge(json!({ "metadata": { "labels": { "touched": "true" } } }));
    let changed = api
        .patch(&created.name_any(), &PatchParams::default(), &label)
        .await
        .unwrap();

    assert_eq!(changed.labels()["touched"], "true");
    // The webhook was asked about both.
    assert!(before < after_create);
    assert!(after_create < answered().await);
}

// Add a test for each rule here: the API server rejects an object that breaks it, with the path of
// its field in `details.causes` of the status.
