// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of the tests, and their paths.

use super::*;
use k8s_openapi::api::batch::v1::CronJob;
use serde_json::{Value, json};
use std::time::Duration;

pub(super) const MUTATE: &str = "/mutate";
pub(crate) const VALIDATE: &str = "/validate";
pub(super) const STRICT: &str = "/validate-strictly";

/// A webhook of CronJobs that does what an object's name says.
struct ByName;

/// The same, without ratcheting.
struct Strict;

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
            "loop" => loop {
                std::thread::sleep(Duration::from_millis(10));
            },
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
        check(object, &mut outcome);
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
        check(new, &mut outcome);
        // Two rules for the change.
        if old.spec.time_zone.is_some() && old.spec.schedule != new.spec.schedule {
            let field = FieldPath::new("spec").child("timeZone");
            outcome.deny(FieldError::forbidden(&field, "it is for another"));
        }
        if is_locked(old) {
            let field = FieldPath::new("metadata").child("labels").key("locked");
            outcome.deny(FieldError::forbidden(&field, "nothing may change"));
        }
        Ok(outcome)
    }

    async fn validate_finalizing(
        &self,
        _: &AdmissionRequest,
        old: &CronJob,
        new: &CronJob,
    ) -> Result<ValidationOutcome, BoxError> {
        let is_removed = old.metadata.finalizers.is_some() && new.metadata.finalizers.is_none();
        let field = FieldPath::new("metadata").child("finalizers");
        let error = FieldError::forbidden(&field, "it is still needed");
        Ok(Vec::from_iter((is_locked(old) && is_removed).then_some(error)).into())
    }

    async fn validate_delete(
        &self,
        _: &AdmissionRequest,
        object: &CronJob,
    ) -> Result<ValidationOutcome, BoxError> {
        Ok(FieldError::forbidden(&metadata_name(), name(object)).into())
    }
}

impl Validator for Strict {
    type Object = CronJob;

    const RATCHETING: bool = false;

    async fn validate_create(
        &self,
        request: &AdmissionRequest,
        object: &CronJob,
    ) -> Result<ValidationOutcome, BoxError> {
        ByName.validate_create(request, object).await
    }

    async fn validate_update(
        &self,
        request: &AdmissionRequest,
        old: &CronJob,
        new: &CronJob,
    ) -> Result<ValidationOutcome, BoxError> {
        ByName.validate_update(request, old, new).await
    }
}

/// Two rules for any object.
fn check(object: &CronJob, outcome: &mut ValidationOutcome) {
    let spec = FieldPath::new("spec");
    if object.spec.schedule == "bad" {
        outcome.deny(FieldError::forbidden(&spec.child("schedule"), "it is bad"));
    }
    if object.spec.suspend == Some(true) && object.spec.starting_deadline_seconds.is_none() {
        let field = spec.child("startingDeadlineSeconds");
        outcome.deny(FieldError::required(&field, ""));
    }
}

fn is_locked(object: &CronJob) -> bool {
    let mut labels = object.metadata.labels.iter().flatten();
    labels.any(|(name, value)| name == "locked" && value == "true")
}

pub(crate) fn webhooks() -> Webhooks {
    let mut webhooks = Webhooks::default();
    webhooks.mutate(MUTATE, ByName);
    webhooks.validate(VALIDATE, ByName);
    webhooks.validate(STRICT, Strict);
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
    assert_eq!(paths, [MUTATE, VALIDATE, STRICT].map(str::to_owned).into());
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

#[test]
#[should_panic = "no defaulter or validator is served at `/validates`"]
fn a_webhook_that_reads_a_cache_is_served() {
    let maps = crate::cache::tests::empty::<k8s_openapi::api::core::v1::ConfigMap>();
    webhooks().reads("/validates", &maps);
}

fn metadata_name() -> FieldPath {
    FieldPath::new("metadata").child("name")
}
