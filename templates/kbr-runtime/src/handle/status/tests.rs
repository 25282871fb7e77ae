// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use serde_json::json;

use super::*;

fn differs(shown: Value, wanted: &Value) -> bool {
    !is_same(&own(shown, wanted, &BTreeSet::new()), wanted)
}

fn condition(type_: &str, status: &str) -> Value {
    json!({ "type": type_, "status": status })
}

#[test]
fn a_status_that_the_object_has_is_not_written() {
    let wanted =
        json!({ "size": 1, "note": null, "names": [], "conditions": [condition("Ready", "True")] });
    assert!(!differs(
        json!({ "size": 1, "conditions": [condition("Ready", "True")] }),
        &wanted
    ));
    assert!(differs(
        json!({ "size": 2, "conditions": [condition("Ready", "True")] }),
        &wanted
    ));
    assert!(differs(
        json!({ "size": 1, "conditions": [condition("Ready", "False")] }),
        &wanted
    ));
    assert!(differs(Value::Null, &wanted));
    assert!(!differs(Value::Null, &json!({})));
}

#[test]
fn a_field_that_is_no_longer_in_the_status_is_removed() {
    assert!(differs(
        json!({ "size": 1, "note": "old" }),
        &json!({ "size": 1 })
    ));
}

#[test]
fn a_condition_that_was_written_before_and_is_left_out_is_a_difference() {
    let wanted = json!({ "conditions": [condition("Ready", "True")] });
    let shown = json!({ "conditions": [condition("Old", "True"), condition("Ready", "True")] });
    let applied = BTreeSet::from(["Old".to_owned(), "Ready".to_owned()]);
    assert!(!is_same(&own(shown, &wanted, &applied), &wanted));
}

#[test]
fn conditions_of_others_are_not_compared() {
    let wanted = json!({ "conditions": [condition("Ready", "True")] });
    let both = json!([condition("Paused", "True"), condition("Ready", "True")]);
    assert!(!differs(json!({ "conditions": both }), &wanted));
    // Something else has the name.
    assert!(differs(json!({ "conditions": ["Ready"] }), &wanted));
}
