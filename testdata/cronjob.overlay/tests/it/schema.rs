// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! What the API server makes of a `CronJob` before any controller sees it: it refuses what the
//! schema does not allow, fills in defaults, and drops fields that it does not know. No webhook is
//! asked.
//!
//! The schema is generated from `api/src/v1/cronjob_types.rs`. Each case below is the sample with
//! one change, written as a JSON merge patch: `null` takes a field away.

use api::v1;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Error, ResourceExt};
use serde_json::{Value, json};

use crate::unguarded;

const SAMPLE: &str = "config/samples/batch_v1_cronjob.yaml";

/// CronJobs of a new namespace, without Rust's types: they would not let us write a bad one.
async fn cronjobs() -> Api<DynamicObject> {
    let resource = ApiResource::erase::<v1::CronJob>(&());
    Api::namespaced_with(
        unguarded().admin(),
        &unguarded().namespace().await,
        &resource,
    )
}

/// The sample with that change of its spec.
fn sample_with(change: &Value) -> DynamicObject {
    let mut object: Value = unguarded().read(SAMPLE);
    merge(&mut object["spec"], change);
    serde_json::from_value(object).unwrap()
}

/// A JSON merge patch, RFC 7386.
fn merge(target: &mut Value, patch: &Value) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            for (key, value) in patch {
                if value.is_null() {
                    target.remove(key);
                } else {
                    merge(target.entry(key).or_insert(Value::Null), value);
                }
            }
        }
        (target, patch) => *target = patch.clone(),
    }
}

/// The answer is 422, and blames `field` alone, for `reason`.
#[track_caller]
fn assert_refused<T>(answer: Result<T, Error>, field: &str, reason: &str) {
    let Err(Error::Api(status)) = answer else {
        panic!("`{field}` was not refused");
    };
    assert_eq!(status.code, 422, "{status:?}");
    let details = status.details.unwrap();
    let causes: Vec<_> = details
        .causes
        .iter()
        .map(|cause| (cause.field.as_str(), cause.reason.as_str()))
        .collect();
    assert_eq!(causes, [(field, reason)], "{}", status.message);
}

#[tokio::test]
async fn a_bad_object_is_refused_and_the_field_named() {
    let containers = |containers: Value| json!({ "jobTemplate": { "spec": { "template": { "spec": { "containers": containers } } } } });
    let cronjobs = cronjobs().await;
    for (change, field, reason) in [
        // What has no default and is no `Option` must be there.
        (
            json!({ "schedule": null }),
            "spec.schedule",
            "FieldValueRequired",
        ),
        (
            json!({ "jobTemplate": null }),
            "spec.jobTemplate",
            "FieldValueRequired",
        ),
        // `range(min = 0)`.
        (
            json!({ "startingDeadlineSeconds": -1 }),
            "spec.startingDeadlineSeconds",
            "FieldValueInvalid",
        ),
        (
            json!({ "successfulJobsHistoryLimit": -1 }),
            "spec.successfulJobsHistoryLimit",
            "FieldValueInvalid",
        ),
        (
            json!({ "failedJobsHistoryLimit": -1 }),
            "spec.failedJobsHistoryLimit",
            "FieldValueInvalid",
        ),
        // The variants of an enum are all there are.
        (
            json!({ "concurrencyPolicy": "Sometimes" }),
            "spec.concurrencyPolicy",
            "FieldValueNotSupported",
        ),
        // Types are not converted.
        (
            json!({ "schedule": 5 }),
            "spec.schedule",
            "FieldValueTypeInvalid",
        ),
        (
            json!({ "suspend": "yes" }),
            "spec.suspend",
            "FieldValueTypeInvalid",
        ),
        (
            json!({ "startingDeadlineSeconds": "60" }),
            "spec.startingDeadlineSeconds",
            "FieldValueTypeInvalid",
        ),
        (
            json!({ "jobTemplate": "hello" }),
            "spec.jobTemplate",
            "FieldValueTypeInvalid",
        ),
        // A type of Kubernetes' own brings its schema along.
        (
            json!({ "jobTemplate": { "spec": { "template": null } } }),
            "spec.jobTemplate.spec.template",
            "FieldValueRequired",
        ),
        (
            containers(Value::Null),
            "spec.jobTemplate.spec.template.spec.containers",
            "FieldValueRequired",
        ),
        (
            containers(json!([{ "image": "busybox" }])),
            "spec.jobTemplate.spec.template.spec.containers[0].name",
            "FieldValueRequired",
        ),
    ] {
        let object = sample_with(&change);
        let answer = cronjobs.create(&PostParams::default(), &object).await;
        assert_refused(answer, field, reason);
    }

    let mut without_spec: Value = unguarded().read(SAMPLE);
    without_spec.as_object_mut().unwrap().remove("spec");
    let object = serde_json::from_value(without_spec).unwrap();
    let answer = cronjobs.create(&PostParams::default(), &object).await;
    assert_refused(answer, "spec", "FieldValueRequired");
}

#[tokio::test]
async fn a_bad_status_is_refused_and_the_field_named() {
    let cronjobs = cronjobs().await;
    let object = sample_with(&json!({}));
    let object = cronjobs.create(&PostParams::default(), &object).await;
    let name = object.unwrap().name_any();
    let jobs = |count| vec![json!({ "kind": "Job", "name": "hello" }); count];
    let write = |status: Value| {
        let patch = Patch::Merge(json!({ "status": status }));
        let (cronjobs, name) = (&cronjobs, &name);
        async move {
            let params = PatchParams::default();
            cronjobs.patch_status(name, &params, &patch).await
        }
    };

    // `length(min = 1, max = 10)`.
    for (count, reason) in [(0, "FieldValueInvalid"), (11, "FieldValueTooMany")] {
        let answer = write(json!({ "active": jobs(count) })).await;
        assert_refused(answer, "status.active", reason);
    }
    // An offset that RFC 3339 does not have, which the format alone lets pass.
    let answer = write(json!({ "lastScheduleTime": "2026-11-23T12:00:00+99:99" })).await;
    assert_refused(answer, "status.lastScheduleTime", "FieldValueInvalid");

    for count in [1, 10] {
        let written = write(json!({ "active": jobs(count) })).await.unwrap();
        assert_eq!(
            written.data["status"]["active"],
            json!(jobs(count)),
            "{count}"
        );
    }
}

#[tokio::test]
async fn what_is_just_allowed_is_stored_as_it_was_written() {
    let cronjobs = cronjobs().await;
    for change in [
        json!({ "schedule": "" }),
        json!({ "startingDeadlineSeconds": 0 }),
        json!({ "startingDeadlineSeconds": i64::MAX }),
        json!({ "successfulJobsHistoryLimit": 0, "failedJobsHistoryLimit": 0 }),
        json!({ "successfulJobsHistoryLimit": i32::MAX }),
        json!({ "suspend": false }),
        json!({ "suspend": true }),
        json!({ "concurrencyPolicy": "Allow" }),
        json!({ "concurrencyPolicy": "Forbid" }),
        json!({ "concurrencyPolicy": "Replace" }),
    ] {
        let mut object = sample_with(&change);
        object.metadata.name = None;
        object.metadata.generate_name = Some("allowed-".to_owned());

        let stored = cronjobs.create(&PostParams::default(), &object).await;

        let stored = stored.unwrap_or_else(|error| panic!("{change}: {error}"));
        assert_eq!(stored.data["spec"], object.data["spec"]);
    }
}

#[tokio::test]
async fn a_default_fills_in_what_is_left_out() {
    let cronjobs = cronjobs().await;
    let left_out = json!({ "concurrencyPolicy": null, "suspend": null });
    let object = sample_with(&left_out);

    let stored = cronjobs
        .create(&PostParams::default(), &object)
        .await
        .unwrap();

    assert_eq!(stored.data["spec"]["concurrencyPolicy"], "Allow");
    // An `Option` has no default: that nothing was said stays visible.
    assert_eq!(stored.data["spec"].get("suspend"), None);
}

#[tokio::test]
async fn unknown_fields_are_dropped_or_with_strict_validation_refused() {
    let cronjobs = cronjobs().await;
    let typo = json!({ "shedule": "* * * * *", "jobTemplate": { "spec": { "retries": 3 } } });
    let object = sample_with(&typo);

    let stored = cronjobs
        .create(&PostParams::default(), &object)
        .await
        .unwrap();

    assert_eq!(stored.data["spec"], sample_with(&json!({})).data["spec"]);

    // kubectl is strict unless it is told otherwise.
    let file = unguarded().logs().join("typo.json");
    std::fs::write(&file, serde_json::to_string(&object).unwrap()).unwrap();
    let kubectl = unguarded()
        .kubectl()
        .args(["create", "--namespace=default", "-f"])
        .arg(file)
        .output();
    let output = kubectl.unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    for field in ["spec.shedule", "spec.jobTemplate.spec.retries"] {
        let unknown = format!("unknown field \"{field}\"");
        assert!(message.contains(&unknown), "{message}");
    }
}
