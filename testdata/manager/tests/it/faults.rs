// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Faults of the API server, or of the network before it: the operator continues as far as it can.

use std::io::Read;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use api::v1::{Task, TaskSpec};
use k8s_openapi::api::events::v1::Event;
use kbr_testing::FaultProxy;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Resource};
use serde_json::{Value, json};

use crate::support::{Operator, PATIENCE, create, create_and_wait, is_reconciled, servers, until};

/// The Tasks of a namespace, untyped.
fn untyped(namespace: &str) -> Api<DynamicObject> {
    let resource = ApiResource::erase::<Task>(&());
    Api::namespaced_with(servers().admin(), namespace, &resource)
}

async fn patch(namespace: &str, name: &str, spec: Value) {
    let patch = Patch::Merge(json!({ "spec": spec }));
    let params = PatchParams::default();
    untyped(namespace)
        .patch(name, &params, &patch)
        .await
        .unwrap();
}

/// Too large for the Rust type, but allowed by the CRD.
const TOO_MANY: i64 = 5_000_000_000;

#[tokio::test]
async fn an_unreadable_object_is_reported_and_does_not_affect_others() {
    let namespace = servers().namespace().await;
    let api = Api::<Task>::namespaced(servers().admin(), &namespace);
    let bad = json!({
        "apiVersion": Task::api_version(&()),
        "kind": Task::kind(&()),
        "metadata": {"name": "bad"},
        "spec": {"priority": TOO_MANY},
    });
    let bad: DynamicObject = serde_json::from_value(bad).unwrap();
    untyped(&namespace)
        .create(&PostParams::default(), &bad)
        .await
        .unwrap();

    let mut operator = Operator::start(servers(), &namespace, &["--log-level=error"]);

    let skipped = operator.logged("an object cannot be read and is skipped");
    assert_eq!(skipped["object"], format!("{namespace}/bad"));
    assert_eq!(skipped["field"], "spec.priority");
    let events = Api::<Event>::namespaced(servers().admin(), &namespace);
    let is_about_bad = |event: &Event| {
        let note = event.note.as_deref().unwrap_or_default();
        event.reason.as_deref() == Some("Unreadable") && note.contains("spec.priority")
    };
    let start = Instant::now();
    while !events
        .list(&ListParams::default())
        .await
        .unwrap()
        .iter()
        .any(is_about_bad)
    {
        assert!(start.elapsed() < PATIENCE, "no event about the object");
    }
    create_and_wait(servers(), &api, "good").await;

    // The newest version of an object counts, and not the last readable one.
    patch(
        &namespace,
        "good",
        json!({"panic": true, "priority": TOO_MANY}),
    )
    .await;
    operator.logged_with("an object cannot be read and is skipped", |line| {
        line["object"] == format!("{namespace}/good")
    });
    patch(
        &namespace,
        "good",
        json!({"panic": false, "priority": null}),
    )
    .await;
    patch(&namespace, "bad", json!({"priority": null})).await;
    servers().wait_for(&api, "good", is_reconciled).await;
    servers().wait_for(&api, "bad", is_reconciled).await;
    assert_eq!(operator.find("reconcile failed"), None);
    assert!(!operator.log().contains(&TOO_MANY.to_string()));
    assert!(operator.is_running());
}

#[tokio::test]
async fn a_missing_response_does_not_block_for_long() {
    let namespace = servers().namespace().await;
    let api = Api::<Task>::namespaced(servers().admin(), &namespace);
    let faults = FaultProxy::start(servers()).unwrap();
    let kubeconfig = faults.kubeconfig(servers().manager_kubeconfig()).unwrap();
    let flags = ["--request-timeout=10s"];
    let mut operator = Operator::start_with(&kubeconfig, servers(), &namespace, &flags);
    create_and_wait(servers(), &api, "before").await;

    faults.black_hole_requests(|request| {
        request.method == "PATCH" && request.path.contains("/swallowed/")
    });
    create(&api, "swallowed", TaskSpec::default()).await;
    until("a swallowed write", || (faults.hits() > 0).then_some(()));

    create_and_wait(servers(), &api, "after").await;
    let failed = operator.logged("reconcile failed");
    let error = failed["error"].as_str().unwrap();
    assert!(error.contains("no answer within 10s"), "{error}");
    faults.heal();
    servers().wait_for(&api, "swallowed", is_reconciled).await;
}

#[tokio::test]
async fn a_rejected_object_does_not_delay_others() {
    let namespace = servers().namespace().await;
    let api = Api::<Task>::namespaced(servers().admin(), &namespace);
    let faults = FaultProxy::start(servers()).unwrap();
    let kubeconfig = faults.kubeconfig(servers().manager_kubeconfig()).unwrap();
    let mut operator = Operator::start_with(&kubeconfig, servers(), &namespace, &[]);
    create_and_wait(servers(), &api, "before").await;

    faults.refuse(
        |request| request.path.contains("/refused/"),
        429,
        Some(Duration::from_secs(60)),
    );
    create(&api, "refused", TaskSpec::default()).await;
    let failed = operator.logged("reconcile failed");

    // Not all operators at once.
    let retry_in = failed["retry_in"].as_str().unwrap();
    let retry_in: f64 = retry_in.strip_suffix('s').unwrap().parse().unwrap();
    assert!((60.0..=80.0).contains(&retry_in), "{failed}");
    let start = Instant::now();
    for name in ["a", "b", "c"] {
        create_and_wait(servers(), &api, name).await;
    }
    assert!(
        start.elapsed() < Duration::from_secs(60),
        "{:?}",
        start.elapsed()
    );
}

#[tokio::test]
async fn the_proxy_in_the_environment_is_used_unless_the_cluster_is_excluded() {
    let namespace = servers().namespace().await;
    let api = Api::<Task>::namespaced(servers().admin(), &namespace);
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    let start = |variables: &[(&str, &str)]| {
        let kubeconfig = servers().manager_kubeconfig();
        Operator::start_in(variables, kubeconfig, servers(), &namespace, &[])
    };

    let through = start(&[("HTTPS_PROXY", &address)]);
    let mut method = [0; 7];
    proxy.accept().unwrap().0.read_exact(&mut method).unwrap();
    assert_eq!(&method, b"CONNECT");
    drop(through);

    let _past = start(&[("HTTPS_PROXY", &address), ("NO_PROXY", "127.0.0.0/8")]);
    create_and_wait(servers(), &api, "sample").await;
}

#[tokio::test]
async fn the_operator_recovers_from_a_black_hole() {
    let namespace = servers().namespace().await;
    let api = Api::<Task>::namespaced(servers().admin(), &namespace);
    let faults = FaultProxy::start(servers()).unwrap();
    let kubeconfig = faults.kubeconfig(servers().manager_kubeconfig()).unwrap();
    let mut operator = Operator::start_with(&kubeconfig, servers(), &namespace, &[]);
    create_and_wait(servers(), &api, "before").await;

    faults.black_hole();
    create(&api, "after", TaskSpec::default()).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    // Swallowed bytes stay lost.
    faults.heal();

    servers().wait_for(&api, "after", is_reconciled).await;
    assert!(operator.is_running());
}

#[tokio::test]
async fn the_operator_can_be_stopped_in_a_black_hole() {
    let namespace = servers().namespace().await;
    let api = Api::<Task>::namespaced(servers().admin(), &namespace);
    let faults = FaultProxy::start(servers()).unwrap();
    let kubeconfig = faults.kubeconfig(servers().manager_kubeconfig()).unwrap();
    let mut operator = Operator::start_with(&kubeconfig, servers(), &namespace, &[]);
    create_and_wait(servers(), &api, "before").await;
    operator.logged("status written");
    faults.black_hole();

    operator.signal("TERM");

    let start = Instant::now();
    assert_eq!(operator.ended().code(), Some(0));
    assert!(start.elapsed() < PATIENCE);
}

#[tokio::test]
async fn the_operator_can_be_stopped_during_a_write_that_is_not_answered() {
    let namespace = servers().namespace().await;
    let api = Api::<Task>::namespaced(servers().admin(), &namespace);
    let faults = FaultProxy::start(servers()).unwrap();
    let kubeconfig = faults.kubeconfig(servers().manager_kubeconfig()).unwrap();
    let grace = Duration::from_secs(10);
    let flags = ["--graceful-shutdown-timeout=10s"];
    let mut operator = Operator::start_with(&kubeconfig, servers(), &namespace, &flags);
    create_and_wait(servers(), &api, "before").await;
    faults.black_hole_requests(|request| request.method == "PATCH");
    create(&api, "swallowed", TaskSpec::default()).await;
    until("a swallowed write", || (faults.hits() > 0).then_some(()));

    operator.signal("TERM");

    let start = Instant::now();
    assert_eq!(operator.ended().code(), Some(0));
    assert!(start.elapsed() < grace, "{:?}", start.elapsed());
    let failed = operator.find("reconcile failed").unwrap();
    let error = failed["error"].as_str().unwrap();
    assert!(error.contains("the process ends"), "{error}");
}
