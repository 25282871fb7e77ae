// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;

#[test]
fn the_condition_is_found_in_any_kind_that_has_it() {
    let with = |status| condition(&json!({ "metadata": {}, "status": status }));

    assert_eq!(condition(&json!({ "data": {} })), None);
    assert_eq!(with(json!({ "conditions": "none" })), None);
    let ready = json!({ "type": "Ready", "status": "True", "reason": "Done" });
    assert_eq!(with(json!({ "conditions": [ready] })), None);
    for (status, expected) in [("True", true), ("False", false), ("Unknown", false)] {
        let paused = json!({ "type": "Paused", "status": status });
        let conditions = json!({ "conditions": [ready, paused] });
        assert_eq!(with(conditions), Some(expected));
    }
}
