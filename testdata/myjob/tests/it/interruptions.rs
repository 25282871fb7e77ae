// Copyright The myjob authors
// SPDX-License-Identifier: Apache-2.0

//! The next operator catches up with what has happened while none was running: the phase records what
//! was before.

use std::sync::LazyLock;

use kbr_testing::{TestEnv, TestEnvError};
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use crate::support::{NAME, World, pod_spec};

/// A separate environment, whose operator this test stops.
fn env() -> &'static TestEnv {
    static ENV: LazyLock<Result<TestEnv, TestEnvError>> =
        LazyLock::new(|| TestEnv::start(env!("CARGO_MANIFEST_DIR")));
    ENV.as_ref().unwrap_or_else(|error| panic!("{error}"))
}

#[tokio::test]
async fn the_next_operator_catches_up() {
    let operator = env().start_operator(myjob::register).unwrap();
    let (completes, deleted, crashed) = (
        World::new(env()).await,
        World::new(env()).await,
        World::new(env()).await,
    );
    let pod = completes.start(pod_spec()).await;
    deleted.start(pod_spec()).await;
    let kept = crashed.start(pod_spec()).await;

    operator.stop();
    env().kubelet().complete(&pod).await;
    deleted
        .pods
        .delete(NAME, &DeleteParams::default())
        .await
        .unwrap();
    let late = World::new(env()).await;
    late.add(pod_spec()).await;
    // As if the operator had exited after it created the Pod, and before it wrote the status.
    let conditions = json!([]);
    let before = json!({ "status": { "phase": "pending", "conditions": conditions } });
    let (params, before) = (PatchParams::default(), Patch::Merge(before));
    crashed
        .myjobs
        .patch_status(NAME, &params, &before)
        .await
        .unwrap();
    env().start_operator(myjob::register).unwrap();

    completes.wait_for_reason("PodSucceeded").await;
    deleted.wait_for_reason("PodDeleted").await;
    assert_eq!(deleted.pods.get_opt(NAME).await.unwrap(), None);
    late.wait_for_reason("PodCreated").await;
    crashed.wait_for_reason("PodCreated").await;
    assert_eq!(crashed.pods.get(NAME).await.unwrap().uid(), kept.uid());
}
