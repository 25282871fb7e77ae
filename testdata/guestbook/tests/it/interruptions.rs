// Copyright The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! The next operator catches up with what has happened while none was running.

use std::sync::LazyLock;

use k8s_openapi::api::apps::v1::Deployment;
use kbr_testing::{TestEnv, TestEnvError};
use kube::ResourceExt;
use serde_json::json;

use crate::support::{SETTINGS, World, config_hash, replicas, roles};

/// A separate environment, whose operator this test stops.
fn env() -> &'static TestEnv {
    static ENV: LazyLock<Result<TestEnv, TestEnvError>> = LazyLock::new(crate::start);
    ENV.as_ref().unwrap_or_else(|error| panic!("{error}"))
}

#[tokio::test]
async fn the_next_operator_catches_up() {
    let operator = env().start_operator(guestbook::register).unwrap();
    let world = World::running(env()).await;
    let changed = World::running(env()).await;
    let drifted = World::running(env()).await;
    let deleted = World::running(env()).await;
    for world in [&world, &changed, &drifted, &deleted] {
        world.start("sample", 2).await;
    }
    world.quiet().await;
    let kept = world.guestbooks.get("sample").await.unwrap();
    let deployment = world.deployments.get("sample").await.unwrap();

    operator.stop();
    changed.greet(SETTINGS, "Welcome").await;
    drifted
        .patch_deployment("sample", json!({ "spec": { "replicas": 5 } }))
        .await;
    deleted.delete_settings(SETTINGS).await;
    let late = World::running(env()).await;
    let spec = json!({ "size": 1, "configMapName": SETTINGS });
    late.create("sample", spec).await;
    env().start_operator(guestbook::register).unwrap();

    let is_other = |now: &Deployment| config_hash(now) != config_hash(&deployment);
    changed.wait_deployment("sample", is_other).await;
    changed.ready("sample", 2).await;
    drifted
        .wait_deployment("sample", |now| replicas(now) == Some(2))
        .await;
    deleted.wait_for("sample", "ConfigMapMissing").await;
    late.ready("sample", 1).await;

    // Where nothing has happened, nothing is written: the pods are never reported as unknown.
    world.quiet().await;
    let now = world.guestbooks.get("sample").await.unwrap();
    assert_eq!(now.resource_version(), kept.resource_version());
    assert_eq!(roles(&now), roles(&kept));
    let after = world.deployments.get("sample").await.unwrap();
    assert_eq!(after.metadata.generation, deployment.metadata.generation);
}
