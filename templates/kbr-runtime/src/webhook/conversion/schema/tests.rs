// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Each keyword that the schema of a CRD may have.

use serde_json::json;

use super::*;

/// Where `value` does not match `schema`.
fn errors(schema: Value, value: &Value) -> Vec<String> {
    let mut check = Check::default();
    check.value(&Node::deserialize(schema).unwrap(), value);
    check.found.into_iter().collect()
}

#[test]
fn every_keyword_is_checked() {
    let map = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]});
    let one = json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
    for (schema, right, wrong) in [
        (json!({"type": "boolean"}), json!(true), json!(1)),
        (json!({"type": "integer"}), json!(1), json!(1.0)),
        (json!({"type": "number"}), json!(1), json!("1")),
        (json!({"type": "string"}), json!(""), json!(null)),
        (
            json!({"type": "string", "nullable": true}),
            json!(null),
            json!([]),
        ),
        (json!({"type": "array"}), json!([]), json!({})),
        (json!({"type": "object"}), json!({}), json!([])),
        (
            json!({"x-kubernetes-int-or-string": true}),
            json!("a"),
            json!(true),
        ),
        (
            json!({"x-kubernetes-embedded-resource": true}),
            json!({}),
            json!(1),
        ),
        (json!({"enum": ["a", 1]}), json!(1), json!("b")),
        (json!({"minimum": 0}), json!(0), json!(-5)),
        (
            json!({"minimum": 0, "exclusiveMinimum": true}),
            json!(1),
            json!(0),
        ),
        (json!({"maximum": 3}), json!(3), json!(u64::MAX)),
        (
            json!({"maximum": 3, "exclusiveMaximum": true}),
            json!(2),
            json!(3),
        ),
        (json!({"multipleOf": 3}), json!(9), json!(10)),
        (json!({"minLength": 2}), json!("éé"), json!("é")),
        (json!({"maxLength": 2}), json!("éé"), json!("ééé")),
        (json!({"pattern": "^a+$"}), json!("aa"), json!("ab")),
        (json!({"minItems": 1}), json!([1]), json!([])),
        (json!({"maxItems": 1}), json!([1]), json!([1, 1])),
        (json!({"uniqueItems": true}), json!([1, 2]), json!([1, 1])),
        (
            json!({"x-kubernetes-list-type": "set"}),
            json!([1, 2]),
            json!([1, 1]),
        ),
        (
            map,
            json!([{"a": 1}, {"a": 2}]),
            json!([{"a": 1, "b": 1}, {"a": 1}]),
        ),
        (json!({"minProperties": 1}), json!({"a": 1}), json!({})),
        (
            json!({"maxProperties": 1}),
            json!({"a": 1}),
            json!({"a": 1, "b": 1}),
        ),
        (json!({"required": ["a"]}), json!({"a": 1}), json!({"b": 1})),
        (json!({"allOf": [{"minimum": 1}]}), json!(1), json!(0)),
        (
            json!({"anyOf": [{"type": "array"}, {"minimum": 1}]}),
            json!(1),
            json!(0),
        ),
        (one, json!({"a": 1}), json!({"a": 1, "b": 1})),
        (
            json!({"not": {"required": ["a"]}}),
            json!({"b": 1}),
            json!({"a": 1}),
        ),
    ] {
        assert_eq!(errors(schema.clone(), &right), [""; 0], "{schema}");
        assert_eq!(errors(schema.clone(), &wrong), [""], "{schema}");
    }
}

#[test]
fn errors_are_found_at_any_depth() {
    let schema = json!({
        "properties": {"a/b": {"items": {"type": "string"}}},
        "additionalProperties": {"properties": {"n": {"minimum": 0}}},
    });
    let value = json!({"a/b": ["x", 1, 2], "other": {"n": -1, "unknown": null}});
    assert_eq!(errors(schema, &value), ["/a~1b/1", "/a~1b/2", "/other/n"]);
}

#[test]
fn a_go_only_pattern_and_a_boolean_for_other_fields_check_nothing() {
    let schema = json!({"pattern": "(?=a)", "additionalProperties": true});
    assert_eq!(errors(schema.clone(), &json!("b")), [""; 0]);
    assert_eq!(errors(schema, &json!({"a": 1})), [""; 0]);
}

#[test]
fn a_type_without_a_schema_matches_every_object() {
    for crd in [
        || panic!("as it was asked to"),
        CustomResourceDefinition::default,
    ] {
        let schema = Schema {
            crd,
            root: OnceLock::new(),
        };
        assert_eq!(schema.errors(&json!({"a": 1})), Errors::default());
    }
}
