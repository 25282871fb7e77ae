// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;

fn changes(document: &Value) -> Vec<String> {
    let candidates = candidates(document).into_iter();
    candidates.map(|(what, _)| what).collect()
}

#[test]
fn numbers_booleans_and_texts_of_the_spec_are_changed_one_at_a_time() {
    let document = json!({
        "metadata": { "generation": 1 },
        "spec": { "image": "web:1", "ports": [{ "a/b": 80 }], "paused": false },
    });

    assert_eq!(
        changes(&document),
        [
            "spec.paused from false to true",
            "spec.ports.0.a/b from 80 to 81",
            "spec.ports.0.a/b from 80 to 79",
            "spec.image from \"web:1\" to \"web:1x\"",
        ]
    );
    let (_, changed) = &candidates(&document)[0];
    assert_eq!(changed["spec"]["paused"], true);
    assert_eq!(changed["spec"]["ports"], document["spec"]["ports"]);
}

#[test]
fn an_empty_spec_is_not_changed() {
    assert_eq!(changes(&json!({ "spec": {} })), [""; 0]);
    assert_eq!(changes(&json!({})), [""; 0]);
}
