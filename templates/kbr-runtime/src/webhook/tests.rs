// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of the tests, and their paths.

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

    async fn set_defaults(
        &self,
        request: &AdmissionRequest,
        object: &mut CronJob,
    ) -> Result<(), BoxError> {
        match name(object) {
            "panic" => panic!("as it was asked to"),
            "fail" => return Err("the lookup failed".into()),
            "told" => {
                let old: Option<CronJob> = request.old_object()?;
                let told = json!({
                    "operation": format!("{:?}", request.operation),
                    "name": request.name,
                    "namespace": request.namespace,
                    "subresource": request.subresource,
                    "user": request.user,
                    "dryRun": request.dry_run,
                    "old": old.map(|old| name(&old).to_owned()),
                });
                let annotations = object.metadata.annotations.get_or_insert_default();
                annotations.insert("told".to_owned(), told.to_string());
            }
            _ => {}
        }
        object.spec.suspend.get_or_insert(false);
        Ok(())
    }
}

impl Validator for ByName {
    type Object = CronJob;

    async fn validate_create(
        &self,
        request: &AdmissionRequest,
        object: &CronJob,
    ) -> Result<ValidationOutcome, BoxError> {
        let mut outcome = ValidationOutcome::default();
        match name(object) {
            "panic" => panic!("as it was asked to"),
            "slow" => tokio::time::sleep(Duration::from_secs(3600)).await,
            "nap" => tokio::time::sleep(Duration::from_millis(500)).await,
            "fail" => return Err("the lookup failed".into()),
            "told" => outcome.warn(format!("{:?} {:?}", request.operation, request.dry_run)),
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
        Ok(outcome)
    }

    async fn validate_update(
        &self,
        _: &AdmissionRequest,
        old: &CronJob,
        new: &CronJob,
    ) -> Result<ValidationOutcome, BoxError> {
        let mut outcome = ValidationOutcome::default();
        if name(old) != name(new) {
            outcome.deny(FieldError::forbidden(&metadata_name(), name(old)));
        }
        // Two rules for the object, and one for the change.
        let spec = FieldPath::new("spec");
        if new.spec.schedule == "bad" {
            outcome.deny(FieldError::forbidden(&spec.child("schedule"), "it is bad"));
        }
        if new.spec.suspend == Some(true) && new.spec.starting_deadline_seconds.is_none() {
            outcome.deny(FieldError::required(
                &spec.child("startingDeadlineSeconds"),
                "",
            ));
        }
        if old.spec.time_zone.is_some() && old.spec.schedule != new.spec.schedule {
            outcome.deny(FieldError::forbidden(
                &spec.child("timeZone"),
                "it is for another",
            ));
        }
        Ok(outcome)
    }

    async fn validate_delete(
        &self,
        _: &AdmissionRequest,
        object: &CronJob,
    ) -> Result<ValidationOutcome, BoxError> {
        Ok(FieldError::forbidden(&metadata_name(), name(object)).into())
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

/// A review of an operation on an object.
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
