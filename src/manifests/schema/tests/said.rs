//! What a user says with `extend(…)`, which schemars would not.

use serde_json::{Value, json};

use super::structural_schema;

/// The schema of `spec.field`, which Rust reads as `field`, and always writes if `is_written`.
fn of(field: &Value, is_written: bool) -> Value {
    let spec = json!({ "type": "object", "properties": { "field": field } });
    let root = json!({ "type": "object", "required": ["spec"], "properties": { "spec": spec } });
    let mut serialize = root.clone();
    if is_written {
        serialize["properties"]["spec"]["required"] = json!(["field"]);
    }
    let schema = structural_schema(&serialize, &root).expect("a schema");
    schema["properties"]["spec"]["properties"]["field"].clone()
}

#[test]
fn a_field_that_is_omitted_is_nullable_if_it_says_so() {
    let option = json!({ "type": ["string", "null"] });
    assert_eq!(
        of(&option, true),
        json!({ "nullable": true, "type": "string" })
    );
    assert_eq!(of(&option, false), json!({ "type": "string" }));
    let said = json!({ "type": ["string", "null"], "nullable": true });
    assert_eq!(
        of(&said, false),
        json!({ "nullable": true, "type": "string" })
    );
}

#[test]
fn alternatives_of_the_user_do_not_say_what_is_written() {
    let field = json!({
        "type": "object",
        "properties": { "a": { "type": ["string", "null"] }, "b": { "type": ["string", "null"] } },
        "oneOf": [{ "required": ["a"] }, { "required": ["b"] }],
    });
    assert_eq!(
        of(&field, false),
        json!({
            "oneOf": [{ "required": ["a"] }, { "required": ["b"] }],
            "properties": { "a": { "type": "string" }, "b": { "type": "string" } },
            "type": "object",
        })
    );
}

#[test]
fn a_pattern_of_null_leaves_a_format_as_it_is() {
    let pattern = |field: &Value| of(field, false).get("pattern").is_some();
    assert!(pattern(&json!({ "type": "string", "format": "date-time" })));
    assert!(!pattern(
        &json!({ "type": "string", "format": "date-time", "pattern": null })
    ));
}
