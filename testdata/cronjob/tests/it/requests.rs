// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! Which requests the operator sends, according to the audit log of the API server.

use std::time::Duration;

use kbr_testing::AuditedRequest;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tokio::time::sleep;

use crate::clock::{HOUR, Timed, timed};
use crate::support::{HOURLY, World};

/// All requests up to now except watches: those in the namespace, and lists of all namespaces. The
/// last is the write of the status with which [`World::settle`] ends.
async fn requests(timed: &Timed, world: &World<'_>) -> Vec<String> {
    world.settle("sample").await;
    // A request appears in the log a moment after its effect.
    sleep(Duration::from_millis(500)).await;
    let mut requests = timed.env.requests();
    requests.retain(|request| {
        let is_here = request.namespace.as_deref() == Some(world.namespace.as_str());
        is_here || request.verb == "list"
    });
    let text = |request: &AuditedRequest| format!("{} {}", request.verb, request.resource);
    requests.iter().map(text).collect()
}

#[tokio::test]
async fn a_run_is_one_read_two_writes_and_an_event() {
    let timed = timed().await;
    let world = World::new(&timed.env).await;
    let sample = world.create("sample", HOURLY, json!({})).await;
    let before = requests(&timed, &world).await.len();

    let run = sample.creation_timestamp().unwrap().0 + HOUR;
    timed.clock.set(run);
    world
        .wait_for_active("sample", &[&format!("sample-{}", run.as_second())])
        .await;

    let mut after = requests(&timed, &world).await.split_off(before);
    assert_eq!(after.pop().as_deref(), Some("patch cronjobs/status"));
    after.sort();
    assert_eq!(
        after,
        [
            "create events",
            "create jobs",
            "get cronjobs",
            "patch cronjobs/status"
        ]
    );
}

#[tokio::test]
async fn checking_whether_a_run_is_due_sends_no_request() {
    let timed = timed().await;
    let world = World::new(&timed.env).await;
    let sample = world.create("sample", HOURLY, json!({})).await;
    let before = requests(&timed, &world).await.len();

    let created = sample.creation_timestamp().unwrap().0;
    for minute in 1..5 {
        timed.clock.set(created + HOUR / 60 * minute);
        sleep(Duration::from_millis(200)).await;
    }

    let after = requests(&timed, &world).await.split_off(before);
    assert_eq!(after, ["patch cronjobs/status"]);
}

#[tokio::test]
async fn an_irrelevant_change_sends_no_request() {
    let timed = timed().await;
    let world = World::new(&timed.env).await;
    let sample = world.create("sample", HOURLY, json!({})).await;
    world
        .add_job(&sample, "a", sample.creation_timestamp().unwrap().0)
        .await;
    world.wait_for_active("sample", &["a"]).await;
    let before = requests(&timed, &world).await.len();

    let label = Patch::Merge(json!({ "metadata": { "labels": { "touched": "true" } } }));
    let params = PatchParams::default();
    world
        .cronjobs
        .patch("sample", &params, &label)
        .await
        .unwrap();
    world.jobs.patch("a", &params, &label).await.unwrap();

    let after = requests(&timed, &world).await.split_off(before);
    assert_eq!(after, ["patch cronjobs/status"]);
}
