// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Reviews and their answers, without a server.

use crate::logging::tests::logged;
use crate::webhook::tests::{MUTATE, STRICT, VALIDATE, cron_job, review, webhooks};
use crate::webhook::{
    AdmissionRequest, BoxError, Defaulter, ValidationOutcome, Validator, Webhooks,
};
use futures::FutureExt;
use kube::CustomResource;
use proptest::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

async fn answer(path: &str, review: &Value) -> Result<Value, String> {
    let webhooks = webhooks();
    let body = serde_json::to_vec(review).unwrap();
    let answer = webhooks.at(path).unwrap().answer(&body).await?;
    Ok(serde_json::from_slice(&answer).unwrap())
}

/// A review of the creation of a CronJob.
async fn create(path: &str, name: &str) -> Value {
    response(path, "CREATE", &cron_job(name), &Value::Null).await
}

async fn response(path: &str, operation: &str, object: &Value, old: &Value) -> Value {
    let answer = answer(path, &review(operation, object, old)).await.unwrap();
    assert_eq!(answer["apiVersion"], "admission.k8s.io/v1");
    assert_eq!(answer["kind"], "AdmissionReview");
    assert_eq!(answer["response"]["uid"], "some-uid");
    answer["response"].clone()
}

#[tokio::test]
async fn a_default_patches_nothing_else() {
    let response = create(MUTATE, "a").await;

    assert_eq!(response["allowed"], true);
    assert_eq!(response["patchType"], "JSONPatch");
    let patch: k8s_openapi::ByteString = serde_json::from_value(response["patch"].clone()).unwrap();
    let patch: Value = serde_json::from_slice(&patch.0).unwrap();
    assert_eq!(
        patch,
        json!([{"op": "add", "path": "/spec/suspend", "value": false}])
    );
}

#[tokio::test]
async fn a_defaulter_sees_who_does_what() {
    let mut asked = review("UPDATE", &cron_job("told"), &cron_job("old"));
    let user = json!({"username": "alice", "uid": "7", "groups": ["a"], "extra": {"b": ["c"]}});
    asked["request"]["userInfo"] = user.clone();
    asked["request"]["dryRun"] = json!(true);
    asked["request"]["subResource"] = json!("status");

    let answer = answer(MUTATE, &asked).await.unwrap();

    let patch: k8s_openapi::ByteString =
        serde_json::from_value(answer["response"]["patch"].clone()).unwrap();
    let patch: Value = serde_json::from_slice(&patch.0).unwrap();
    let told = patch[0]["value"]["told"].as_str().unwrap();
    let expected = json!({
        "operation": "Update", "name": "told", "namespace": "default", "subresource": "status",
        "user": user, "dryRun": true, "old": "old",
    });
    assert_eq!(serde_json::from_str::<Value>(told).unwrap(), expected);
}

#[tokio::test]
async fn a_validator_sees_it_too() {
    let mut asked = review("CREATE", &cron_job("told"), &Value::Null);
    asked["request"]["dryRun"] = json!(true);

    let answer = answer(VALIDATE, &asked).await.unwrap();

    assert_eq!(answer["response"]["warnings"], json!(["Create true"]));
}

#[tokio::test]
async fn a_failure_denies_and_is_no_error_of_the_object() {
    for path in [MUTATE, VALIDATE] {
        let response = create(path, "fail").await;

        assert_eq!(response["allowed"], false);
        assert_eq!(response["patch"], Value::Null);
        let status = &response["status"];
        assert_eq!(
            (&status["code"], &status["reason"]),
            (&json!(500), &json!("InternalError"))
        );
        assert_eq!(status["message"], "the webhook failed: the lookup failed");
    }
}

/// The causes of a denied update of `old` by `changes` of its spec.
async fn causes(old: Value, changes: Value) -> Vec<String> {
    let cron_job = |spec: &Value| {
        let mut object = cron_job("a");
        for (name, value) in spec.as_object().unwrap() {
            object["spec"][name] = value.clone();
        }
        object
    };
    let old = cron_job(&old);
    let mut new = old.clone();
    for (name, value) in changes.as_object().unwrap() {
        new["spec"][name] = value.clone();
    }
    let response = response(VALIDATE, "UPDATE", &new, &old).await;
    let causes = response["status"]["details"]["causes"].as_array();
    let fields = causes
        .into_iter()
        .flatten()
        .map(|cause| cause["field"].as_str().unwrap());
    let fields: Vec<String> = fields.map(str::to_owned).collect();
    assert_eq!(response["allowed"], fields.is_empty());
    fields
}

#[tokio::test]
async fn an_old_error_in_an_unchanged_field_denies_nothing() {
    let bad = json!({"schedule": "bad"});
    assert_eq!(
        causes(bad.clone(), json!({"concurrencyPolicy": "Forbid"})).await,
        [""; 0]
    );
    // A missing field is unchanged, too.
    let suspended = json!({"suspend": true});
    assert_eq!(
        causes(suspended, json!({"concurrencyPolicy": "Forbid"})).await,
        [""; 0]
    );
}

#[tokio::test]
async fn an_error_that_is_new_or_in_a_changed_field_denies() {
    assert_eq!(
        causes(json!({}), json!({"schedule": "bad"})).await,
        ["spec.schedule"]
    );
    // The field itself was not changed.
    let missing = ["spec.startingDeadlineSeconds"];
    assert_eq!(causes(json!({}), json!({"suspend": true})).await, missing);
    let zone = json!({"timeZone": "Etc/UTC"});
    assert_eq!(
        causes(zone, json!({"schedule": "@daily"})).await,
        ["spec.timeZone"]
    );
    // One error stays, and one is new.
    let bad = json!({"schedule": "bad"});
    assert_eq!(causes(bad, json!({"suspend": true})).await, missing);
}

/// A guard of updates may look at the old object alone: it is no rule for the object.
#[tokio::test]
async fn a_rule_for_updates_denies_although_it_would_deny_the_old_object_too() {
    let mut old = cron_job("a");
    old["metadata"]["labels"] = json!({"locked": "true"});
    let mut new = old.clone();
    new["spec"]["schedule"] = json!("@daily");

    let response = response(VALIDATE, "UPDATE", &new, &old).await;

    assert_eq!(response["allowed"], false);
    let causes = response["status"]["details"]["causes"].as_array().unwrap();
    let fields: Vec<_> = causes.iter().map(|cause| &cause["field"]).collect();
    assert_eq!(fields, ["metadata.labels[locked]"]);
}

#[tokio::test]
async fn a_validator_without_ratcheting_denies_old_errors_too() {
    let mut old = cron_job("a");
    old["spec"]["schedule"] = json!("bad");
    let mut new = old.clone();
    new["spec"]["concurrencyPolicy"] = json!("Forbid");

    for (path, expected) in [(VALIDATE, true), (STRICT, false)] {
        let response = response(path, "UPDATE", &new, &old).await;
        assert_eq!(response["allowed"], expected, "{path}");
    }
}

#[tokio::test]
async fn nothing_to_default_is_no_patch() {
    let mut object = cron_job("a");
    object["spec"]["suspend"] = json!(true);
    let expected = json!({"uid": "some-uid", "allowed": true});

    assert_eq!(response(MUTATE, "UPDATE", &object, &object).await, expected);
    assert_eq!(
        response(MUTATE, "DELETE", &Value::Null, &object).await,
        expected
    );
}

#[tokio::test]
async fn a_denial_is_worded_like_one_of_the_api_server() {
    let response = create(VALIDATE, "bad").await;

    let expected = r#"CronJob.batch "bad" is invalid: [spec.schedule: Invalid value: "x": no, metadata.name: Too long: may not be more than 2 bytes]"#;
    assert_eq!(response["allowed"], false);
    let status = &response["status"];
    assert_eq!(status["status"], "Failure");
    assert_eq!(status["code"], 422);
    assert_eq!(status["reason"], "Invalid");
    assert_eq!(status["message"], expected);
    assert_eq!(
        status["details"],
        json!({
            "group": "batch",
            "kind": "CronJob",
            "name": "bad",
            "causes": [
                {
                    "reason": "FieldValueInvalid",
                    "message": "Invalid value: \"x\": no",
                    "field": "spec.schedule",
                },
                {
                    "reason": "FieldValueTooLong",
                    "message": "Too long: may not be more than 2 bytes",
                    "field": "metadata.name",
                },
            ],
        })
    );
}

#[tokio::test]
async fn each_operation_has_its_method() {
    let (a, b) = (cron_job("a"), cron_job("b"));
    let allowed = async |operation, object, old| {
        response(VALIDATE, operation, object, old).await["allowed"] == true
    };
    assert!(allowed("CREATE", &a, &Value::Null).await);
    assert!(allowed("UPDATE", &a, &a).await);
    assert!(!allowed("UPDATE", &a, &b).await);
    assert!(!allowed("DELETE", &Value::Null, &a).await);
    assert!(allowed("CONNECT", &a, &Value::Null).await);
    // Before a collection is deleted, the API server sends a request for it as a whole.
    assert!(allowed("DELETE", &Value::Null, &Value::Null).await);
}

#[tokio::test]
async fn a_warning_is_one_line_of_bounded_length() {
    let response = create(VALIDATE, "warned").await;

    assert_eq!(response["allowed"], true);
    let warning = response["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("careful éé"), "{warning}");
    assert_eq!(warning.chars().count(), 256);
}

#[tokio::test]
async fn an_object_that_the_type_cannot_hold_is_denied_with_the_place() {
    let mut bad = cron_job("a");
    bad["spec"]["schedule"] = json!(5);

    let response = response(VALIDATE, "CREATE", &bad, &Value::Null).await;

    assert_eq!(response["status"]["code"], 422, "{response}");
    let message = response["status"]["message"].as_str().unwrap();
    let start = r#"CronJob.batch "a" is invalid: this operator cannot read it: invalid type: "#;
    assert!(message.starts_with(start), "{message}");
    assert!(message.ends_with("\"schedule\":5`"), "{message}");
}

/// The API server has not validated it against the schema yet.
#[tokio::test]
async fn an_object_that_the_type_cannot_hold_passes_the_defaulter() {
    let mut bad = cron_job("a");
    bad["spec"]["schedule"] = json!(5);

    let response = response(MUTATE, "CREATE", &bad, &Value::Null).await;

    assert_eq!(response, json!({"uid": "some-uid", "allowed": true}));
}

#[tokio::test]
async fn an_object_that_the_type_cannot_hold_can_be_fixed_and_deleted() {
    let mut bad = cron_job("a");
    bad["spec"]["schedule"] = json!(5);

    let mended = response(VALIDATE, "UPDATE", &cron_job("a"), &bad).await;
    assert_eq!(mended["allowed"], true);
    // It is validated as if it were new.
    let still_bad = response(VALIDATE, "UPDATE", &cron_job("bad"), &bad).await;
    assert_eq!(still_bad["allowed"], false);
    let deleted = response(VALIDATE, "DELETE", &Value::Null, &bad).await;
    assert_eq!(deleted["allowed"], true);
}

/// Reading it panics.
#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Odd",
    schema = "disabled"
)]
#[serde(from = "Value")]
struct OddSpec {}

impl From<Value> for OddSpec {
    fn from(spec: Value) -> Self {
        panic!("on purpose: {spec}")
    }
}

/// Denies everything.
struct Never;

impl Validator for Never {
    type Object = Odd;

    async fn validate_delete(
        &self,
        _: &AdmissionRequest,
        _: &Odd,
    ) -> Result<ValidationOutcome, BoxError> {
        Err("it was read".into())
    }
}

impl Defaulter for Never {
    type Object = Odd;

    async fn set_defaults(&self, _: &AdmissionRequest, _: &mut Odd) -> Result<(), BoxError> {
        Err("it was read".into())
    }
}

#[tokio::test]
async fn an_object_whose_type_panics_is_one_that_the_type_cannot_hold() {
    let mut webhooks = Webhooks::default();
    webhooks.validate(VALIDATE, Never);
    webhooks.mutate(MUTATE, Never);
    let odd = json!({"apiVersion": "example.com/v1", "kind": "Odd", "metadata": {"name": "a"}, "spec": {}});
    let mut deleted = odd.clone();
    deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    for (path, operation, object, old) in [
        (VALIDATE, "DELETE", &Value::Null, &odd),
        (VALIDATE, "UPDATE", &deleted, &deleted),
        (MUTATE, "CREATE", &odd, &Value::Null),
    ] {
        let mut review = review(operation, object, old);
        review["request"]["kind"] = json!({"group": "example.com", "version": "v1", "kind": "Odd"});
        let body = serde_json::to_vec(&review).unwrap();

        let answer = webhooks.at(path).unwrap().answer(&body).await.unwrap();

        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(answer["response"]["allowed"], true, "{operation}: {answer}");
    }
}

/// Otherwise its namespace could never be deleted.
#[tokio::test]
async fn finalizers_can_be_removed_from_any_object_being_deleted() {
    async fn allowed(old: &Value, new: &Value) -> bool {
        response(VALIDATE, "UPDATE", new, old).await["allowed"] == true
    }
    let mut unreadable = cron_job("a");
    unreadable["spec"]["schedule"] = json!(5);
    for (mut old, mut new) in [
        (cron_job("a"), cron_job("b")),
        (unreadable.clone(), unreadable),
    ] {
        assert!(!allowed(&old, &new).await);

        for object in [&mut old, &mut new] {
            object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        assert!(allowed(&old, &new).await);

        // The content of the object may still be acted upon.
        new["spec"]["suspend"] = json!(true);
        assert!(!allowed(&old, &new).await);
    }
}

#[tokio::test]
async fn a_validator_may_guard_finalizers() {
    let mut old = cron_job("a");
    old["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    old["metadata"]["finalizers"] = json!(["example.com/backup"]);
    old["metadata"]["labels"] = json!({"locked": "true"});
    let without = |field: &str| {
        let mut new = old.clone();
        new["metadata"].as_object_mut().unwrap().remove(field);
        new
    };

    let kept = response(VALIDATE, "UPDATE", &without("finalizers"), &old).await;
    assert_eq!(kept["allowed"], false);
    let field = &kept["status"]["details"]["causes"][0]["field"];
    assert_eq!(field, "metadata.finalizers");
    let unlocked = response(VALIDATE, "UPDATE", &without("labels"), &old).await;
    assert_eq!(unlocked["allowed"], true);
    // Without such a guard, whatever else the validator denies.
    let removed = response(STRICT, "UPDATE", &without("finalizers"), &old).await;
    assert_eq!(removed["allowed"], true);
}

/// A value that does not fit may be a secret.
#[test]
fn an_old_object_that_cannot_be_read_is_logged_without_its_value() {
    let mut bad = cron_job("a");
    bad["spec"]["suspend"] = json!("hunter2");
    let lines = logged("off,kbr_runtime=info".into(), || {
        let review = review("DELETE", &Value::Null, &bad);
        let _ = answer(VALIDATE, &review).now_or_never().unwrap();
    });

    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["field"], "spec.suspend");
    assert!(!format!("{lines:?}").contains("hunter2"), "{lines:?}");
}

#[tokio::test]
async fn a_panic_is_a_denial() {
    for path in [MUTATE, VALIDATE] {
        let response = create(path, "panic").await;

        assert_eq!(response["allowed"], false);
        assert_eq!(response["status"]["code"], 500);
        assert_eq!(response["status"]["reason"], "InternalError");
        let message = response["status"]["message"].as_str().unwrap();
        assert!(message.starts_with("the webhook panicked: "), "{message}");
        assert!(message.contains("as it was asked to"), "{message}");
    }
}

#[tokio::test]
async fn a_body_that_is_no_review_for_this_webhook_is_refused() {
    let good = review("CREATE", &cron_job("a"), &Value::Null);
    let changed = |pointer: &str, value: Value| {
        let mut review = good.clone();
        *review.pointer_mut(pointer).unwrap() = value;
        review
    };
    for (review, expected) in [
        (
            json!({}),
            "expected AdmissionReview of admission.k8s.io/v1: missing field",
        ),
        (
            json!([]),
            "expected AdmissionReview of admission.k8s.io/v1: invalid length",
        ),
        (
            changed("/apiVersion", json!("admission.k8s.io/v1beta1")),
            "expected AdmissionReview of admission.k8s.io/v1, not AdmissionReview of admission.k8s.io/v1beta1",
        ),
        (
            changed("/request", Value::Null),
            "the review has no request",
        ),
        (
            changed("/request/kind/kind", json!("Job")),
            "this webhook is for CronJob of batch/v1, not for Job of batch/v1",
        ),
        (
            changed("/request/operation", json!("EAT")),
            "expected AdmissionReview",
        ),
        (
            changed("/request/object", Value::Null),
            "the Create request has no `object`",
        ),
    ] {
        for path in [MUTATE, VALIDATE] {
            let reason = answer(path, &review).await.unwrap_err();
            assert!(reason.starts_with(expected), "{reason}");
        }
    }
}

/// Sends `body` to each webhook; the answer does not matter.
fn survives(webhooks: &Webhooks, body: &[u8]) {
    for path in [MUTATE, VALIDATE] {
        let webhook = webhooks.at(path).unwrap();
        let _ = webhook.answer(body).now_or_never().unwrap();
    }
}

proptest! {
    #[test]
    fn no_body_makes_it_panic(body in prop::collection::vec(any::<u8>(), 0..64)) {
        survives(&webhooks(), &body);
    }

    #[test]
    fn no_damage_to_a_review_makes_it_panic(
        operation in "CREATE|UPDATE|DELETE", place in any::<prop::sample::Index>(), byte: u8, cut: bool,
    ) {
        let object = cron_job("a");
        let mut body = serde_json::to_vec(&review(&operation, &object, &object)).unwrap();
        let place = place.index(body.len());
        body[place] = byte;
        if cut {
            body.truncate(place + 1);
        }
        survives(&webhooks(), &body);
    }
}
