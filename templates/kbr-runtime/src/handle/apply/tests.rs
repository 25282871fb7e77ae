// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests, with canned responses of an API server.

use http::Method;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, PodStatus};
use kube::runtime::watcher::Event;
use tracing_subscriber::EnvFilter;

use super::*;
use crate::cache::tests::received;
use crate::handle::tests::{World, owner, status, stored, wanted};
use crate::logging::tests::logged;

fn conflict() -> Value {
    status(409, "Conflict")
}

fn meant(version: &str, uid: Option<&str>) -> (Option<String>, Option<String>) {
    (Some(version.to_owned()), uid.map(str::to_owned))
}

#[tokio::test]
async fn a_missing_object_is_created_and_no_other_is_overwritten() {
    let world = World::new(&[], [json!(stored("a", 7))]);

    let applied = world.handle.apply(&wanted("a")).await;

    assert_eq!(*applied.unwrap(), stored("a", 7));
    // The next reconcile sees it before the watch shows it.
    assert_eq!(world.handle.owned::<ConfigMap>().unwrap().len(), 1);
    assert_eq!(world.methods().len(), 1);
    assert_eq!(world.meant(0), meant("1", None));
    let owners = &lock(&world.requests)[0].1["metadata"]["ownerReferences"];
    assert_eq!(owners[0]["uid"], "owner-1");
    assert_eq!(owners[0]["controller"], true);
    assert_eq!(owners[0]["blockOwnerDeletion"], true);
}

#[tokio::test]
async fn an_object_that_is_still_as_applied_costs_no_request() {
    let world = World::new(&[stored("a", 7)], [json!(stored("a", 7))]);
    world.handle.apply(&wanted("a")).await.unwrap();

    // For example a change of the status, which a ConfigMap does not have.
    world.maps.take(Event::Apply(received(&stored("a", 8))));
    let again = world.handle.apply(&wanted("a")).await;

    assert_eq!(*again.unwrap(), stored("a", 8));
    world.handle.apply(&wanted("a")).await.unwrap();
    assert_eq!(world.methods().len(), 1);
}

#[tokio::test]
async fn what_a_cache_leaves_out_is_corrected_as_well() {
    let world = World::new(&[], [json!(stored("a", 7)), json!(stored("a", 9))]);
    world.maps.slim(|map| map.data = None);
    world.handle.apply(&wanted("a")).await.unwrap();

    let tampered = received(&stored("b", 8));
    world.maps.take(Event::Apply(tampered));
    world.handle.apply(&wanted("a")).await.unwrap();

    assert_eq!(world.methods().len(), 2);
}

#[tokio::test]
async fn what_a_cache_leaves_out_costs_no_request_either() {
    let world = World::new(&[], [json!(stored("a", 7))]);
    world.maps.slim(|map| map.data = None);
    world.handle.apply(&wanted("a")).await.unwrap();

    world.maps.take(Event::Apply(received(&stored("a", 8))));
    world.handle.apply(&wanted("a")).await.unwrap();

    assert_eq!(world.methods().len(), 1);
}

/// Otherwise it would stay in memory for ever.
#[tokio::test]
async fn what_was_written_to_an_object_that_is_gone_is_not_noted() {
    let status = json!({ "metadata": { "name": "owner", "namespace": "here", "uid": "owner-1", "resourceVersion": "7" } });
    let world = World::new(&[], [json!(stored("a", 7)), status]);
    let context = &world.handle.context;
    // The answers of version 7 are late.
    world.maps.take(Event::Delete(received(&stored("a", 8))));
    let mut gone = owner();
    gone.metadata.resource_version = Some("8".to_owned());
    context.cache.take(Event::Delete(received(&gone)));

    world.handle.apply(&wanted("a")).await.unwrap();
    world
        .handle
        .apply_status(&json!({ "size": 1 }))
        .await
        .unwrap();

    assert!(lock(&context.applied).is_empty());
    assert!(lock(&context.statuses).noted.is_empty());
}

/// The model found this: the watch shows the change before the answer arrives.
#[tokio::test]
async fn what_somebody_else_changed_before_the_answer_is_not_taken_for_applied() {
    let world = World::new(&[], [json!(stored("a", 7)), json!(stored("a", 9))]);
    world.maps.take(Event::Apply(received(&stored("a", 5))));
    world
        .maps
        .take(Event::Apply(received(&stored("drifted", 8))));
    // The answer of version 7 is late.
    world.handle.apply(&wanted("a")).await.unwrap();

    world.handle.apply(&wanted("a")).await.unwrap();

    assert_eq!(world.methods().len(), 2);
}

#[tokio::test]
async fn drift_and_fields_that_are_no_longer_wanted_are_written() {
    let mut more = wanted("a");
    more.metadata.labels = Some([("size".to_owned(), "large".to_owned())].into());
    let mut labelled = stored("a", 7);
    labelled.metadata.labels = more.metadata.labels.clone();
    let answers = [labelled, stored("a", 8), stored("a", 10)];
    let world = World::new(&[], answers.map(|answer| json!(answer)));

    world.handle.apply(&more).await.unwrap();
    // The object still has the label, which is no longer wanted.
    world.handle.apply(&wanted("a")).await.unwrap();
    world
        .maps
        .take(Event::Apply(received(&stored("drifted", 9))));
    world.handle.apply(&wanted("a")).await.unwrap();

    assert_eq!(world.meant(1), meant("7", Some("map-1")));
    assert!(
        lock(&world.requests)[1].1["metadata"]
            .get("labels")
            .is_none()
    );
    assert_eq!(world.meant(2), meant("9", Some("map-1")));
}

#[tokio::test]
async fn an_object_of_somebody_else_is_left_alone() {
    let mut other = stored("other", 5);
    other.metadata.owner_references = None;
    let world = World::new(&[other.clone()], []);

    let refused = world.handle.apply(&wanted("a")).await.unwrap_err();

    assert!(matches!(refused, OwnedError::NameTaken { .. }));
    assert_eq!(
        refused.to_string(),
        "configmaps `map` exists, and is not controlled by this Secret"
    );
    assert_eq!(world.wanting(), 1);

    // It was created a moment ago: the cache shows it later.
    let world = World::new(&[], [conflict()]);
    let showing = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        world.maps.take(Event::Apply(received(&other)));
    };
    let wanted = wanted("a");
    let (refused, ()) = tokio::join!(world.handle.apply(&wanted), showing);
    assert!(matches!(refused, Err(OwnedError::NameTaken { .. })));
    assert_eq!(world.methods(), [Method::PATCH]);
    assert_eq!(world.wanting(), 1);
}

/// The model found this: the object was this one's own, and is one of somebody else when the API server refuses.
#[tokio::test]
async fn a_name_that_is_lost_during_the_request_is_wanted() {
    let mut other = stored("other", 9);
    other.metadata.uid = Some("map-2".to_owned());
    other.metadata.owner_references = None;
    let world = World::new(&[stored("a", 5)], [conflict()]);
    let showing = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        world.maps.take(Event::Apply(received(&other)));
    };
    let changed = wanted("b");
    let (refused, ()) = tokio::join!(world.handle.apply(&changed), showing);
    assert!(matches!(refused, Err(OwnedError::NameTaken { .. })));
    assert_eq!(world.wanting(), 1);
}

#[tokio::test]
async fn who_has_the_name_does_not_wait_for_it() {
    let world = World::new(&[], [json!(stored("a", 7))]);
    world.handle.apply(&wanted("a")).await.unwrap();
    assert_eq!(world.wanting(), 0);

    // The error is retried.
    let answers = [status(500, "InternalError"), status(403, "Forbidden")];
    let world = World::new(&[], answers);
    world.handle.apply(&wanted("a")).await.unwrap_err();
    world.handle.create(&wanted("a")).await.unwrap_err();
    assert_eq!(world.wanting(), 0);
}

#[tokio::test]
async fn a_stale_cache_causes_no_error() {
    // Not shown yet: this operator created it before it was restarted.
    let world = World::new(&[], [conflict(), json!(stored("b", 6))]);
    let showing = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        world.maps.take(Event::Apply(received(&stored("a", 5))));
    };
    let changed = wanted("b");
    let (applied, ()) = tokio::join!(world.handle.apply(&changed), showing);
    applied.unwrap();
    assert_eq!(world.meant(1), meant("5", Some("map-1")));

    // Deleted, which the watch has not shown yet.
    let world = World::new(&[stored("a", 5)], [conflict(), json!(stored("b", 9))]);
    let showing = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        world.maps.take(Event::Delete(received(&stored("a", 8))));
    };
    let (applied, ()) = tokio::join!(world.handle.apply(&changed), showing);
    applied.unwrap();
    assert_eq!(world.meant(0), meant("5", Some("map-1")));
    assert_eq!(world.meant(1), meant("1", None));
}

#[tokio::test(start_paused = true)]
async fn an_object_that_the_cache_does_not_show_is_given_up_for_now() {
    let world = World::new(&[stored("a", 5)], [conflict(), conflict(), conflict()]);

    let applied = world.handle.apply(&wanted("b")).await;

    let OwnedError::Apply { reason, .. } = applied.unwrap_err() else {
        panic!("not the API server's answer");
    };
    assert!(matches!(reason, kube::Error::Api(status) if status.is_conflict()));
}

#[tokio::test]
async fn an_object_is_created_once() {
    let world = World::new(&[], [json!(stored("a", 7))]);
    let created = world.handle.create(&wanted("a")).await.unwrap();
    assert_eq!(*created.unwrap(), stored("a", 7));
    assert_eq!(world.methods(), [Method::POST]);

    assert_eq!(world.handle.create(&wanted("a")).await.unwrap(), None);
    assert_eq!(world.methods().len(), 1);

    // The cache does not show it yet.
    let world = World::new(&[], [status(409, "AlreadyExists")]);
    let showing = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        world.maps.take(Event::Apply(received(&stored("a", 5))));
    };
    let wanted = wanted("a");
    let (created, ()) = tokio::join!(world.handle.create(&wanted), showing);
    assert_eq!(created.unwrap(), None);
}

#[test]
fn a_patch_has_neither_the_status_nor_null_fields() {
    let mut patch = json!({
        "spec": { "size": null, "zero": 0, "empty": {}, "list": [{ "name": "a", "port": null }] },
        "status": { "phase": "Pending" },
    });

    drop_nulls(&mut patch);

    let spec = json!({ "zero": 0, "empty": {}, "list": [{ "name": "a" }] });
    assert_eq!(patch["spec"], spec);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let _entered = runtime.enter();
    let world = World::new(&[], []);
    let pod = Pod {
        status: Some(PodStatus::default()),
        ..Pod::default()
    };
    let cache = crate::cache::tests::empty::<Pod>();
    let fields = world.handle.fields(&cache, &pod).unwrap();
    assert!(fields.get("status").is_none());
    assert_eq!(fields["kind"], "Pod");
    assert_eq!(fields["apiVersion"], "v1");
}

#[test]
fn other_owners_are_kept_beside_the_controller() {
    let mut other = owner();
    other.metadata.uid = Some("other-1".to_owned());
    let mut wanted = wanted("a");
    // From an object that was read: it already has the current owner.
    let owners = [other.owner_ref(&()), owner().owner_ref(&())];
    wanted.metadata.owner_references = Some(owners.into_iter().flatten().collect());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let _entered = runtime.enter();
    let world = World::new(&[], []);

    let fields = world.handle.fields(&world.maps, &wanted).unwrap();

    let owners = fields["metadata"]["ownerReferences"].as_array().unwrap();
    let uids: Vec<_> = owners.iter().map(|owner| &owner["uid"]).collect();
    assert_eq!(uids, ["other-1", "owner-1"]);
    assert_eq!(owners[1]["controller"], true);
}

/// A Deployment that is created and corrected leaves one line each; what changes nothing leaves none.
#[test]
fn the_log_says_what_was_done_and_to_which_fields() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let mut outcomes = Vec::new();
    let lines = logged(EnvFilter::new("debug"), || {
        runtime.block_on(async {
            let answers = [stored("a", 7), stored("b", 9), stored("b", 11)];
            let mut answers: Vec<_> = answers.iter().map(|answer| json!(answer)).collect();
            answers.push(json!({ "kind": "Status", "status": "Success", "code": 200 }));
            let world = World::new(&[], answers);
            let mut apply = async |text: &str| {
                let applied = world.handle.apply(&wanted(text)).await.unwrap();
                outcomes.push(applied.outcome);
            };
            apply("a").await;
            apply("a").await;
            apply("b").await;
            // Somebody adds a field that the next apply removes again.
            let mut other = stored("b", 9);
            other.metadata.labels = Some([("by".to_owned(), "hand".to_owned())].into());
            other.metadata.resource_version = Some("10".to_owned());
            world.maps.take(Event::Apply(received(&other)));
            apply("b").await;
            world.handle.delete_owned(&stored("b", 11)).await.unwrap();
        });
    });
    let outcome = [
        Outcome::Created,
        Outcome::Unchanged,
        Outcome::Changed,
        Outcome::Changed,
    ];
    assert_eq!(outcomes, outcome);
    let told = |line: &Value| {
        assert_eq!(
            (&line["resource"], &line["name"]),
            (&json!("configmaps"), &json!("map"))
        );
        format!("{} {}", line["message"], line["fields"])
    };
    let told: Vec<_> = lines
        .iter()
        .filter(|line| line["level"] == "INFO")
        .map(told)
        .collect();
    let expected = [
        r#""created" null"#,
        r#""changed" "data.text""#,
        r#""changed" "metadata.labels.by""#,
        r#""deleted" null"#,
    ];
    assert_eq!(told, expected);
}

/// The API server gives a PersistentVolumeClaim another version for an apply that changes nothing.
#[tokio::test]
async fn an_object_with_another_version_and_the_same_contents_is_unchanged() {
    let world = World::new(&[stored("a", 7)], [json!(stored("a", 8))]);
    let applied = world.handle.apply(&wanted("a")).await.unwrap();
    assert_eq!(applied.outcome, Outcome::Unchanged);
}
