// Copyright The multiversion authors
// SPDX-License-Identifier: Apache-2.0

//! What happens to a schedule that is written in one version and read, or changed, in the other.

use api::{v1, v2};
use kube::Api;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::env;

/// The CronJobs of a namespace in both versions, as the API server returns them.
struct World {
    v1: Api<DynamicObject>,
    v2: Api<DynamicObject>,
}

impl World {
    async fn new() -> Self {
        let namespace = env().namespace().await;
        let api = |resource| Api::namespaced_with(env().admin(), &namespace, &resource);
        Self {
            v1: api(ApiResource::erase::<v1::CronJob>(&())),
            v2: api(ApiResource::erase::<v2::CronJob>(&())),
        }
    }
}

/// Creates the CronJob `sample` with the given schedule.
async fn create(api: &Api<DynamicObject>, schedule: Value) {
    // A schedule is a string in v1.
    let version = if schedule.is_string() { "v1" } else { "v2" };
    let sample = format!("config/samples/batch_{version}_cronjob.yaml");
    let mut object: DynamicObject = env().read(sample);
    object.metadata.name = Some("sample".to_owned());
    object.data["spec"]["schedule"] = schedule;
    api.create(&PostParams::default(), &object).await.unwrap();
}

/// The schedule of the CronJob `sample`.
async fn schedule(api: &Api<DynamicObject>) -> Value {
    api.get("sample").await.unwrap().data["spec"]["schedule"].take()
}

async fn change(api: &Api<DynamicObject>, spec: Value) {
    let patch = Patch::Merge(json!({ "spec": spec }));
    let params = PatchParams::default();
    api.patch("sample", &params, &patch).await.unwrap();
}

#[tokio::test]
async fn five_fields_are_five_fields() {
    let world = World::new().await;
    create(&world.v1, json!("30 6 * * 1-5")).await;

    let fields = json!({ "minute": "30", "hour": "6", "dayOfWeek": "1-5" });
    assert_eq!(schedule(&world.v2).await, fields);
    assert_eq!(schedule(&world.v1).await, "30 6 * * 1-5");
}

#[tokio::test]
async fn a_schedule_that_v2_cannot_express_survives_a_change_in_v2() {
    for text in [
        "@hourly",
        "@every 90m",
        "CRON_TZ=Europe/Berlin 30 6 * * *",
        "0  6 * * *",
        "often",
    ] {
        let world = World::new().await;
        create(&world.v1, json!(text)).await;

        change(&world.v2, json!({ "suspend": true })).await;

        assert_eq!(schedule(&world.v1).await, text);
        let suspend = world.v1.get("sample").await.unwrap();
        assert_eq!(suspend.data["spec"]["suspend"], true);
    }
}

#[tokio::test]
async fn a_schedule_can_be_changed_in_v2() {
    let world = World::new().await;
    create(&world.v1, json!("@hourly")).await;

    change(&world.v2, json!({ "schedule": { "hour": "6" } })).await;

    assert_eq!(schedule(&world.v1).await, "0 6 * * *");
    let expected = json!({ "minute": "0", "hour": "6" });
    assert_eq!(schedule(&world.v2).await, expected);
}

#[tokio::test]
async fn an_omitted_field_in_v2_is_not_the_same_as_a_star() {
    for fields in [
        json!({}),
        json!({ "minute": "5" }),
        json!({ "minute": "5", "hour": "*" }),
        json!({ "minute": "*", "month": "*" }),
    ] {
        let world = World::new().await;
        create(&world.v2, fields.clone()).await;

        change(&world.v1, json!({ "suspend": true })).await;

        assert_eq!(schedule(&world.v2).await, fields);
    }
}

#[tokio::test]
async fn a_schedule_can_be_changed_in_v1() {
    let world = World::new().await;
    create(&world.v2, json!({ "minute": "5", "hour": "*" })).await;

    change(&world.v1, json!({ "schedule": "5 6 * * *" })).await;

    let expected = json!({ "minute": "5", "hour": "6" });
    assert_eq!(schedule(&world.v2).await, expected);
}

#[tokio::test]
async fn all_objects_can_be_listed_in_both_versions() {
    let world = World::new().await;
    create(&world.v1, json!("@every 90m")).await;

    for api in [&world.v1, &world.v2] {
        let list = api.list(&ListParams::default()).await.unwrap();
        assert_eq!(list.items.len(), 1);
    }
}

/// The webhooks are those of v1. The API server also calls them for objects in v2, after converting
/// these.
#[tokio::test]
async fn an_object_in_v2_is_validated_in_v1() {
    let world = World::new().await;
    let mut object: DynamicObject = env().read("config/samples/batch_v2_cronjob.yaml");
    object.metadata.name = Some("a".repeat(64));

    let refused = world.v2.create(&PostParams::default(), &object).await;

    let Err(kube::Error::Api(status)) = refused else {
        panic!("a name of 64 characters was accepted");
    };
    assert_eq!(status.code, 422, "{status:?}");
    assert_eq!(status.details.unwrap().causes[0].field, "metadata.name");
}

/// Two field managers that each apply their own fields, in different versions, do not conflict.
#[tokio::test]
async fn server_side_apply_tracks_the_same_fields_in_both_versions() {
    let world = World::new().await;
    create(&world.v1, json!("@hourly")).await;
    let resource = |version| format!("batch.tutorial.kubebuilder.io/{version}");
    let apply = |version, spec: Value| {
        Patch::Apply(json!({
            "apiVersion": resource(version),
            "kind": "CronJob",
            "metadata": { "name": "sample" },
            "spec": spec,
        }))
    };

    let (one, other) = (PatchParams::apply("one"), PatchParams::apply("other"));
    let suspend = apply("v2", json!({ "suspend": true }));
    world.v2.patch("sample", &one, &suspend).await.unwrap();
    let deadline = apply("v1", json!({ "startingDeadlineSeconds": 90 }));
    world
        .v1
        .patch("sample", &other.force(), &deadline)
        .await
        .unwrap();

    let sample = world.v1.get("sample").await.unwrap();
    assert_eq!(sample.data["spec"]["suspend"], true);
    assert_eq!(sample.data["spec"]["startingDeadlineSeconds"], 90);
    assert_eq!(sample.data["spec"]["schedule"], "@hourly");
}
