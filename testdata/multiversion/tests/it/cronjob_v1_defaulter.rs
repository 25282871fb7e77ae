// Copyright The multiversion authors
// SPDX-License-Identifier: Apache-2.0

//! The defaults of `CronJob` objects of `v1`, on a real API server.

use api::v1;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::env;

type Object = v1::CronJob;

const SAMPLE: &str = "config/samples/batch_v1_cronjob.yaml";

/// The metric that counts what the webhook has answered.
const ANSWERED: &str = r#"controller_runtime_webhook_requests_total{webhook="/mutate-batch-tutorial-kubebuilder-io-v1-cronjob",code="200"} "#;

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
