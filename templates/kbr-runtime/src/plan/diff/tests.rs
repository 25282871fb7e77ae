// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use serde_json::json;

use super::*;

/// The lines of the diff.
fn lines_of(old: Option<&Value>, new: &Value, is_secret: bool) -> Vec<String> {
    let fields = fields(old, new, is_secret);
    fields.iter().map(ToString::to_string).collect()
}

#[test]
fn the_fields_that_differ_have_paths() {
    let old = json!({
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "resourceVersion": "1",
            "generation": 1,
            "labels": { "app.kubernetes.io/version": "1", "tier": "web" },
            "finalizers": ["a"],
        },
        "spec": {
            "replicas": 1,
            "containers": [{ "name": "a", "image": "a:1" }, { "name": "b", "image": "b:1" }],
            "args": ["x"],
        },
        "status": { "conditions": [{ "type": "Ready", "status": "True" }] },
    });
    let mut new = old.clone();
    new["metadata"]["resourceVersion"] = json!("2");
    new["metadata"]["generation"] = json!(2);
    new["metadata"]["labels"] = json!({ "app.kubernetes.io/version": "2" });
    new["metadata"]["finalizers"] = json!(["a", "b"]);
    new["spec"]["replicas"] = json!(3);
    new["spec"]["containers"] = json!([
        { "name": "b", "image": "b:2" },
        { "name": "a", "image": "a:1" },
        { "name": "c", "image": "c:1" },
    ]);
    new["spec"]["empty"] = json!({});
    new["status"]["conditions"][0]["status"] = json!("False");

    let expected = [
        r#"~ metadata.finalizers: ["a"] -> ["a","b"]"#,
        r#"~ metadata.labels[app.kubernetes.io/version]: "1" -> "2""#,
        r#"- metadata.labels.tier: "web""#,
        r#"~ spec.containers[name=b].image: "b:1" -> "b:2""#,
        r#"+ spec.containers[name=c].image: "c:1""#,
        r#"+ spec.containers[name=c].name: "c""#,
        "~ spec.replicas: 1 -> 3",
        r#"~ status.conditions[type=Ready].status: "True" -> "False""#,
    ];
    assert_eq!(lines_of(Some(&old), &new, false), expected);
    assert_eq!(fields(Some(&old), &old, false), []);
}

#[test]
fn a_new_object_has_all_its_fields_but_not_those_of_the_api_server() {
    let new = json!({
        "apiVersion": "v1",
        "metadata": { "name": "a", "uid": "u", "creationTimestamp": "now", "labels": { "a": "b" } },
        "data": { "text": "Hello" },
        "status": { "phase": "Active" },
    });
    let expected = [r#"+ data.text: "Hello""#, r#"+ metadata.labels.a: "b""#];
    assert_eq!(lines_of(None, &new, false), expected);
}

#[test]
fn the_values_of_a_secret_are_redacted() {
    let applied = "kubectl.kubernetes.io/last-applied-configuration";
    let old = json!({
        "metadata": { "annotations": { applied: "aGVsbG8=" } },
        "data": { "password": "aGVsbG8=", "same": "c2FtZQ==" },
        "type": "Opaque",
    });
    let mut new = old.clone();
    new["metadata"]["annotations"][applied] = json!("d29ybGQ=");
    new["data"]["password"] = json!("d29ybGQ=");
    new["type"] = json!("other");

    let lines = lines_of(Some(&old), &new, true);

    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines.contains(&r#"~ data.password: "(redacted)" -> "(redacted)""#.to_owned()));
    assert!(lines.contains(&r#"~ type: "Opaque" -> "other""#.to_owned()));
    let text = lines.join("\n");
    assert!(
        !text.contains("aGVsbG8") && !text.contains("d29ybGQ"),
        "{text}"
    );
}

#[test]
fn of_a_long_text_only_the_lines_that_differ_are_shown() {
    let old = json!({ "data": { "file": "a\nb\nc\n" } });
    let new = json!({ "data": { "file": "a\nx\ny\nc\n" } });
    let expected = "~ data.file:\n      - b\n      + x\n      + y";
    assert_eq!(lines_of(Some(&old), &new, false), [expected]);
}

#[test]
fn of_metadata_alone_nothing_else_is_said() {
    let old = json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "replicas": 1 } });
    let new = json!({ "kind": "PartialObjectMetadata", "metadata": { "labels": { "a": "c" } } });
    let expected = [r#"~ metadata.labels.a: "b" -> "c""#];
    assert_eq!(lines_of(Some(&old), &new, false), expected);
}
