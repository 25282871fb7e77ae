// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The controller of `Deployment` objects, which are Kubernetes' own, on a real API server.

use std::time::{Duration, Instant};

use kube::api::PostParams;
use kube::{Api, ResourceExt};
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

/// Creates an object, in a namespace of its own.
async fn create() -> (Api<Object>, Object) {
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
    let object = api.create(&PostParams::default(), &object).await.unwrap();
    (api, object)
}

#[tokio::test]
async fn an_object_that_is_created_is_reconciled() {
    let before = reconciled().await;

    create().await;

    let start = Instant::now();
    while reconciled().await == before {
        assert!(start.elapsed() < PATIENCE, "no reconcile in {PATIENCE:?}");
    }
}

#[tokio::test]
async fn an_event_tells_of_an_object_that_cannot_be_read() {
    let (api, object) = create().await;

    let event = env().report_unreadable(&api, &object.name_any()).await;

    assert_eq!(event.reason.unwrap(), "Unreadable");
}
