// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Values with and without something too deep.

use serde_json::json;
use serde_json::value::to_raw_value;

use super::*;

#[test]
fn values_that_are_not_too_deep_are_complete() {
    let value = json!({"a": [1, -2, 0.5, u64::MAX, null, true, "t\n\"", {"b": {}}], "": []});
    let text = to_raw_value(&value).unwrap();

    assert_eq!(shallow(&text, 5).unwrap(), value);
}

#[test]
fn values_that_are_too_deep_are_null() {
    let text = r#"{"a":[[1]],"b":2}"#;
    let text: &RawValue = serde_json::from_str(text).unwrap();
    assert_eq!(shallow(text, 2).unwrap(), json!({"a": [null], "b": 2}));

    let text = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let text: &RawValue = serde_json::from_str(&text).unwrap();
    assert_eq!(shallow(text, 2).unwrap(), json!([[null]]));
}
