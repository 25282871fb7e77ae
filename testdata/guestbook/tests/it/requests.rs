// Copyright The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! Which requests a reconcile sends, according to the audit log of the API server.

use serde_json::json;

use crate::env;
use crate::support::{SETTINGS, World};

/// The requests of the operator for `sample` and its settings.
fn requests(world: &World) -> Vec<String> {
    let mut requests = world.requests();
    requests.retain(|request| {
        let name = request.name.as_deref();
        name == Some("sample") || name == Some(SETTINGS)
    });
    let texts = requests
        .iter()
        .map(|r| format!("{} {}", r.verb, r.resource));
    texts.collect()
}

#[tokio::test]
async fn a_reconcile_that_finds_the_desired_state_writes_nothing() {
    let world = World::running(env()).await;
    world.start("sample", 2).await;
    let before = world.guestbooks.get("sample").await.unwrap();
    // After Kubernetes has written to the Deployment, there is one more apply.
    world
        .reconciling(world.patch("sample", json!({ "metadata": { "labels": { "n": "1" } } })))
        .await;
    let before_changes = requests(&world).len();

    let label = json!({ "metadata": { "labels": { "n": "2" } } });
    world.reconciling(world.patch("sample", label)).await;
    let label = json!({ "metadata": { "labels": { "n": "2" } } });
    world
        .reconciling(world.patch_settings(SETTINGS, label))
        .await;

    let mut requests = requests(&world).split_off(before_changes);
    requests.dedup();
    assert_eq!(requests, ["get configmaps"]);
    let after = world.guestbooks.get("sample").await.unwrap();
    assert_eq!(after.status, before.status);
}
