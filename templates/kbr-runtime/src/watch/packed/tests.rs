// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use serde_json::json;

fn packed<K: DeserializeOwned + Resource>(text: &str) -> Packed<K> {
    Packed::read(text).unwrap()
}

#[test]
fn packing_an_object_removes_only_its_managed_fields() {
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
    let packed = packed::<Deployment>(&object.to_string());

    assert!(!packed.text.contains("kubectl"), "{}", packed.text);
    let opened = packed.open().unwrap();
    assert_eq!(opened.metadata.managed_fields, None);
    let mut expected: Deployment = serde_json::from_value(object).unwrap();
    expected.metadata.managed_fields = None;
    assert_eq!(opened, expected);
    for metadata in [&packed.metadata, &expected.metadata] {
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
        // Its metadata cannot be parsed.
        (
            r#"{"kind":"A","metadata":{"managedFields":[],"managedFields":[]}}"#,
            r#"{"kind":"A","metadata":{"managedFields":[],"managedFields":[]}}"#,
        ),
        (r#"{"kind":"A"}"#, r#"{"kind":"A"}"#),
    ] {
        assert_eq!(&*without_managed_fields(text), expected);
    }
    // A type may not know all fields.
    let text = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"new":[1.10]}"#;
    assert_eq!(&*packed::<ConfigMap>(text).text, text);
}

#[test]
fn a_decode_error_is_reported_with_its_field() {
    let object = json!({
        "metadata": {"name": "a", "managedFields": []},
        "spec": {"selector": {}, "template": {}, "replicas": "two"},
    });
    let error = Packed::<Deployment>::read(&object.to_string()).unwrap_err();
    assert_eq!(error.field, "spec.replicas");
}

#[test]
fn debug_output_has_no_values() {
    let object = json!({"metadata": {"name": "a"}, "data": {"password": "hunter2"}});
    let packed = packed::<ConfigMap>(&object.to_string());
    let text = format!("{packed:?}");
    assert!(
        text.contains("\"a\"") && !text.contains("hunter2"),
        "{text}"
    );
    let clone = packed.clone();
    assert_eq!(clone.open().unwrap().data.unwrap()["password"], "hunter2");
    assert_eq!(clone.name_any(), "a");
}
