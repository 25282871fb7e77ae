// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The controller of `Deployment` objects, which are Kubernetes' own, on a real API server.

use std::time::{Duration, Instant};

use kube::Api;
use kube::api::PostParams;
use serde_json::json;

use crate::env;

type Object = k8s_openapi::api::apps::v1::Deployment;

/// The metric that counts successful reconciles.
const RECONCILED: &str =
    r#"controller_runtime_reconcile_total{controller="apps-deployment",result="success"} "#;

/// How long to wait for a reconcile: far longer than one takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many reconciles of this controller have succeeded.
async fn reconciled() -> u64 {
    let metrics = env().scrape().await;
    let mut values = metrics
        .lines()
        .filter_map(|line| line.strip_prefix(RECONCILED));
    values.next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn an_object_that_is_created_is_reconciled() {
    let api = Api::<Object>::namespaced(env().admin(), &env().namespace().await);
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
    let object: Object = serde_json::from_value(object).unwrap();
    let before = reconciled().await;

    api.create(&PostParams::default(), &object).await.unwrap();

    let start = Instant::now();
    while reconciled().await == before {
        assert!(start.elapsed() < PATIENCE, "no reconcile in {PATIENCE:?}");
    }
}
