// Copyright The foo authors
// SPDX-License-Identifier: Apache-2.0

//! Ownership: a Foo never takes over a Deployment because of its name, and leaves none of its own behind.

use k8s_openapi::api::apps::v1::Deployment;
use kbr_runtime::is_controlled_by;
use kube::api::DeleteParams;
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};

use crate::env;
use crate::support::{World, replicas, synced};

/// Fails if anything has been written to the Deployment.
async fn assert_untouched(world: &World, deployment: &Deployment) {
    let now = world.deployments.get(&deployment.name_any()).await.unwrap();
    assert_eq!(now, *deployment);
}

async fn delete(world: &World, name: &str) {
    let params = DeleteParams::background();
    world.deployments.delete(name, &params).await.unwrap();
}

#[tokio::test]
async fn a_deployment_of_somebody_else_is_left_alone_until_it_is_gone() {
    let world = World::new(env()).await;
    let other = world.create_deployment("web", json!([])).await;

    world
        .create("sample", json!({ "deploymentName": "web", "replicas": 2 }))
        .await;

    let foo = world.wait_for("sample", "ErrResourceExists").await;
    let refusal = synced(&foo).unwrap();
    assert_eq!(refusal.status, "False");
    assert_eq!(
        refusal.message,
        "Deployment web exists and is not controlled by this Foo"
    );
    // Another change to the Foo makes no difference.
    world.settle("sample").await;
    assert_untouched(&world, &other).await;

    delete(&world, "web").await;

    let foo = world.wait_for("sample", "Synced").await;
    let web = world.deployments.get("web").await.unwrap();
    assert!(is_controlled_by(&web, &foo));
    assert_ne!(web.uid(), other.uid());
}

#[tokio::test]
async fn a_deployment_of_another_controller_is_left_alone() {
    let world = World::new(env()).await;
    let owner = json!([{
        "apiVersion": "example.com/v1",
        "kind": "Other",
        "name": "other",
        "uid": "014dbd28-1f25-42cb-a79c-955b98409d02",
        "controller": true,
    }]);
    let other = world.create_deployment("web", owner).await;

    world
        .create("sample", json!({ "deploymentName": "web" }))
        .await;

    world.wait_for("sample", "ErrResourceExists").await;
    assert_untouched(&world, &other).await;
}

#[tokio::test]
async fn an_owner_is_not_necessarily_the_controller() {
    let world = World::new(env()).await;
    // The Foo exists before its Deployment can: the name is not free.
    world.create_deployment("web", json!([])).await;
    let foo = world
        .create("sample", json!({ "deploymentName": "web" }))
        .await;
    world.wait_for("sample", "ErrResourceExists").await;
    delete(&world, "web").await;
    let foo_synced = world.wait_for("sample", "Synced").await;
    assert_eq!(foo.uid(), foo_synced.uid());

    // Somebody adds the Foo to the owners of another Deployment, for the garbage collector.
    let owner = foo.owner_ref(&()).unwrap();
    let other = world.create_deployment("other", json!([owner])).await;
    world
        .change("sample", json!({ "deploymentName": "other" }))
        .await;

    world.wait_for("sample", "ErrResourceExists").await;
    assert_untouched(&world, &other).await;
}

#[tokio::test]
async fn the_deployment_of_a_namesake_is_left_alone() {
    let world = World::new(env()).await;
    // It belongs to a Foo of the same name that was deleted, and left it behind.
    let mut former = api::v1alpha1::Foo::new("sample", Default::default());
    former.metadata.uid = Some("014dbd28-1f25-42cb-a79c-955b98409d02".to_owned());
    let owner = former.controller_owner_ref(&()).unwrap();
    let other = world.create_deployment("web", json!([owner])).await;

    world
        .create("sample", json!({ "deploymentName": "web" }))
        .await;

    world.wait_for("sample", "ErrResourceExists").await;
    assert_untouched(&world, &other).await;
}

#[tokio::test]
async fn the_first_of_two_foos_keeps_the_name_until_it_takes_another() {
    let world = World::new(env()).await;
    let spec = |replicas: i32| json!({ "deploymentName": "web", "replicas": replicas });
    let (first, _) = world.create_and_wait("first", spec(1)).await;
    world.create("second", spec(2)).await;
    world.wait_for("second", "ErrResourceExists").await;
    let web = world.deployments.get("web").await.unwrap();
    assert!(is_controlled_by(&web, &first));
    assert_eq!(replicas(&web), Some(1));

    world
        .change("first", json!({ "deploymentName": "mine" }))
        .await;

    world.wait_for("first", "Synced").await;
    let second = world.wait_for("second", "Synced").await;
    let web = world.deployments.get("web").await.unwrap();
    assert!(is_controlled_by(&web, &second));
    assert_eq!(replicas(&web), Some(2));
    assert_eq!(world.deployment_names().await, ["mine", "web"]);
}

#[tokio::test]
async fn a_new_name_is_a_new_deployment_and_the_old_one_is_deleted() {
    let world = World::new(env()).await;
    let spec = json!({ "deploymentName": "old", "replicas": 2 });
    world.create_and_wait("sample", spec).await;
    // It has no owner.
    let bystander = world.create_deployment("bystander", Value::Null).await;

    world
        .change("sample", json!({ "deploymentName": "new" }))
        .await;

    world.wait_for("sample", "Synced").await;
    world.wait_gone("old").await;
    assert_eq!(world.deployment_names().await, ["bystander", "new"]);
    assert_untouched(&world, &bystander).await;

    // And back again.
    world
        .change("sample", json!({ "deploymentName": "old" }))
        .await;

    world.wait_for("sample", "Synced").await;
    world.wait_gone("new").await;
    assert_eq!(world.deployment_names().await, ["bystander", "old"]);
}

#[tokio::test]
async fn the_old_deployment_stays_until_the_new_name_is_free() {
    let world = World::new(env()).await;
    let (_, old) = world
        .create_and_wait("sample", json!({ "deploymentName": "old" }))
        .await;
    world.create_deployment("new", json!([])).await;

    world
        .change("sample", json!({ "deploymentName": "new" }))
        .await;

    world.wait_for("sample", "ErrResourceExists").await;
    assert_untouched(&world, &old).await;
    delete(&world, "new").await;
    world.wait_for("sample", "Synced").await;
    world.wait_gone("old").await;
    assert_eq!(world.deployment_names().await, ["new"]);
}

#[tokio::test]
async fn a_deployment_that_is_released_is_not_adopted_again() {
    let world = World::new(env()).await;
    let spec = json!({ "deploymentName": "web", "replicas": 2 });
    world.create_and_wait("sample", spec).await;

    let free = json!({ "metadata": { "ownerReferences": null }, "spec": { "replicas": 5 } });
    let patch = kube::api::Patch::Merge(free);
    let params = kube::api::PatchParams::default();
    let freed = world
        .deployments
        .patch("web", &params, &patch)
        .await
        .unwrap();

    world.wait_for("sample", "ErrResourceExists").await;
    assert_untouched(&world, &freed).await;
}
