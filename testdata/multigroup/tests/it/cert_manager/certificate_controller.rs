// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The controller of `Certificate` objects, which are another operator's, on a real API server.

use std::time::{Duration, Instant};

use kube::api::PostParams;
use kube::{Api, ResourceExt};

use crate::env;

type Object = api::external::cert_manager_io::v1::Certificate;

const SAMPLE: &str = "tests/external/samples/cert-manager_v1_certificate.yaml";

/// The metric that counts successful reconciles.
const RECONCILED: &str = r#"controller_runtime_reconcile_total{controller="cert-manager-certificate",result="success"} "#;

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
    let object = env().sample(&api, SAMPLE).await;
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
