// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Errors that say when their object is tried again.

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

    // The growing delay would have brought eight more attempts.
    sleep(Duration::from_secs(2)).await;
    assert_eq!(operator.lines(MESSAGE).len(), 1);

    let label = json!({ "metadata": { "labels": { "a": "b" } } });
    change(&api, "task", label).await;
    until("another attempt", || {
        (operator.lines(MESSAGE).len() == 2).then_some(())
    });
    change(&api, "task", json!({ "spec": { "failure": null } })).await;
    servers().wait_for(&api, "task", is_reconciled).await;
}

#[tokio::test]
async fn an_error_that_states_a_delay_is_retried_after_that_delay_each_time() {
    let namespace = servers().namespace().await;
    let api = Api::<Task>::namespaced(servers().admin(), &namespace);
    let operator = Operator::start(servers(), &namespace, &[]);
    create(&api, "task", spec(Failure::Late)).await;

    let lines = until("three attempts", || {
        let lines = operator.lines("reconcile failed");
        (lines.len() >= 3).then_some(lines)
    });

    let times: Vec<Timestamp> = lines
        .iter()
        .map(|line| line["timestamp"].as_str().unwrap().parse().unwrap())
        .collect();
    for pair in times.windows(2) {
        let seconds = pair[1].duration_since(pair[0]).as_secs_f64();
        assert!((4.9..60.0).contains(&seconds), "{seconds}");
    }
}
