// Copyright The namespaced authors
// SPDX-License-Identifier: Apache-2.0

//! Which `Order` objects of `v1` are rejected, on a real API server.

use api::v1;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::env;

type Object = v1::Order;

const SAMPLE: &str = "config/samples/shop_v1_order.yaml";

/// The metric that counts what the webhook has answered.
const ANSWERED: &str = r#"controller_runtime_webhook_requests_total{webhook="/validate-shop-example-com-v1-order",code="200"} "#;

fn sample() -> Object {
    env().read(SAMPLE)
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
    Api::namespaced(env().admin(), &env().namespace().await)
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
