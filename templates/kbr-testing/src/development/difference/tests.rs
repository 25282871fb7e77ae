// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use serde_json::{Value, json};

use super::difference;

fn lines(old: Value, new: Value) -> Vec<String> {
    difference(&old, &new)
}

#[test]
fn each_field_that_differs_has_a_line_with_its_path() {
    let old = json!({ "spec": { "replicas": 1, "paused": true, "same": {} } });
    let new = json!({ "spec": { "replicas": 2, "image": "a", "same": {} } });
    let expected = [
        "+ spec.image: \"a\"",
        "- spec.paused: true",
        "~ spec.replicas: 1 -> 2",
    ];
    assert_eq!(lines(old, new), expected);
}

#[test]
fn what_the_api_server_maintains_is_left_out() {
    let of = |version: &str| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "a", "resourceVersion": version, "generation": version,
                "managedFields": [{ "manager": version }] },
        })
    };
    assert_eq!(lines(of("1"), of("2")), [""; 0]);
    assert_eq!(lines(Value::Null, of("1")), ["+ metadata.name: \"a\""]);
}

#[test]
fn items_are_compared_by_what_identifies_them() {
    let condition = |name: &str, status: &str| json!({ "type": name, "status": status });
    let old =
        json!({ "conditions": [condition("A", "True"), condition("B", "True")], "args": ["a"] });
    let new = json!({ "conditions": [condition("C", "True"), condition("A", "False")], "args": ["a", "b"] });
    let expected = [
        "~ args: [\"a\"] -> [\"a\",\"b\"]",
        "+ conditions[C].status: \"True\"",
        "~ conditions[A].status: \"True\" -> \"False\"",
        "- conditions[B].status: \"True\"",
    ];
    assert_eq!(lines(old, new), expected);
}

#[test]
fn owners_are_names() {
    let owner = json!({ "apiVersion": "v1", "kind": "Captain", "name": "a", "uid": "1" });
    let new = json!({ "metadata": { "ownerReferences": [owner] } });
    let expected = ["+ metadata.ownerReferences: [\"Captain a\"]"];
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
    assert_eq!(all[0][0], "~ data.password: (hidden) -> (hidden)");
    assert_eq!(all[0].len(), 5, "{:?}", all[0]);
}

#[test]
fn a_long_value_is_cut_and_an_empty_one_is_shown() {
    let new = json!({ "data": { "a": "ä".repeat(1000) }, "spec": {}, "list": [] });
    let lines = lines(Value::Null, new);
    assert!(lines[0].ends_with("ä..."), "{lines:?}");
    assert!(lines[0].chars().count() < 140, "{lines:?}");
    assert_eq!(lines[1..], ["+ list: []", "+ spec: {}"]);
}
