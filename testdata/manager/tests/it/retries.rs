// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Errors that determine when their object is retried.

use std::time::Duration;

use api::v1::{Failure, Task, TaskSpec};
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::support::{Operator, create, is_reconciled, servers, until};

fn spec(failure: Failure) -> TaskSpec {
    TaskSpec {
        failure: Some(failure),
        ..TaskSpec::default()
    }
}

async fn change(api: &Api<Task>, name: &str, change: Value) {
    let params = PatchParams::default();
    api.patch(name, &params, &Patch::Merge(change))
        .await
        .unwrap();
}

#[tokio::test]
async fn after_a_terminal_error_an_object_is_left_alone_until_it_changes() {
    const MESSAGE: &str = "reconcile failed: not retried until the object changes";
    let namespace = servers().namespace().await;
    let api = Api::<Task>::namespaced(servers().admin(), &namespace);
    let mut operator = Operator::start(servers(), &namespace, &[]);
    create(&api, "task", spec(Failure::Terminal)).await;
    let failed = operator.logged(MESSAGE);
    assert_eq!(failed["level"], "ERROR");
    assert_eq!(failed["error"], "the spec wants it");

    // The growing delay would have caused eight more attempts. Each list causes one.
    sleep(Duration::from_secs(2)).await;
    let before = operator.lines(MESSAGE).len();
    assert!(before <= 3, "{before}");

    let label = json!({ "metadata": { "labels": { "a": "b" } } });
    change(&api, "task", label).await;
    until("another attempt", || {
        (operator.lines(MESSAGE).len() > before).then_some(())
    });
    change(&api, "task", json!({ "spec": { "failure": null } })).await;
    servers().wait_for(&api, "task", is_reconciled).await;
}

#[tokio::test]
async fn an_error_with_a_delay_is_retried_after_that_delay_each_time() {
    let namespace = servers().namespace().await;
    let api = Api::<Task>::namespaced(servers().admin(), &namespace);
    let operator = Operator::start(servers(), &namespace, &[]);
    create(&api, "task", spec(Failure::Late)).await;

    let lines = until("four attempts", || {
        let lines = operator.lines("reconcile failed");
        (lines.len() >= 4).then_some(lines)
    });

    // With the growing delay they would take only 35 ms. Each list causes one.
    let time = |line: &Value| -> Timestamp { line["timestamp"].as_str().unwrap().parse().unwrap() };
    let seconds = time(&lines[3]).duration_since(time(&lines[0]));
    assert!(seconds.as_secs_f64() >= 4.9, "{seconds}");
}
