// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use serde_json::json;

use super::*;

fn differs(path: &str, reason: &str) -> Differs {
    Differs {
        kind: "Task".to_owned(),
        path: path.to_owned(),
        reason: reason.to_owned(),
        is_found: AtomicBool::new(false),
    }
}

#[test]
fn a_field_is_removed_also_below_lists_and_with_dots_in_its_name() {
    let mut task = json!({
        "kind": "Task",
        "metadata": { "annotations": { "example.com/at": "1", "example.com/by": "2" } },
        "status": { "parts": [{ "tries": 1, "name": "a" }, { "tries": 2 }], "tries": 3 },
    });

    differs("status.parts.tries", "it counts").strip(&mut task);
    differs("metadata.annotations.example.com/at", "it counts").strip(&mut task);

    let status = json!({ "parts": [{ "name": "a" }, {}], "tries": 3 });
    let annotations = json!({ "example.com/by": "2" });
    assert_eq!(task["status"], status);
    assert_eq!(task["metadata"]["annotations"], annotations);
}

#[test]
fn other_kinds_keep_the_field() {
    let object = json!({ "kind": "Job", "status": { "tries": 1 } });
    let mut stripped = object.clone();

    differs("status.tries", "it counts").strip(&mut stripped);

    assert_eq!(stripped, object);
}

#[test]
fn a_field_needs_a_reason_and_must_exist() {
    let without_reason = differs("status.tries", " ").problem().unwrap();
    assert!(
        without_reason.contains("without a reason"),
        "{without_reason}"
    );

    let field = differs("status.tries", "it counts");
    let missing = field.problem().unwrap();
    assert!(
        missing.contains("no Task has had a field `status.tries`"),
        "{missing}"
    );

    field.strip(&mut json!({ "kind": "Task", "status": { "tries": 1 } }));
    assert_eq!(field.problem(), None);
}
