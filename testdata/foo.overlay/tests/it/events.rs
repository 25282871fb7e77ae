// Copyright The foo authors
// SPDX-License-Identifier: Apache-2.0

//! The events that `kubectl describe` shows of a Foo: each state is reported when it begins.

use api::v1alpha1::Foo;
use k8s_openapi::api::core::v1::{Pod, ResourceQuota};
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::support::{World, degraded};
use crate::{env, kubernetes};

fn type_and_note(event: &Event) -> (&str, &str) {
    let type_ = event.type_.as_deref().unwrap();
    (type_, event.note.as_deref().unwrap())
}

/// How often the event was published.
fn count(event: &Event) -> i32 {
    event.series.as_ref().map_or(1, |series| series.count)
}

#[tokio::test]
async fn synced_is_reported_once_when_it_becomes_true() {
    let world = World::new(env()).await;
    let spec = json!({ "deploymentName": "web" });
    let (foo, _) = world.create_and_wait("sample", spec).await;

    let events = world.events("sample", "Synced").await;
    world.settle("sample").await;
    world.settle("sample").await;

    assert_eq!(events, world.events("sample", "Synced").await);
    assert_eq!(events.len(), 1);
    let note = "Foo synced successfully";
    assert_eq!(type_and_note(&events[0]), ("Normal", note));
    assert_eq!(count(&events[0]), 1);
    let regarding = events[0].regarding.as_ref().unwrap();
    assert_eq!(regarding.uid, foo.metadata.uid);
    let related = events[0].related.as_ref().unwrap();
    assert_eq!(related.name.as_deref(), Some("web"));
    assert_eq!(events[0].reporting_controller.as_deref(), Some("foo"));
}

#[tokio::test]
async fn a_name_that_is_taken_is_a_warning_each_time_it_begins() {
    let world = World::new(env()).await;
    let delete = async || {
        let params = DeleteParams::background();
        world.deployments.delete("web", &params).await.unwrap();
    };
    world.create_deployment("web", json!([])).await;
    world
        .create("sample", json!({ "deploymentName": "web" }))
        .await;
    world.wait_for("sample", "ErrResourceExists").await;
    // It lasts, which is not reported again.
    world.settle("sample").await;

    let warnings = world.events("sample", "ErrResourceExists").await;
    assert_eq!(warnings.len(), 1);
    let note = "Deployment web exists and is not controlled by this Foo";
    assert_eq!(type_and_note(&warnings[0]), ("Warning", note));
    assert_eq!(count(&warnings[0]), 1);

    // It ends, and begins again: the count of the same event is increased.
    delete().await;
    world.wait_for("sample", "Synced").await;
    world.events("sample", "Synced").await;
    let free = json!({ "metadata": { "ownerReferences": null } });
    let params = kube::api::PatchParams::default();
    let free = kube::api::Patch::Merge(free);
    world
        .deployments
        .patch("web", &params, &free)
        .await
        .unwrap();
    world.wait_for("sample", "ErrResourceExists").await;

    let warnings = loop {
        let warnings = world.events("sample", "ErrResourceExists").await;
        if count(&warnings[0]) > 1 {
            break warnings;
        }
    };
    assert_eq!(warnings.len(), 1);
    assert_eq!(count(&warnings[0]), 2);
}

/// Waits until the condition `Degraded` has this reason and a message with this text.
async fn wait_for_problem(world: &World, reason: &str, text: &str) {
    let is_so = |foo: Option<&Foo>| {
        let degraded = foo.and_then(degraded);
        degraded.is_some_and(|it| it.reason == reason && it.message.contains(text))
    };
    world.env.wait_for(&world.foos, "sample", is_so).await;
}

#[tokio::test]
async fn pods_that_do_not_run_are_a_warning() {
    let world = World::new(env()).await;
    let spec = json!({ "deploymentName": "web" });
    let (_, deployment) = world.create_and_wait("sample", spec).await;
    let pods = Api::<Pod>::namespaced(env().admin(), &world.namespace);
    let template = deployment.spec.template;
    let mut pod = Pod {
        metadata: template.metadata.unwrap_or_default(),
        spec: template.spec,
        status: None,
    };
    pod.metadata.name = Some("one".to_owned());
    let pod = pods.create(&PostParams::default(), &pod).await.unwrap();
    let kubelet = env().kubelet();

    kubelet.unschedulable(&pod, "0/3 nodes are available").await;
    let text = "pod one: 0/3 nodes are available";
    wait_for_problem(&world, "Unschedulable", text).await;
    kubelet
        .fail_to_start(&pod, "ImagePullBackOff", "not found")
        .await;
    let text = "container nginx of pod one: not found";
    wait_for_problem(&world, "ImagePullBackOff", text).await;
    kubelet.crash_loop(&pod, 1).await;
    let text = "container nginx of pod one ended with exit code 1";
    wait_for_problem(&world, "CrashLoopBackOff", text).await;
    kubelet.kill_for_memory(&pod).await;
    wait_for_problem(&world, "OOMKilled", "exit code 137").await;
    kubelet.run(&pod).await;
    wait_for_problem(&world, "AsWanted", "").await;

    let warnings = world.events("sample", "CrashLoopBackOff").await;
    let note = "container nginx of pod one ended with exit code 1";
    assert_eq!(type_and_note(&warnings[0]), ("Warning", note));
    for reason in ["Unschedulable", "ImagePullBackOff", "OOMKilled"] {
        let warnings = world.events("sample", reason).await;
        assert_eq!(warnings.len(), 1, "{reason}");
        assert_eq!(count(&warnings[0]), 1, "{reason}");
    }
    // The same Foo still has its Deployment.
    assert_eq!(world.events("sample", "Synced").await.len(), 1);
}

/// Creates a quota that allows none of a resource.
async fn forbid(world: &World, resource: &str) -> Api<ResourceQuota> {
    let quotas = Api::<ResourceQuota>::namespaced(world.env.admin(), &world.namespace);
    let hard = json!({ resource: "0" });
    let none = json!({ "metadata": { "name": "none" }, "spec": { "hard": hard } });
    let none = serde_json::from_value(none).unwrap();
    quotas.create(&PostParams::default(), &none).await.unwrap();
    // The controller of quotas would do this, but does not run here.
    let used = json!({ "status": { "hard": hard, "used": hard } });
    let (params, used) = (PatchParams::default(), Patch::Merge(used));
    quotas.patch_status("none", &params, &used).await.unwrap();
    quotas
}

#[tokio::test]
async fn a_deployment_that_the_api_server_refuses_is_a_warning_and_is_retried() {
    let world = World::new(env()).await;
    let quotas = forbid(&world, "count/deployments.apps").await;
    let spec = json!({ "deploymentName": "web" });
    world.create("sample", spec).await;

    world.wait_for("sample", "Refused").await;
    wait_for_problem(&world, "Refused", "exceeded quota: none").await;
    let warnings = world.events("sample", "Refused").await;
    assert_eq!(warnings.len(), 1);
    assert!(type_and_note(&warnings[0]).1.contains("exceeded quota"));

    let params = DeleteParams::default();
    quotas.delete("none", &params).await.unwrap();
    world.wait_for("sample", "Synced").await;
    wait_for_problem(&world, "AsWanted", "").await;
}

#[tokio::test]
async fn pods_that_a_quota_does_not_allow_are_a_warning() {
    let world = World::new(kubernetes()).await;
    forbid(&world, "pods").await;

    let spec = json!({ "deploymentName": "web", "replicas": 1 });
    world.create("sample", spec).await;

    wait_for_problem(&world, "FailedCreate", "exceeded quota: none").await;
    let warnings = world.events("sample", "FailedCreate").await;
    assert!(type_and_note(&warnings[0]).1.contains("exceeded quota"));
    let pods = Api::<Pod>::namespaced(world.env.admin(), &world.namespace);
    let pods = pods.list(&ListParams::default()).await.unwrap();
    assert!(pods.items.is_empty());
}
