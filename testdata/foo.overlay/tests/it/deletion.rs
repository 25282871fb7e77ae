// Copyright The foo authors
// SPDX-License-Identifier: Apache-2.0

//! What happens to the Deployment when its Foo is deleted. Kubernetes' own garbage collector runs here.

use api::v1alpha1::Foo;
use k8s_openapi::api::apps::v1::Deployment;
use kube::ResourceExt;
use kube::api::{DeleteParams, PropagationPolicy};
use kube::runtime::wait::conditions::is_deleted;
use serde_json::json;

use crate::kubernetes;
use crate::support::World;

/// A Foo with its Deployment.
async fn synced() -> (World, Foo, Deployment) {
    let world = World::new(kubernetes()).await;
    let spec = json!({ "deploymentName": "web", "replicas": 2 });
    let (foo, deployment) = world.create_and_wait("sample", spec).await;
    (world, foo, deployment)
}

/// Waits until the Foo is deleted.
async fn wait_deleted(world: &World, foo: &Foo) {
    let uid = foo.uid().unwrap();
    let is_gone = is_deleted(&uid);
    world.env.wait_for(&world.foos, "sample", is_gone).await;
}

#[tokio::test]
async fn a_deployment_is_garbage_collected_with_its_foo() {
    let (world, foo, _) = synced().await;
    let bystander = world.create_deployment("bystander", json!([])).await;

    let params = DeleteParams::background();
    world.foos.delete("sample", &params).await.unwrap();

    wait_deleted(&world, &foo).await;
    world.wait_gone("web").await;
    assert_eq!(world.deployment_names().await, [bystander.name_any()]);
}

#[tokio::test]
async fn a_foreground_deletion_finishes_and_nothing_is_created_meanwhile() {
    let (world, foo, deployment) = synced().await;

    let params = DeleteParams::foreground();
    world.foos.delete("sample", &params).await.unwrap();

    let uid = deployment.uid().unwrap();
    let deployments = &world.deployments;
    kubernetes()
        .wait_for(deployments, "web", is_deleted(&uid))
        .await;
    wait_deleted(&world, &foo).await;
    assert!(world.deployment_names().await.is_empty());
}

#[tokio::test]
async fn an_orphaned_deployment_is_not_adopted() {
    let (world, foo, deployment) = synced().await;
    let orphan = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Orphan),
        ..DeleteParams::default()
    };

    world.foos.delete("sample", &orphan).await.unwrap();

    wait_deleted(&world, &foo).await;
    let is_free = |web: &Deployment| web.owner_references().is_empty();
    let web = world.wait("web", is_free).await;
    assert_eq!(web.uid(), deployment.uid());
    // The next Foo of that name does not adopt it.
    world
        .create("sample", json!({ "deploymentName": "web" }))
        .await;
    world.wait_for("sample", "ErrResourceExists").await;
}
