// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use serde_json::{Value, json};

use super::fields;

/// The lines of the diff.
fn lines(old: Value, new: Value) -> Vec<String> {
    let is_secret = [&old, &new].iter().any(|it| it["kind"] == "Secret");
    let fields = fields(&old, &new, is_secret);
    fields.iter().map(ToString::to_string).collect()
}

#[test]
fn each_field_that_differs_has_a_line_with_its_path() {
    let old = json!({
        "metadata": { "labels": { "app.kubernetes.io/version": "1", "tier": "web" } },
        "spec": { "replicas": 1, "paused": true, "same": {} },
        "status": { "phase": "New" },
    });
    let new = json!({
        "metadata": { "labels": { "app.kubernetes.io/version": "2" } },
        "spec": { "replicas": 2, "image": "a", "same": {} },
        "status": { "phase": "Old" },
    });
    let expected = [
        r#"~ metadata.labels[app.kubernetes.io/version]: "1" -> "2""#,
        r#"- metadata.labels.tier: "web""#,
        r#"+ spec.image: "a""#,
        "- spec.paused: true",
        "~ spec.replicas: 1 -> 2",
        r#"~ status.phase: "New" -> "Old""#,
    ];
    assert_eq!(lines(old, new), expected);
}

#[test]
fn what_the_api_server_sets_and_the_name_are_left_out() {
    let of = |version: &str| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "a", "resourceVersion": version, "generation": version,
                "managedFields": [{ "manager": version }] },
        })
    };
    assert_eq!(lines(of("1"), of("2")), [""; 0]);
    let new = json!({
        "metadata": { "name": "a", "uid": "u", "labels": { "a": "b" } },
        "data": { "text": "Hello" },
        "status": { "phase": "Active" },
    });
    let expected = [r#"+ data.text: "Hello""#, r#"+ metadata.labels.a: "b""#];
    assert_eq!(lines(Value::Null, new), expected);
}

#[test]
fn items_are_compared_by_what_identifies_them() {
    let condition = |name: &str, status: &str| json!({ "type": name, "status": status });
    let old =
        json!({ "conditions": [condition("A", "True"), condition("B", "True")], "args": ["a"] });
    let new = json!({ "conditions": [condition("C", "True"), condition("A", "False")], "args": ["a", "b"] });
    let expected = [
        r#"~ args: ["a"] -> ["a","b"]"#,
        r#"+ conditions[C].status: "True""#,
        r#"~ conditions[A].status: "True" -> "False""#,
        r#"- conditions[B].status: "True""#,
    ];
    assert_eq!(lines(old, new), expected);
}

#[test]
fn owners_are_names() {
    let owner = json!({ "apiVersion": "v1", "kind": "Captain", "name": "a", "uid": "1" });
    let new = json!({ "metadata": { "ownerReferences": [owner] } });
    let expected = [r#"+ metadata.ownerReferences: ["Captain a"]"#];
    assert_eq!(lines(Value::Null, new), expected);
}

#[test]
fn values_of_secrets_are_hidden_wherever_they_are() {
    let secret = |value: &str| {
        json!({
            "kind": "Secret",
            "metadata": { "annotations": { "kubectl.kubernetes.io/last-applied-configuration": value } },
            "data": { "password": value, "tls.key": value },
            "stringData": { "a.b": value, "c": value },
            "type": "Opaque",
        })
    };
    let all = [
        lines(secret("hunter2"), secret("swordfish")),
        lines(Value::Null, secret("hunter2")),
        lines(secret("hunter2"), Value::Null),
        lines(
            secret("hunter2"),
            json!({ "kind": "Secret", "data": "hunter2" }),
        ),
    ];
    for lines in &all {
        let text = lines.join("\n");
        assert!(
            !text.contains("hunter2") && !text.contains("swordfish"),
            "{text}"
        );
    }
    assert_eq!(all[0][0], r#"~ data.password: "(hidden)" -> "(hidden)""#);
    assert_eq!(all[0].len(), 5, "{:?}", all[0]);
    assert!(all[1].contains(&r#"+ type: "Opaque""#.to_owned()));
}

#[test]
fn a_long_value_is_cut_and_an_empty_one_is_shown() {
    let new = json!({ "data": { "a": "ä".repeat(1000) }, "list": [], "spec": {} });
    let lines = lines(Value::Null, new);
    assert!(lines[0].ends_with("ä..."), "{lines:?}");
    assert!(lines[0].chars().count() < 140, "{lines:?}");
    assert_eq!(lines[1..], ["+ list: []", "+ spec: {}"]);
}

#[test]
fn of_a_text_with_several_lines_only_those_that_differ_are_shown() {
    let old = json!({ "data": { "file": "a\nb\nc\n" } });
    let new = json!({ "data": { "file": "a\nx\ny\nc\n" } });
    let expected = "~ data.file:\n      - b\n      + x\n      + y";
    assert_eq!(lines(old, new), [expected]);
}

#[test]
fn of_metadata_alone_nothing_else_is_said() {
    let old = json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "replicas": 1 } });
    let new = json!({ "kind": "PartialObjectMetadata", "metadata": { "labels": { "a": "c" } } });
    let expected = [r#"~ metadata.labels.a: "b" -> "c""#];
    assert_eq!(lines(old, new), expected);
}
