// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The defaults of `Deployment` objects of `v1`, on a real API server.

use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::env;

type Object = k8s_openapi::api::apps::v1::Deployment;

/// The metric that counts what the webhook has answered.
const ANSWERED: &str = r#"controller_runtime_webhook_requests_total{webhook="/mutate-apps-v1-deployment",code="200"} "#;

/// An object that the API server accepts.
fn sample() -> Object {
    let object = json!({
        "metadata": { "name": "sample" },
        "spec": {
            "selector": { "matchLabels": { "app": "main" } },
            "template": {
                "metadata": { "labels": { "app": "main" } },
                "spec": { "containers": [{ "name": "main", "image": "main" }] },
            },
        }
    });
    serde_json::from_value(object).unwrap()
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
async fn the_webhook_is_called_for_a_new_object_and_for_a_change() {
    let api = api().await;
    let before = answered().await;

    // Check here that `created` has its defaults, and that `changed` has those that were removed.
    let created = api.create(&PostParams::default(), &sample()).await.unwrap();
    let after_create = answered().await;
    let label = Patch::Merge(json!({ "metadata": { "labels": { "touched": "true" } } }));
    let changed = api
        .patch(&created.name_any(), &PatchParams::default(), &label)
        .await
        .unwrap();

    assert_eq!(changed.labels()["touched"], "true");
    assert!(before < after_create);
    assert!(after_create < answered().await);
}
