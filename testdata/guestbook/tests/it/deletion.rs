// Copyright The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! What is deleted with a Guestbook: its Deployment and its pods, by the garbage collector of Kubernetes,
//! and nothing else.

use api::v1::Guestbook;
use k8s_openapi::api::apps::v1::Deployment;
use kube::ResourceExt;
use kube::api::DeleteParams;
use kube::runtime::wait::conditions::is_deleted;
use serde_json::json;

use crate::env;
use crate::support::{SETTINGS, World, names, roles};

/// Waits until the Guestbook is deleted.
async fn wait_deleted(world: &World, guestbook: &Guestbook) {
    let uid = guestbook.uid().unwrap();
    let is_gone = is_deleted(&uid);
    env().wait_for(&world.guestbooks, "sample", is_gone).await;
}

/// How often the operator has written `sample` or its Deployment.
fn writes(world: &World) -> usize {
    let requests = world.requests().into_iter();
    let writes = requests.filter(|r| r.verb == "patch" && r.name.as_deref() == Some("sample"));
    writes.count()
}

#[tokio::test]
async fn the_pods_are_deleted_and_the_config_map_stays() {
    let world = World::running(env()).await;
    let guestbook = world.start("sample", 2).await;
    let pods = world.living_pods().await;

    let params = DeleteParams::background();
    world.guestbooks.delete("sample", &params).await.unwrap();

    wait_deleted(&world, &guestbook).await;
    let no_deployment = |now: Option<&Deployment>| now.is_none();
    env()
        .wait_for(&world.deployments, "sample", no_deployment)
        .await;
    for pod in pods {
        let uid = pod.uid().unwrap();
        env()
            .wait_for(&world.pods, &pod.name_any(), is_deleted(&uid))
            .await;
    }
    world.config_maps.get(SETTINGS).await.unwrap();
}

#[tokio::test]
async fn nothing_is_created_while_a_guestbook_is_being_deleted() {
    let world = World::running(env()).await;
    // So that it stays in deletion until the test removes the finalizer.
    let finalizers = |all: &[&str]| json!({ "metadata": { "finalizers": all } });
    let guestbook = world.start("sample", 1).await;
    world
        .patch("sample", finalizers(&["example.com/test"]))
        .await;
    world.quiet().await;
    let before = writes(&world);

    let params = DeleteParams::foreground();
    world.guestbooks.delete("sample", &params).await.unwrap();
    // The garbage collector may do the same, or wait until the Guestbook no longer exists: the owner
    // reference does not set `blockOwnerDeletion`.
    let params = DeleteParams::background();
    match world.deployments.delete("sample", &params).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 404 => {}
        Err(error) => panic!("{error}"),
    }

    let no_deployment = |now: Option<&Deployment>| now.is_none();
    env()
        .wait_for(&world.deployments, "sample", no_deployment)
        .await;
    // Even a change to its ConfigMap does not create the Deployment again.
    world.greet(SETTINGS, "Welcome").await;
    world.quiet().await;
    assert_eq!(world.deployments.get_opt("sample").await.unwrap(), None);
    assert_eq!(writes(&world), before);
    world.patch("sample", finalizers(&[])).await;
    wait_deleted(&world, &guestbook).await;
}

#[tokio::test]
async fn a_guestbook_that_is_created_again_has_new_pods() {
    let world = World::running(env()).await;
    let guestbook = world.start("sample", 1).await;
    let old = names(&world.living_pods().await);
    let params = DeleteParams::background();
    world.guestbooks.delete("sample", &params).await.unwrap();
    wait_deleted(&world, &guestbook).await;

    let guestbook = world.start("sample", 1).await;

    let active = roles(&guestbook).0.unwrap();
    assert!(!old.iter().any(|pod| pod == active));
}
