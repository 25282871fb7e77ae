// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::api::{ObjectList, WatchEvent};
use serde_json::{Value, json};

fn received<K>(text: &str) -> Received<K> {
    Received::read(text).unwrap()
}

fn deployment(name: &str, replicas: Value) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "uid": name, "resourceVersion": "1"},
        "spec": {"replicas": replicas, "selector": {}, "template": {}},
    })
}

#[test]
fn an_object_is_kept_without_its_managed_fields() {
    let object = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "a",
            "namespace": "default",
            "uid": "1234",
            "resourceVersion": "7",
            "labels": {"managedFields": "not these"},
            "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}],
            "generation": 3,
        },
        "spec": {"selector": {}, "template": {}, "replicas": 2},
    });
    let received = received::<Deployment>(&object.to_string());

    assert!(!received.text.contains("kubectl"), "{}", received.text);
    let opened = received.open().unwrap();
    let mut expected: Deployment = serde_json::from_value(object).unwrap();
    expected.metadata.managed_fields = None;
    assert_eq!(opened, expected);
    for metadata in [received.meta(), &expected.metadata] {
        assert_eq!(metadata.name.as_deref(), Some("a"));
        assert_eq!(metadata.namespace.as_deref(), Some("default"));
        assert_eq!(metadata.uid.as_deref(), Some("1234"));
        assert_eq!(metadata.resource_version.as_deref(), Some("7"));
    }
}

#[test]
fn the_rest_of_the_text_stays_as_it_was_written() {
    for (text, expected) in [
        (
            r#"{"kind":"A","metadata": { "managedFields" : [ {"a": "]"} ] , "name":"a"}}"#,
            r#"{"kind":"A","metadata": { "managedFields" : null , "name":"a"}}"#,
        ),
        (
            r#"{"kind":"A","metadata":{"name":"\u00e9\n"},"spec":1.10}"#,
            r#"{"kind":"A","metadata":{"name":"\u00e9\n"},"spec":1.10}"#,
        ),
        (
            r#"{"kind":"A","metadata":{"managedFields":null}}"#,
            r#"{"kind":"A","metadata":{"managedFields":null}}"#,
        ),
    ] {
        assert_eq!(&*received::<ConfigMap>(text).text, expected);
    }
    // A type may not know all fields.
    let text = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"new":[1.10]}"#;
    assert_eq!(&*received::<ConfigMap>(text).text, text);
}

#[test]
fn an_object_without_readable_metadata_is_an_error() {
    for text in [
        r#"{"kind":"A"}"#,
        r#"{"kind":"A","metadata":{"name":1}}"#,
        r#"{"kind":"A","metadata":{"managedFields":[],"managedFields":[]}}"#,
    ] {
        assert!(Received::<ConfigMap>::read(text).is_err(), "{text}");
    }
}

#[test]
fn owners_are_known_whatever_their_version() {
    let owner = |api_version: &str, kind: &str, controller: bool| json!({"apiVersion": api_version, "kind": kind, "name": "o", "uid": kind, "controller": controller});
    let owners = json!([
        owner("apps/v1beta2", "Deployment", true),
        owner("v1", "Secret", false)
    ]);
    let object = json!({"metadata": {"name": "a", "ownerReferences": owners}});
    let received = received::<ConfigMap>(&object.to_string());

    assert!(is_controlled_by_a::<Deployment>(&received.owners, &()));
    assert!(!is_controlled_by_a::<ConfigMap>(&received.owners, &()));
    use k8s_openapi::api::core::v1::Secret;
    assert!(!is_controlled_by_a::<Secret>(&received.owners, &()));
    assert!(received.owners[1].is::<Secret>(&()));
    let entry = received.into_entry(Box::default());
    assert_eq!(entry.controller(), Some("Deployment"));
}

#[test]
fn an_unreadable_object_does_not_break_its_list() {
    let list = json!({
        "apiVersion": "apps/v1",
        "kind": "DeploymentList",
        "metadata": {"resourceVersion": "7"},
        "items": [
            deployment("good", json!(1)),
            deployment("bad", json!(5_000_000_000_i64)),
        ],
    });

    let list: ObjectList<Received<Deployment>> = serde_json::from_str(&list.to_string()).unwrap();

    let good = list.items[0].open().unwrap();
    assert_eq!(good.metadata.name.as_deref(), Some("good"));
    assert_eq!(list.items[1].name_any(), "bad");
    let error = list.items[1].open().unwrap_err();
    assert_eq!(error.field, "spec.replicas");
    assert_eq!(error.reason, "expected i32");
}

#[test]
fn an_event_with_an_unreadable_object_is_still_an_event() {
    // The API server writes the type first.
    let object = deployment("bad", json!("hunter2"));
    let event = format!("{{\"type\": \"MODIFIED\", \"object\": {object}}}");

    let event: WatchEvent<Received<Deployment>> = serde_json::from_str(&event).unwrap();

    let WatchEvent::Modified(object) = event else {
        panic!("{event:?}");
    };
    assert_eq!(object.open().unwrap_err().reason, "expected i32");
    assert_eq!(object.name_any(), "bad");
}

#[test]
fn a_reason_never_holds_the_value() {
    for secret in ["hunter2", "a, expected b", "x at line 1"] {
        let text = deployment("bad", json!(secret)).to_string();
        let error = received::<Deployment>(&text).open().unwrap_err();
        assert_eq!(error.reason, "expected i32");
    }
}

#[test]
fn debug_output_has_no_values() {
    let object = json!({"metadata": {"name": "a"}, "data": {"password": "hunter2"}});
    let received = received::<ConfigMap>(&object.to_string());
    let clone = received.clone();
    assert_eq!(clone.open().unwrap().data.unwrap()["password"], "hunter2");
    for text in [
        format!("{received:?}"),
        format!("{:?}", clone.into_entry(Box::default())),
    ] {
        assert!(!text.contains("hunter2"), "{text}");
    }
}
