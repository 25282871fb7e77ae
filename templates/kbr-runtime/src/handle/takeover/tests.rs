// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests, with canned responses of an API server.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;

use super::*;
use crate::cache::tests::{empty, list};
use crate::handle::Context;
use crate::handle::tests::{Requests, World, answering, context, status, stored, wanted};
use crate::lock::lock;

#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(group = "example.com", version = "v1", kind = "Copy", namespaced)]
#[kube(status = "CopyStatus", derive = "PartialEq")]
struct CopySpec {}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct CopyStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    phase: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_sync: Option<Sync>,
    #[serde(default)]
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
struct Sync {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<String>,
}

/// A Copy as an API server returns it.
fn copy(version: u32, status: &Value, managers: &Value) -> Value {
    json!({
        "apiVersion": "example.com/v1",
        "kind": "Copy",
        "metadata": {
            "name": "a",
            "namespace": "here",
            "uid": "copy-1",
            "resourceVersion": version.to_string(),
            "managedFields": managers,
        },
        "spec": {},
        "status": status,
    })
}

/// Who has written which fields of the status.
fn entry(manager: &str, operation: &str, fields: Value) -> Value {
    json!({
        "manager": manager,
        "operation": operation,
        "apiVersion": "example.com/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": { "f:status": fields },
        "subresource": "status",
    })
}

/// As `r#"k:{"type":"Ready"}"#`.
fn key(type_: &str) -> String {
    format!("k:{}", json!({ "type": type_ }))
}

/// What is removed of a status that has these fields after the apply of `wanted`.
fn removed(shown: &Value, wanted: &Value, managers: &Value) -> Option<Value> {
    removed_by(&TakeOver::Updates, shown, wanted, managers)
}

fn removed_by(
    takes_over: &TakeOver,
    shown: &Value,
    wanted: &Value,
    managers: &Value,
) -> Option<Value> {
    let object = copy(5, shown, managers).to_string();
    let answer: Answer<Copy> = Answer::read(&object).unwrap();
    let typed = super::shown(&answer.object.open().unwrap()).unwrap();
    answer.leftover(&typed, wanted, takes_over, "copy", &BTreeSet::new())
}

#[test]
fn fields_that_another_implementation_wrote_are_removed_if_they_are_not_wanted() {
    let shown = json!({ "phase": "Old", "lastSync": { "start": "1", "end": "2" }, "other": 1 });
    let theirs = json!({ "f:phase": {}, "f:lastSync": { ".": {}, "f:start": {}, "f:end": {} }, "f:other": {} });
    let managers = json!([entry("manager", "Update", theirs)]);
    // A field that the type does not have stays.
    let all = json!({ "phase": null, "lastSync": null });
    assert_eq!(removed(&shown, &json!({}), &managers), Some(all.clone()));
    // `None` of a type that does not leave it out.
    let nulls = json!({ "phase": null, "lastSync": null });
    assert_eq!(removed(&shown, &nulls, &managers), Some(all));
    let wanted = json!({ "phase": "Old", "lastSync": { "end": "2" } });
    let start = json!({ "lastSync": { "start": null } });
    assert_eq!(removed(&shown, &wanted, &managers), Some(start));
    let wanted = json!({ "phase": "Old", "lastSync": { "start": "1", "end": "2" } });
    assert_eq!(removed(&shown, &wanted, &managers), None);
}

/// Go has written it too, with the same values, so no apply removes it.
#[test]
fn a_condition_that_this_process_wrote_before_is_removed_once_it_is_left_out() {
    let condition = |type_: &str| {
        json!({
            "type": type_,
            "status": "True",
            "reason": "Go",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    let shown = json!({ "conditions": [condition("Old"), condition("Other")] });
    let all =
        json!({ key("Old"): { ".": {}, "f:type": {} }, key("Other"): { ".": {}, "f:type": {} } });
    let managers = json!([entry("manager", "Update", json!({ "f:conditions": all }))]);
    let object = copy(5, &shown, &managers).to_string();
    let answer: Answer<Copy> = Answer::read(&object).unwrap();
    let typed = super::shown(&answer.object.open().unwrap()).unwrap();
    let applied = BTreeSet::from(["Old".to_owned()]);
    let rest = answer.leftover(&typed, &json!({}), &TakeOver::Updates, "copy", &applied);
    let rest = rest.unwrap();
    assert_eq!(rest["conditions"].as_array().unwrap().len(), 1);
    assert_eq!(rest["conditions"][0]["type"], "Other");
}

#[test]
fn fields_that_others_apply_stay() {
    let shown = json!({ "phase": "Old", "lastSync": { "start": "1", "end": "2" } });
    let theirs = json!({ "f:phase": {}, "f:lastSync": { ".": {}, "f:start": {}, "f:end": {} } });
    let another = json!({ "f:lastSync": { "f:end": {} } });
    let managers = json!([
        entry("manager", "Update", theirs),
        entry("another", "Apply", another)
    ]);
    let rest = json!({ "phase": null, "lastSync": { "start": null } });
    assert_eq!(removed(&shown, &json!({}), &managers), Some(rest));
    // Nobody has written it: for example a default of the schema.
    assert_eq!(removed(&shown, &json!({}), &json!([])), None);
}

#[test]
fn whose_fields_are_taken_over_can_be_said() {
    let shown = json!({ "phase": "Old", "lastSync": { "start": "1" } });
    let managers = json!([
        entry("manager", "Update", json!({ "f:phase": {} })),
        entry(
            "old-name",
            "Apply",
            json!({ "f:lastSync": { "f:start": {} } })
        ),
    ]);
    let of = |names: &[&str]| {
        let names = names.iter().map(|&name| name.to_owned());
        let takes_over = TakeOver::Of(names.collect());
        removed_by(&takes_over, &shown, &json!({}), &managers)
    };
    assert_eq!(of(&[]), None);
    assert_eq!(of(&["manager"]), Some(json!({ "phase": null })));
    // Not even its own name makes a controller remove what it has just applied.
    assert_eq!(of(&["copy"]), None);
    let start = json!({ "lastSync": { "start": null } });
    assert_eq!(of(&["old-name"]), Some(start));
}

#[test]
fn conditions_of_types_that_the_controller_does_not_write_stay() {
    let condition = |type_: &str| json!({ "type": type_, "status": "True", "reason": "A", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z" });
    let mut ready = condition("Ready");
    ready["observedGeneration"] = json!(3);
    let shown = json!({ "conditions": [condition("Synced"), ready] });
    let of_go = json!({ "f:conditions": {
        ".": {},
        key("Synced"): { ".": {}, "f:type": {}, "f:status": {} },
        key("Ready"): { ".": {}, "f:type": {}, "f:status": {}, "f:observedGeneration": {} },
    } });
    let managers = json!([entry("manager", "Update", of_go)]);
    assert_eq!(removed(&shown, &json!({}), &managers), None);
    // A field of a condition that it does write.
    let wanted = json!({ "conditions": [condition("Ready")] });
    let rest = json!({ "conditions": [condition("Synced"), condition("Ready")] });
    assert_eq!(removed(&shown, &wanted, &managers), Some(rest));
    // A condition that it has written and does not want any more.
    let own = json!({ "f:conditions": { key("Ready"): { "f:reason": {} } } });
    let both = json!([managers[0], entry("copy", "Apply", own)]);
    let rest = json!({ "conditions": [condition("Synced")] });
    assert_eq!(removed(&shown, &json!({}), &both), Some(rest));
}

#[test]
fn only_kinds_with_a_domain_of_their_own_are_taken_over_by_default() {
    for group in [
        "",
        "apps",
        "batch",
        "networking.k8s.io",
        "cluster.x-k8s.io",
        "a.kubernetes.io",
    ] {
        assert!(is_built_in(group), "{group}");
    }
    for group in ["example.com", "cert-manager.io", "notk8s.io"] {
        assert!(!is_built_in(group), "{group}");
    }
}

/// The answers to the requests of `Handle::apply_status`, which is called twice for a Copy in version 3 with the phase `Old`.
/// Returns whether it was written each time, and the requests.
async fn written_twice(
    answers: impl IntoIterator<Item = Value>,
) -> (Vec<kube::Result<bool>>, Vec<Value>) {
    let (client, requests): (_, Requests) = answering(answers);
    let object: Copy = serde_json::from_value(copy(3, &old(), &json!([]))).unwrap();
    let cache = empty::<Copy>();
    list(&cache, &[object]);
    let context = Arc::new(Context {
        field_manager: "copy".to_owned(),
        ..context(cache.clone(), client)
    });
    let mut written = Vec::new();
    for _ in 0..2 {
        let object = cache.list().remove(0);
        let handle = Handle::new(object, context.clone());
        written.push(handle.apply_status(&CopyStatus::default()).await);
    }
    let requests = lock(&requests);
    let bodies = requests.iter().map(|(_, body)| body.clone());
    (written, bodies.collect())
}

fn old() -> Value {
    json!({ "phase": "Old", "conditions": [] })
}

/// After an apply of no conditions.
fn managers() -> Value {
    let (phase, conditions) = (json!({ "f:phase": {} }), json!({ "f:conditions": {} }));
    json!([
        entry("manager", "Update", phase),
        entry("copy", "Apply", conditions)
    ])
}

#[tokio::test]
async fn a_field_is_removed_within_one_reconcile_and_only_once() {
    let new = copy(5, &json!({ "conditions": [] }), &json!([]));
    let (written, requests) = written_twice([copy(4, &old(), &managers()), new]).await;
    assert!(written[0].as_ref().unwrap());
    assert!(!written[1].as_ref().unwrap());
    let metadata = json!({ "resourceVersion": "4" });
    let patch = json!({ "metadata": metadata, "status": { "phase": null } });
    assert_eq!(requests[1], patch);
    assert_eq!(requests.len(), 2);
}

/// Such as a field with a default in the schema.
#[tokio::test]
async fn a_field_that_cannot_be_removed_is_given_up() {
    let same = copy(3, &old(), &managers());
    let (written, requests) = written_twice([same.clone(), same]).await;
    assert!(!written[1].as_ref().unwrap());
    assert_eq!(requests.len(), 2);
}

/// Both have written a part of `lastSync`, and the schema requires the other implementation's part.
#[tokio::test]
async fn an_apply_that_would_leave_half_of_a_field_is_made_after_the_removal() {
    let invalid = status(422, "Invalid");
    let without = copy(4, &json!({ "conditions": [] }), &json!([]));
    let answers = [
        invalid.clone(),
        copy(3, &old(), &managers()),
        without.clone(),
        without,
    ];
    let (written, requests) = written_twice(answers).await;
    assert!(written[0].as_ref().unwrap());
    assert!(!written[1].as_ref().unwrap());
    // It changes nothing, and shows who has written what.
    assert_eq!(
        requests[1],
        json!({ "metadata": { "resourceVersion": "3" }, "status": {} })
    );
    assert_eq!(requests[2]["status"], json!({ "phase": null }));
    assert_eq!(requests[3]["metadata"]["resourceVersion"], "4");

    // It was not because of that.
    let as_before = copy(3, &old(), &json!([]));
    let answers = [invalid.clone(), as_before.clone(), invalid, as_before];
    let (written, requests) = written_twice(answers).await;
    let refused = written[0].as_ref().unwrap_err();
    assert!(matches!(refused, kube::Error::Api(status) if status.code == 422));
    assert_eq!(requests.len(), 4);
}

/// An entry of `managedFields` for the labels and the given subresource.
fn labels(manager: &str, operation: &str, subresource: &str, label: &str) -> ManagedFieldsEntry {
    let label = format!("f:{label}");
    let entry = json!({
        "manager": manager,
        "operation": operation,
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": { "f:metadata": { "f:labels": { ".": {}, label: {} } } },
        "subresource": subresource,
    });
    serde_json::from_value(entry).unwrap()
}

#[test]
fn the_fields_of_named_managers_are_given_to_the_controller() {
    let takes_over = TakeOver::Of(vec!["manager".to_owned(), "old-name".to_owned()]);
    let of_others = [
        labels("kubectl-label", "Update", "", "team"),
        labels("manager", "Update", "scale", "a"),
    ];
    let mut managers = of_others.to_vec();
    assert_eq!(takes_over.give(managers.clone(), "copy"), None);
    managers.push(labels("manager", "Update", "", "b"));
    managers.push(labels("old-name", "Apply", "", "c"));
    for own in [None, Some(labels("copy", "Apply", "", "b"))] {
        let all = managers.iter().cloned().chain(own).collect();
        let mut given = takes_over.give(all, "copy").unwrap();
        let own = given.pop().unwrap();
        assert_eq!(given.len(), 2);
        assert!(of_others.iter().all(|entry| given.contains(entry)));
        assert!(is_applied_by(&own, "copy"));
        let fields = json!({ "f:metadata": { "f:labels": { ".": {}, "f:b": {}, "f:c": {} } } });
        assert_eq!(own.fields_v1.unwrap().0, fields);
    }
    // In a version of the API in which the fields may be others.
    let mut older = labels("manager", "Update", "", "d");
    older.api_version = Some("v1beta1".to_owned());
    let all = vec![labels("copy", "Apply", "", "b"), older];
    assert_eq!(takes_over.give(all, "copy"), None);
}

#[test]
fn an_entry_about_a_field_and_one_about_its_parts_are_about_both() {
    for (mut own, theirs) in [
        (json!({ "f:a": {} }), json!({ "f:a": { "f:b": {} } })),
        (json!({ "f:a": { "f:b": {} } }), json!({ "f:a": {} })),
    ] {
        add_fields(&mut own, &theirs);
        assert_eq!(own, json!({ "f:a": { ".": {}, "f:b": {} } }));
    }
}

#[tokio::test]
async fn a_child_is_taken_over_once_and_before_it_is_applied() {
    let answer = |version: u32| {
        let mut map = json!(stored("a", version));
        map["metadata"]["managedFields"] = json!([labels("manager", "Update", "", "old")]);
        map
    };
    let answers = [answer(5), answer(6), answer(7), answer(8)];
    let world = World::new(&[stored("a", 5)], answers).taking_over(&["manager"]);
    world.handle.apply(&wanted("a")).await.unwrap();
    world.handle.apply(&wanted("b")).await.unwrap();

    let requests = lock(&world.requests).clone();
    let metadata: Vec<_> = requests.iter().map(|(_, it)| &it["metadata"]).collect();
    assert_eq!(
        *metadata[0],
        json!({ "uid": "map-1", "resourceVersion": "5" })
    );
    let given = &metadata[1]["managedFields"][0];
    assert_eq!(
        (&given["manager"], &given["operation"]),
        (&json!("test"), &json!("Apply"))
    );
    let versions: Vec<_> = metadata.iter().map(|it| &it["resourceVersion"]).collect();
    assert_eq!(versions, ["5", "5", "6", "7"]);

    // There is nothing to take over in an object that does not exist.
    let world = World::new(&[], [answer(5)]).taking_over(&["manager"]);
    world.handle.apply(&wanted("a")).await.unwrap();
    assert_eq!(world.methods().len(), 1);
}
