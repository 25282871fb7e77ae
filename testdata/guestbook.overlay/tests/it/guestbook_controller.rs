// Copyright The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! Normal operation: a Deployment that follows its Guestbook.

use api::v1::Guestbook;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};

use crate::env;
use crate::support::{SETTINGS, World, ready, replicas, roles};

/// The container of the pods of a Deployment.
fn container(deployment: &Deployment) -> Value {
    let spec = json!(deployment.spec);
    spec["template"]["spec"]["containers"][0].clone()
}

#[tokio::test]
async fn a_guestbook_has_a_deployment_of_its_name() {
    let world = World::running(env()).await;

    let guestbook = world.start("sample", 2).await;

    let deployments = world.deployments.list(&ListParams::default()).await;
    let deployments = deployments.unwrap().items;
    assert_eq!(deployments.len(), 1);
    let deployment = &deployments[0];
    assert_eq!(deployment.name_any(), "sample");
    assert_eq!(replicas(deployment), Some(2));
    let mut owner = guestbook.controller_owner_ref(&()).unwrap();
    owner.block_owner_deletion = Some(true);
    assert_eq!(deployment.owner_references(), [owner]);
    let settings = json!([{ "configMapRef": { "name": SETTINGS } }]);
    assert_eq!(container(deployment)["envFrom"], settings);
    assert_eq!(container(deployment).get("env"), None);
    let status = guestbook.status.as_ref().unwrap();
    assert_eq!(status.observed_generation, guestbook.metadata.generation);
    let message = &ready(&guestbook).unwrap().message;
    assert_eq!(message, "2 of 2 pods are up to date, 2 are ready");
}

#[tokio::test]
async fn the_size_follows_the_spec_in_both_directions() {
    let world = World::running(env()).await;
    world.start("sample", 1).await;

    for size in [3, 1, 2] {
        world
            .patch("sample", json!({ "spec": { "size": size } }))
            .await;

        world.ready("sample", size).await;
        let deployment = world.deployments.get("sample").await.unwrap();
        assert_eq!(replicas(&deployment), Some(size));
    }
}

#[tokio::test]
async fn the_type_becomes_a_variable_in_the_pods() {
    let world = World::running(env()).await;
    world.start("sample", 1).await;

    for type_ in ["Phone", "Address", "Name"] {
        world
            .patch("sample", json!({ "spec": { "alias": type_ } }))
            .await;

        world.ready("sample", 1).await;
        let pods = world.living_pods().await;
        assert_eq!(pods.len(), 1);
        let variable = json!([{ "name": "GUESTBOOK_TYPE", "value": type_ }]);
        assert_eq!(json!(pods[0].spec)["containers"][0]["env"], variable);
    }

    world
        .patch("sample", json!({ "spec": { "alias": null } }))
        .await;

    world.ready("sample", 1).await;
    let pods = world.living_pods().await;
    assert_eq!(json!(pods[0].spec)["containers"][0].get("env"), None);
}

#[tokio::test]
async fn drift_is_corrected_and_what_others_add_stays() {
    let world = World::running(env()).await;
    world.start("sample", 2).await;
    let deployment = world.deployments.get("sample").await.unwrap();

    let change = json!({
        "metadata": { "annotations": { "example.com/team": "a" } },
        "spec": {
            "replicas": 9,
            "minReadySeconds": 1,
            "template": {
                "metadata": { "annotations": { "webapp.my.domain/config-hash": "none" } },
                "spec": { "containers": [{ "name": "guestbook", "image": "nginx:0.1" }] },
            },
        },
    });
    world.patch_deployment("sample", change).await;

    let is_fixed = |now: &Deployment| {
        replicas(now) == Some(2)
            && container(now) == container(&deployment)
            && json!(now.spec)["template"] == json!(deployment.spec)["template"]
    };
    let fixed = world.wait_deployment("sample", is_fixed).await;
    assert_eq!(fixed.uid(), deployment.uid());
    assert_eq!(fixed.annotations()["example.com/team"], "a");
    assert_eq!(fixed.spec.min_ready_seconds, Some(1));
}

#[tokio::test]
async fn the_operator_owns_only_the_fields_that_it_sets() {
    let world = World::running(env()).await;
    world.start("sample", 1).await;

    let deployment = world.deployments.get("sample").await.unwrap();

    let managers = deployment.managed_fields().iter();
    let mut managers = managers.filter(|m| m.manager.as_deref() == Some("guestbook/guestbook"));
    let ours = managers.next().unwrap();
    assert_eq!(managers.next(), None);
    assert_eq!(ours.operation.as_deref(), Some("Apply"));
    let fields = json!(ours.fields_v1);
    let keys =
        |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(
        keys(&fields["f:metadata"]),
        ["f:labels", "f:ownerReferences"]
    );
    let spec = ["f:replicas", "f:selector", "f:template"];
    assert_eq!(keys(&fields["f:spec"]), spec);
}

#[tokio::test]
async fn a_deleted_deployment_is_created_again() {
    let world = World::running(env()).await;
    world.start("sample", 2).await;
    let deployment = world.deployments.get("sample").await.unwrap();

    let params = DeleteParams::background();
    world.deployments.delete("sample", &params).await.unwrap();

    let is_new = |now: &Deployment| now.uid() != deployment.uid();
    world.wait_deployment("sample", is_new).await;
    world.ready("sample", 2).await;
}

#[tokio::test]
async fn a_status_that_somebody_else_writes_is_corrected() {
    let world = World::running(env()).await;
    let guestbook = world.start("sample", 2).await;

    let status = json!({ "active": "nobody", "standby": ["b", "a"], "conditions": [] });
    let (params, status) = (
        PatchParams::default(),
        Patch::Merge(json!({ "status": status })),
    );
    let patched = world.guestbooks.patch_status("sample", &params, &status);
    assert_eq!(roles(&patched.await.unwrap()).0, Some("nobody"));

    let fixed = world.ready("sample", 2).await;
    assert_eq!(roles(&fixed), roles(&guestbook));
}

#[tokio::test]
async fn a_condition_of_another_manager_is_left_alone() {
    let world = World::running(env()).await;
    let guestbook = world.start("sample", 1).await;

    let mut other = ready(&guestbook).unwrap().clone();
    other.type_ = "Other".to_owned();
    let status = Patch::Apply(json!({
        "apiVersion": Guestbook::api_version(&()),
        "kind": Guestbook::kind(&()),
        "status": { "conditions": [other] },
    }));
    let params = PatchParams::apply("another");
    let written = world.guestbooks.patch_status("sample", &params, &status);
    written.await.unwrap();
    world
        .patch("sample", json!({ "spec": { "size": 2 } }))
        .await;

    let guestbook = world.ready("sample", 2).await;
    let conditions = guestbook.status.as_ref().unwrap().conditions.iter();
    assert!(
        conditions
            .clone()
            .any(|condition| condition.type_ == "Other")
    );
    for writer in guestbook.managed_fields() {
        let owned = json!(writer.fields_v1).to_string();
        let is_other = writer.manager.as_deref() == Some("another");
        assert_eq!(owned.contains("Other"), is_other, "{writer:?}");
    }
}
