// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! What the API server does with a `CronJob` before any controller sees it: it rejects what the
//! schema does not allow, applies defaults, and drops unknown fields. No webhook is called.
//!
//! The schema is generated from `api/src/v1/cronjob_types.rs`. Each case below is the sample with
//! one change, written as a JSON merge patch: `null` removes a field.

use api::v1;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Error, ResourceExt};
use serde_json::{Value, json};

use crate::unguarded;

const SAMPLE: &str = "config/samples/batch_v1_cronjob.yaml";

/// CronJobs in a new namespace, untyped: the Rust types would not let us write an invalid one.
async fn cronjobs() -> Api<DynamicObject> {
    let resource = ApiResource::erase::<v1::CronJob>(&());
    Api::namespaced_with(
        unguarded().admin(),
        &unguarded().namespace().await,
        &resource,
    )
}

/// The sample with `change` applied to its spec.
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

/// Asserts that the response is 422, with `field` as its only cause, and `reason`.
#[track_caller]
fn assert_rejected<T>(response: Result<T, Error>, field: &str, reason: &str) {
    let Err(Error::Api(status)) = response else {
        panic!("`{field}` was not rejected");
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
async fn an_invalid_object_is_rejected_with_the_field() {
    let containers = |containers: Value| json!({ "jobTemplate": { "spec": { "template": { "spec": { "containers": containers } } } } });
    let cronjobs = cronjobs().await;
    for (change, field, reason) in [
        // A field that has no default and is not an `Option` is required.
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
        // Only the variants of an enum are allowed.
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
        // Kubernetes' own types have their schemas.
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
        let response = cronjobs.create(&PostParams::default(), &object).await;
        assert_rejected(response, field, reason);
    }

    let mut without_spec: Value = unguarded().read(SAMPLE);
    without_spec.as_object_mut().unwrap().remove("spec");
    let object = serde_json::from_value(without_spec).unwrap();
    let response = cronjobs.create(&PostParams::default(), &object).await;
    assert_rejected(response, "spec", "FieldValueRequired");
}

#[tokio::test]
async fn an_invalid_status_is_rejected_with_the_field() {
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
        let response = write(json!({ "active": jobs(count) })).await;
        assert_rejected(response, "status.active", reason);
    }
    // An offset that RFC 3339 does not allow, but the format alone does.
    let response = write(json!({ "lastScheduleTime": "2026-11-23T12:00:00+99:99" })).await;
    assert_rejected(response, "status.lastScheduleTime", "FieldValueInvalid");

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
async fn values_at_the_limits_are_stored_as_written() {
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
async fn an_omitted_field_gets_its_default() {
    let cronjobs = cronjobs().await;
    let omitted = json!({ "concurrencyPolicy": null, "suspend": null });
    let object = sample_with(&omitted);

    let stored = cronjobs
        .create(&PostParams::default(), &object)
        .await
        .unwrap();

    assert_eq!(stored.data["spec"]["concurrencyPolicy"], "Allow");
    // An `Option` has no default: it stays visible that the field was omitted.
    assert_eq!(stored.data["spec"].get("suspend"), None);
}

#[tokio::test]
async fn unknown_fields_are_dropped_or_rejected_by_strict_validation() {
    let cronjobs = cronjobs().await;
    let typo = json!({ "shedule": "* * * * *", "jobTemplate": { "spec": { "retries": 3 } } });
    let object = sample_with(&typo);

    let stored = cronjobs
        .create(&PostParams::default(), &object)
        .await
        .unwrap();

    assert_eq!(stored.data["spec"], sample_with(&json!({})).data["spec"]);

    // kubectl validates strictly by default.
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
