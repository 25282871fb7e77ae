// Copyright The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! What a reconcile costs, as the audit log of the API server has it.

use serde_json::json;

use crate::env;
use crate::support::{SETTINGS, World};

/// What the operator has asked for of `sample` and its settings.
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
async fn a_reconcile_that_finds_all_as_it_should_be_writes_nothing() {
    let world = World::running(env()).await;
    world.start("sample", 2).await;
    let before = world.guestbooks.get("sample").await.unwrap();
    // After Kubernetes has written to the Deployment, there is one more apply.
    world
        .reconciling(world.patch("sample", json!({ "metadata": { "labels": { "n": "1" } } })))
        .await;
    let asked = requests(&world).len();

    let label = json!({ "metadata": { "labels": { "n": "2" } } });
    world.reconciling(world.patch("sample", label)).await;
    let label = json!({ "metadata": { "labels": { "n": "2" } } });
    world
        .reconciling(world.patch_settings(SETTINGS, label))
        .await;

    let mut asked = requests(&world).split_off(asked);
    asked.dedup();
    assert_eq!(asked, ["get configmaps"]);
    let after = world.guestbooks.get("sample").await.unwrap();
    assert_eq!(after.status, before.status);
}
