//! The sentences of each keyword.

use serde_json::{Value, json};

use super::{crd, rendered};
use crate::manifests::schema::OF_TIMES;

/// The row of a field with that schema, without its name.
fn row(field: Value) -> String {
    let spec = json!({ "properties": { "field": field }, "required": ["field"], "type": "object" });
    let text = rendered(&[crd(
        json!({ "properties": { "spec": spec }, "type": "object" }),
    )]);
    let mut lines = text.lines();
    let row = lines.find_map(|line| line.strip_prefix("| `field` | "));
    row.unwrap_or_else(|| panic!("no row in\n{text}"))
        .to_owned()
}

/// Asserts that each field has the row next to it.
#[track_caller]
fn assert_rows(cases: &[(Value, &str)]) {
    for (field, expected) in cases {
        assert_eq!(row(field.clone()), *expected, "{field}");
    }
}

#[test]
fn a_row_says_type_default_and_bounds() {
    assert_rows(&[
        (json!({ "type": "string" }), "string | yes |  |  |"),
        (
            json!({ "default": "a", "type": "string" }),
            "string |  | `\"a\"` |  |",
        ),
        (
            json!({ "default": 0, "format": "int32", "type": "integer" }),
            "integer (int32) |  | `0` |  |",
        ),
        (
            json!({ "nullable": true, "type": "string" }),
            "string | yes |  | May be null. |",
        ),
        (
            json!({ "enum": ["A", "b|c", "", null], "nullable": true, "type": "string" }),
            "string | yes |  | May be null.<br>One of `A`, <code>b&#124;c</code>, `\"\"`. |",
        ),
        (
            json!({ "enum": [1, 2], "type": "integer" }),
            "integer | yes |  | One of `1`, `2`. |",
        ),
        (
            json!({ "maximum": 9, "minimum": 1, "type": "integer" }),
            "integer | yes |  | 1 to 9. |",
        ),
        (
            json!({ "minimum": 0.5, "type": "number" }),
            "number | yes |  | At least 0.5. |",
        ),
        (
            json!({ "exclusiveMinimum": true, "maximum": 1, "minimum": 0, "multipleOf": 0.25, "type": "number" }),
            "number | yes |  | More than 0, at most 1.<br>A multiple of 0.25. |",
        ),
        (
            json!({ "maxLength": 63, "minLength": 1, "pattern": "^(a|b)$", "type": "string" }),
            "string | yes |  | 1 to 63 characters.<br>Matches <code>^(a&#124;b)&#36;</code>. |",
        ),
        (
            json!({ "format": "date-time", "maxItems": 0, "minItems": 1, "pattern": OF_TIMES[0], "type": "string" }),
            "string (date-time) | yes |  |  |",
        ),
        (
            json!({ "maxLength": 1, "minLength": 0, "type": "string" }),
            "string | yes |  | At most 1 character. |",
        ),
        (
            json!({ "maxLength": 2, "minLength": 2, "type": "string" }),
            "string | yes |  | Exactly 2 characters. |",
        ),
    ]);
}

#[test]
fn a_row_says_what_elements_and_rules_demand() {
    assert_rows(&[
        (
            json!({
                "items": { "maxLength": 9, "type": "string" },
                "maxItems": 3,
                "type": "array",
                "x-kubernetes-list-type": "set",
            }),
            "list of strings | yes |  | At most 3 items.<br>A set: no value appears twice.<br>Each item: At most 9 characters. |",
        ),
        (
            json!({
                "additionalProperties": {
                    "items": { "description": "A number.", "minimum": 1, "nullable": true, "type": "integer" },
                    "type": "array",
                    "x-kubernetes-list-type": "atomic",
                },
                "minProperties": 1,
                "type": "object",
            }),
            "map of lists of integers | yes |  | At least 1 entry.<br>Each value: Server-side apply replaces it as a \
             whole.<br>Each value: Each item: A number.<br>Each value: Each item: May be null.<br>\
             Each value: Each item: At least 1. |",
        ),
        (
            json!({
                "type": "string",
                "x-kubernetes-validations": [
                    { "message": "it stays", "rule": "self  == oldSelf" },
                    { "rule": "self != 'a'" },
                    { "messageExpression": "'no ' + self", "rule": "self != 'b'" },
                ],
            }),
            "string | yes |  | Immutable: it stays<br>Rule `self != 'a'`.<br>Rule `self != 'b'`; the message is `'no ' + self`. |",
        ),
    ]);
}

#[test]
fn a_row_says_what_else_is_allowed() {
    assert_rows(&[
        (
            json!({ "anyOf": [{ "type": "integer" }, { "type": "string" }], "maximum": 9, "x-kubernetes-int-or-string": true }),
            "integer or string | yes |  | At most 9. |",
        ),
        (
            json!({ "example": "a", "externalDocs": { "url": "https://example.com" }, "type": "string" }),
            "string | yes |  | For example `a`.<br>See https://example.com. |",
        ),
        (json!({ "type": "object" }), "object | yes |  |  |"),
        (
            json!({ "type": "object", "x-kubernetes-map-type": "atomic" }),
            "object | yes |  | Server-side apply replaces it as a whole. |",
        ),
        (
            json!({ "x-kubernetes-preserve-unknown-fields": true }),
            "any value | yes |  |  |",
        ),
        (
            json!({ "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true }),
            "object | yes |  | May have any other fields.<br>An object of Kubernetes, with `apiVersion`, `kind` and `metadata`. |",
        ),
        (
            json!({ "anyOf": [{ "format": "ipv4" }, { "format": "ipv6" }], "not": { "enum": ["0.0.0.0"] }, "type": "string" }),
            "string | yes |  | At least one of `{\"format\":\"ipv4\"}`, `{\"format\":\"ipv6\"}`.<br>Not `{\"enum\":[\"0.0.0.0\"]}`. |",
        ),
    ]);
}

/// The limits of an object that has a table are also above the table.
#[test]
fn a_table_says_what_its_object_demands() {
    let port = json!({
        "description": "Where it listens.",
        "oneOf": [{ "required": ["name"] }, { "required": ["number", "host"] }],
        "properties": { "name": { "type": "string" } },
        "type": "object",
    });
    let ports = json!({
        "description": "All ports.",
        "items": port,
        "type": "array",
        "x-kubernetes-list-map-keys": ["name", "host"],
        "x-kubernetes-list-type": "map",
    });
    let text = rendered(&[crd(
        json!({ "properties": { "ports": ports, "port": port }, "type": "object" }),
    )]);
    let one_of = "Exactly one of `name`, `number` and `host`.";
    for part in [
        "| [`ports`](#foos.example.com/v1/ports) | list of objects |  |  | All ports.<br>No two items have the same \
         `name` and `host`. |\n",
        &format!(
            "\n#### <a id=\"foos.example.com/v1/ports\"></a>`ports[]`\n\nWhere it listens.\n\n- {one_of}\n\n| Field |"
        ),
        &format!(
            "| [`port`](#foos.example.com/v1/port) | object |  |  | Where it listens.<br>{one_of} |\n"
        ),
        &format!("\n#### <a id=\"foos.example.com/v1/port\"></a>`port`\n\n- {one_of}\n\n| Field |"),
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}
