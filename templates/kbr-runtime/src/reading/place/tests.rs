// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests; `serde_path_to_error` is the oracle.

use k8s_openapi::api::apps::v1::Deployment;
use serde_json::{Value, json};

use super::*;

#[derive(Debug, serde::Deserialize)]
#[allow(dead_code, reason = "only read")]
struct Twice {
    spec: Paused,
}

#[derive(Debug, serde::Deserialize)]
#[allow(dead_code, reason = "only read")]
struct Paused {
    paused: bool,
}

fn deployment() -> Value {
    json!({
        "metadata": {"name": "a", "labels": {"app.kubernetes.io/name": "é\"}\\", "": "x"}},
        "spec": {
            "replicas": 1,
            "paused": false,
            "selector": {"matchLabels": {}},
            "template": {"spec": {
                "containers": [
                    {"name": "first", "ports": [{"containerPort": 80}, {"containerPort": 443}]},
                    {"name": "second", "args": ["[{", "a,b"], "resources": {"limits": {"cpu": "1"}}},
                ],
                "terminationGracePeriodSeconds": 5,
            }},
        },
        "status": {"conditions": [{"type": "Available", "status": "True"}]},
    })
}

/// The JSON pointers of all values in `value`.
fn pointers(value: &Value, of: &str, found: &mut Vec<String>) {
    found.push(of.to_owned());
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let name = name.replace('/', "~1");
                pointers(value, &format!("{of}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                pointers(value, &format!("{of}/{index}"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn a_field_is_named_whatever_is_wrong_with_it() {
    let mut places = Vec::new();
    pointers(&deployment(), "", &mut places);
    let wrong = [
        json!(5),
        json!(-7.5),
        json!(5_000_000_000_i64),
        json!("x\" , y"),
        json!(true),
        json!(["a", {}]),
        json!({"a": [1]}),
        json!({}),
    ];
    let mut compared = 0;
    for place in &places {
        for wrong in &wrong {
            let mut object = deployment();
            *object.pointer_mut(place).unwrap() = wrong.clone();
            for text in [
                object.to_string(),
                serde_json::to_string_pretty(&object).unwrap(),
            ] {
                let deserializer = &mut serde_json::Deserializer::from_str(&text);
                let expected = serde_path_to_error::deserialize::<_, Deployment>(deserializer);
                let Err(expected) = expected else {
                    continue;
                };
                let error = serde_json::from_str::<Deployment>(&text).unwrap_err();
                let found = field(&text, &error);
                assert_eq!(found, expected.path().to_string(), "{error} in {text}");
                compared += 1;
            }
        }
    }
    assert!(compared > 200, "{compared}");
}

#[test]
fn a_duplicate_name_is_reported_for_its_container() {
    let text = r#"{"spec": {"paused": true, "paused": true}}"#;
    let error = serde_json::from_str::<Twice>(text).unwrap_err();
    assert_eq!(field(text, &error), "spec");
}

#[test]
fn a_text_that_is_not_json_causes_no_panic() {
    for text in [
        "",
        "{",
        "[[[",
        "\"",
        "{\"a\":",
        "é",
        "}}]]",
        ",,",
        "{\"a\":1}x",
    ] {
        let error = serde_json::from_str::<Value>(text).unwrap_err();
        field(text, &error);
    }
}
