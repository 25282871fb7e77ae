// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Webhooks of the tests, and where they register.

use super::*;
use k8s_openapi::api::batch::v1::CronJob;
use serde_json::{Value, json};
use std::time::Duration;

pub(super) const MUTATE: &str = "/mutate";
pub(super) const VALIDATE: &str = "/validate";

/// A webhook of CronJobs that does what an object's name says.
struct ByName;

fn name(object: &CronJob) -> &str {
    object.metadata.name.as_deref().unwrap_or_default()
}

impl Defaulter for ByName {
    type Object = CronJob;

    fn set_defaults(&self, object: &mut CronJob) {
        assert_ne!(name(object), "panic", "as it was asked to");
        object.spec.suspend.get_or_insert(false);
    }
}

impl Validator for ByName {
    type Object = CronJob;

    async fn validate_create(&self, object: &CronJob) -> ValidationOutcome {
        let mut outcome = ValidationOutcome::default();
        match name(object) {
            "panic" => panic!("as it was asked to"),
            "slow" => tokio::time::sleep(Duration::from_secs(3600)).await,
            "nap" => tokio::time::sleep(Duration::from_millis(500)).await,
            "warned" => outcome.warn(format!("careful\n{}", "é".repeat(300))),
            "bad" => {
                outcome.deny(FieldError::invalid(
                    &FieldPath::new("spec").child("schedule"),
                    "x",
                    "no",
                ));
                outcome.deny(FieldError::too_long(&metadata_name(), 2));
            }
            _ => {}
        }
        outcome
    }

    async fn validate_update(&self, old: &CronJob, new: &CronJob) -> ValidationOutcome {
        if name(old) == name(new) {
            return ValidationOutcome::default();
        }
        FieldError::forbidden(&metadata_name(), name(old)).into()
    }

    async fn validate_delete(&self, object: &CronJob) -> ValidationOutcome {
        ValidationOutcome::from_iter([FieldError::forbidden(&metadata_name(), name(object))])
    }
}

pub(super) fn webhooks() -> Webhooks {
    let mut webhooks = Webhooks::default();
    webhooks.mutate(MUTATE, ByName);
    webhooks.validate(VALIDATE, ByName);
    webhooks
}

/// A CronJob as the API server has it, with a field that the type lacks.
pub(super) fn cron_job(name: &str) -> Value {
    let template = json!({"spec": {"template": {"spec": {"containers": [{"name": "a"}]}}}});
    json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name, "creationTimestamp": null},
        "spec": {"schedule": "* * * * *", "jobTemplate": template, "unknown": {}},
    })
}

/// A review of that operation on an object of that name.
pub(super) fn review(operation: &str, object: &Value, old: &Value) -> Value {
    let object_name = if object.is_null() { old } else { object };
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "some-uid",
            "kind": {"group": "batch", "version": "v1", "kind": "CronJob"},
            "resource": {"group": "batch", "version": "v1", "resource": "cronjobs"},
            "name": object_name["metadata"]["name"].as_str().unwrap_or_default(),
            "namespace": "default",
            "operation": operation,
            "object": object,
            "oldObject": old,
            "dryRun": false,
        },
    })
}

#[test]
fn every_path_is_known() {
    let paths = webhooks().paths();
    assert_eq!(paths, [MUTATE, VALIDATE].map(str::to_owned).into());
    assert!(Webhooks::default().paths().is_empty());
}

#[test]
fn a_path_is_for_one_webhook() {
    let refused =
        |path: &'static str| std::panic::catch_unwind(|| webhooks().mutate(path, ByName)).is_err();
    assert!(refused(MUTATE));
    assert!(refused(VALIDATE));
    assert!(refused(Webhooks::CONVERT));
    assert!(refused("relative"));
    assert!(!refused("/other"));
}

fn metadata_name() -> FieldPath {
    FieldPath::new("metadata").child("name")
}
