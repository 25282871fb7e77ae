// Copyright The foo authors
// SPDX-License-Identifier: Apache-2.0

//! The events that `kubectl describe` shows of a Foo: each state is reported when it begins.

use k8s_openapi::api::events::v1::Event;
use kube::api::DeleteParams;
use serde_json::json;

use crate::env;
use crate::support::World;

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
