// Copyright The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! Who owns a Deployment: never a Guestbook because of the name alone.

use k8s_openapi::api::apps::v1::Deployment;
use kbr_runtime::is_controlled_by;
use kube::api::{DeleteParams, PostParams};
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};

use crate::env;
use crate::support::{SETTINGS, World, ready};

/// Creates a Deployment `sample` that no Guestbook has created, with the given owner references.
async fn create(world: &World, owners: Value) -> Deployment {
    let labels = json!({ "app": "other" });
    let container = json!({ "name": "other", "image": "other:1" });
    let deployment = json!({
        "metadata": { "name": "sample", "ownerReferences": owners },
        "spec": {
            "replicas": 0,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [container] },
            },
        },
    });
    let deployment = serde_json::from_value(deployment).unwrap();
    let params = PostParams::default();
    let created = world.deployments.create(&params, &deployment).await;
    let created = created.unwrap();
    // Then Kubernetes has observed it, and no longer writes to it.
    let generation = created.metadata.generation;
    let is_seen = |now: &Deployment| {
        let status = now.status.as_ref();
        status.is_some_and(|s| s.observed_generation == generation && s.conditions.is_some())
    };
    world.wait_deployment("sample", is_seen).await
}

/// Fails if the operator has written anything to the Deployment.
async fn assert_untouched(world: &World, before: &Deployment) {
    let now = world.deployments.get("sample").await.unwrap();
    assert_eq!(now.uid(), before.uid());
    assert_eq!(now.spec, before.spec);
    assert_eq!(now.labels(), before.labels());
    assert_eq!(now.owner_references(), before.owner_references());
    let mut managers = now.managed_fields().iter();
    assert!(!managers.any(|m| m.manager.as_deref() == Some("guestbook/guestbook")));
}

async fn create_guestbook(world: &World) {
    let spec = json!({ "size": 2, "configMapName": SETTINGS });
    world.create("sample", spec).await;
}

#[tokio::test]
async fn a_deployment_of_somebody_else_is_left_alone_until_it_is_gone() {
    let world = World::running(env()).await;
    let other = create(&world, Value::Null).await;

    create_guestbook(&world).await;

    let guestbook = world.wait_for("sample", "NameTaken").await;
    let refusal = ready(&guestbook).unwrap();
    assert_eq!(refusal.status, "False");
    let message = "Deployment sample exists and is not controlled by this Guestbook";
    assert_eq!(refusal.message, message);
    // Another change to the Guestbook makes no difference.
    world
        .patch("sample", json!({ "spec": { "size": 3 } }))
        .await;
    world.wait_for("sample", "NameTaken").await;
    assert_untouched(&world, &other).await;
    world.quiet().await;

    let params = DeleteParams::background();
    world.deployments.delete("sample", &params).await.unwrap();

    let guestbook = world.ready("sample", 3).await;
    let deployment = world.deployments.get("sample").await.unwrap();
    assert!(is_controlled_by(&deployment, &guestbook));
    assert_ne!(deployment.uid(), other.uid());
}

#[tokio::test]
async fn the_deployment_of_a_namesake_is_left_alone() {
    let world = World::running(env()).await;
    // The Deployment of a Guestbook of the same name, which was deleted and left it behind as an orphan,
    // so that the garbage collector does not delete it.
    create_guestbook(&world).await;
    world.ready("sample", 2).await;
    let orphan = DeleteParams {
        propagation_policy: Some(kube::api::PropagationPolicy::Orphan),
        ..DeleteParams::default()
    };
    let old = world.guestbooks.get("sample").await.unwrap().uid().unwrap();
    world.guestbooks.delete("sample", &orphan).await.unwrap();
    let is_gone = kube::runtime::wait::conditions::is_deleted(&old);
    env().wait_for(&world.guestbooks, "sample", is_gone).await;
    let before = world.deployments.get("sample").await.unwrap();
    assert!(before.owner_references().is_empty());

    world
        .create("sample", json!({ "size": 5, "configMapName": SETTINGS }))
        .await;

    // Nor do its pods belong to the new Guestbook.
    let guestbook = world.wait_for("sample", "NameTaken").await;
    assert_eq!(guestbook.status.as_ref().unwrap().active, "");
    let after = world.deployments.get("sample").await.unwrap();
    assert_eq!(after.metadata.generation, before.metadata.generation);
    assert!(after.owner_references().is_empty());
}

#[tokio::test]
async fn an_owner_is_not_necessarily_the_controller() {
    let world = World::running(env()).await;
    create(&world, Value::Null).await;
    create_guestbook(&world).await;
    let guestbook = world.wait_for("sample", "NameTaken").await;

    // Somebody adds the Guestbook to the owners, for the garbage collector.
    let owner = guestbook.owner_ref(&()).unwrap();
    let owners = json!({ "metadata": { "ownerReferences": [owner] } });
    let owned = world.reconciling(world.patch_deployment("sample", owners));
    let owned = owned.await;

    world.wait_for("sample", "NameTaken").await;
    assert_untouched(&world, &owned).await;
}

#[tokio::test]
async fn a_deployment_that_is_released_is_not_adopted_again() {
    let world = World::running(env()).await;
    world.start("sample", 2).await;

    let free = json!({ "metadata": { "ownerReferences": null }, "spec": { "replicas": 1 } });
    let freed = world.patch_deployment("sample", free).await;

    world.wait_for("sample", "NameTaken").await;
    let now = world.deployments.get("sample").await.unwrap();
    assert!(now.owner_references().is_empty());
    assert_eq!(now.spec, freed.spec);
}
