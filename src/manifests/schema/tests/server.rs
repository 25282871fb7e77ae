//! Schemas that the API server would refuse, each tried on a kube-apiserver 1.36.

use serde_json::{Value, json};

use super::{Refusal, structural_schema};

/// A kind whose spec has one field.
fn kind(field: &Value) -> Result<Value, Vec<Refusal>> {
    let spec = json!({ "type": "object", "properties": { "field": field }, "required": ["field"] });
    let root = json!({ "type": "object", "properties": { "spec": spec }, "required": ["spec"] });
    structural_schema(&root, &root)
}

fn refusals(field: &Value) -> Vec<String> {
    let refusals = kind(field).err().unwrap_or_default();
    refusals.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn assert_refused(field: &Value, expected: &str) {
    let refusals = refusals(field);
    assert!(
        matches!(refusals.as_slice(), [refusal] if refusal.contains(expected)),
        "{field}: {refusals:#?}"
    );
}

#[test]
fn a_default_that_its_own_schema_refuses_is_refused() {
    for (field, expected) in [
        (
            json!({ "type": "string", "default": "", "minLength": 1 }),
            "`spec.field` has the default `\"\"`, which is empty",
        ),
        (
            json!({ "type": "string", "default": "äbc", "maxLength": 2 }),
            "more than 2 characters",
        ),
        (
            json!({ "type": "integer", "default": 0, "minimum": 1 }),
            "`spec.field` has the default `0`, which is below 1",
        ),
        (
            json!({ "type": "integer", "default": 9, "maximum": 8.0 }),
            "which is above 8",
        ),
        (
            json!({ "type": "integer", "default": 4, "multipleOf": 3 }),
            "which is not a multiple of 3",
        ),
        (
            json!({ "type": "number", "default": 1.0, "minimum": 1, "exclusiveMinimum": true }),
            "which is 1, which is excluded",
        ),
        (
            json!({ "type": "string", "default": "c", "enum": ["a", "b"] }),
            "which is not one of \"a\", \"b\"",
        ),
        (
            json!({ "type": "string", "default": "B", "pattern": "^[a-z]$" }),
            "does not match `^[a-z]$`",
        ),
        (
            json!({ "type": "string", "default": 1 }),
            "which is not of type `string`",
        ),
        (
            json!({ "type": "array", "default": [], "minItems": 1, "items": { "type": "string" } }),
            "which is empty",
        ),
        (
            json!({ "type": "object", "default": {}, "required": ["a"], "properties": {
                "a": { "type": "string", "default": "x" },
            }}),
            "which lacks the required field `a`",
        ),
        (
            json!({ "type": "object", "default": { "b": 1 }, "properties": { "a": { "type": "string" } } }),
            "`spec.field` has the default `{\"b\":1}`, which has the unknown field `b`",
        ),
        (
            json!({ "type": "array", "default": [{ "a": 0 }], "items": { "type": "object", "properties": {
                "a": { "type": "integer", "minimum": 1 },
            }}}),
            "`spec.field[].a` is set by the default of a parent to a value that is below 1",
        ),
    ] {
        assert_refused(&field, expected);
    }
}

#[test]
fn a_valid_default_is_accepted() {
    for field in [
        json!({ "type": "string", "default": "äb", "minLength": 1, "maxLength": 2 }),
        json!({ "type": "integer", "default": 8, "maximum": 8 }),
        json!({ "type": ["string", "null"], "default": null, "minLength": 1 }),
        json!({ "type": "object", "default": { "a": "b" }, "additionalProperties": { "type": "string" } }),
        json!({ "type": "object", "default": { "a": 1 }, "x-kubernetes-preserve-unknown-fields": true }),
        json!({ "type": "object", "default": { "one": {} }, "oneOf": [
            { "type": "object", "properties": { "one": { "type": "object" } }, "required": ["one"] },
            { "type": "object", "properties": { "two": { "type": "object" } }, "required": ["two"] },
        ]}),
    ] {
        assert_eq!(refusals(&field), [""; 0], "{field}");
    }
}

#[test]
fn a_pattern_that_go_does_not_accept_is_refused() {
    assert_refused(
        &json!({ "type": "array", "items": { "type": "string", "pattern": "^(?!x)" } }),
        "`spec.field[]` has the pattern `^(?!x)`, and the API server reads patterns as Go does: \
         Go has no look-ahead",
    );
}

#[test]
fn a_list_or_map_that_cannot_merge_as_it_says_is_refused() {
    let list = |merge: &str, items: Value| {
        json!({ "type": "array", "items": items, "x-kubernetes-list-type": merge,
                "x-kubernetes-list-map-keys": ["name"] })
    };
    let named = |name: Value, required: &[&str]| json!({ "type": "object", "properties": { "name": name }, "required": required });
    let text = json!({ "type": "string" });
    for (field, expected) in [
        (
            list("map", named(text.clone(), &[])),
            "`spec.field` merges by the key `name`, which may be omitted and has no default",
        ),
        (
            list(
                "map",
                json!({ "type": "object", "properties": { "other": text } }),
            ),
            "the key `name`, which its elements do not have",
        ),
        (
            list(
                "map",
                named(json!({ "type": "array", "items": text }), &["name"]),
            ),
            "the key `name`, which is not a string, number or boolean",
        ),
        (
            list("set", named(text.clone(), &[])),
            "as a set, and its elements are structs or maps",
        ),
        (
            list("set", json!({ "type": ["string", "null"] })),
            "as a set, and its elements may be null",
        ),
        (
            json!({ "type": "string", "x-kubernetes-list-type": "atomic" }),
            "merges as a list, but is not one",
        ),
        (
            json!({ "type": "array", "items": text, "x-kubernetes-map-type": "atomic" }),
            "merges as a map or struct, but is neither",
        ),
    ] {
        assert_refused(&field, expected);
    }
    let inner = json!({ "type": "array", "items": text });
    assert_eq!(refusals(&list("set", inner.clone())), [""; 0]);
    let mut merging = inner;
    merging["x-kubernetes-list-type"] = json!("set");
    assert_refused(
        &list("set", merging),
        "as a set, and its elements are lists that merge",
    );
    assert_eq!(refusals(&list("map", named(text, &["name"]))), [""; 0]);
}

/// A list of structs with a rule on the text of each.
fn with_rule(rule: &Value, list: &Value) -> Value {
    let mut field = json!({ "type": "array", "items": { "type": "object", "required": ["name"],
        "properties": { "name": {
            "type": "string",
            "x-kubernetes-validations": [rule],
        }},
    }});
    for (key, value) in list.as_object().expect("an object") {
        field[key] = value.clone();
    }
    field
}

#[test]
fn a_rule_that_the_api_server_cannot_compile_is_refused() {
    for (rule, expected) in [
        (
            json!({ "rule": "self = 'a'" }),
            "`spec.field[].name` has the rule `self = 'a'`, which is not CEL: `=` is not CEL: equality is `==`",
        ),
        (json!({ "rule": " " }), "which is empty"),
        (
            json!({ "rule": "this == ''" }),
            "which uses `this`, which is not declared",
        ),
        (
            json!({ "rule": "self == oldSelf" }),
            "uses `oldSelf` inside a list whose elements have no keys",
        ),
        (
            json!({ "rule": "self != ''", "message": "a\nb" }),
            "a message that is empty or more than one line",
        ),
        (
            json!({ "rule": "self != ''", "messageExpression": "self + " }),
            "has a message that is not CEL",
        ),
        (
            json!({ "rule": "self != ''", "fieldPath": ".a" }),
            "names the field `.a`, which does not exist",
        ),
        (
            json!({ "rule": "self != ''", "optionalOldSelf": true }),
            "has `optionalOldSelf`, but no `oldSelf`",
        ),
    ] {
        assert_refused(&with_rule(&rule, &json!({})), expected);
    }
    let root = |rule: &str| {
        json!({ "type": "object", "properties": { "a": { "type": "string" } },
                "x-kubernetes-validations": [{ "rule": rule }] })
    };
    assert_refused(
        &root("self.b == ''"),
        "uses the field `b`, which does not exist",
    );
    assert_eq!(refusals(&root("self.a == oldSelf.a")), [""; 0]);
}

#[test]
fn a_rule_that_may_cost_too_much_is_reported_with_its_unbounded_fields() {
    let rule = json!({ "rule": "self.matches('^a.*')" });
    assert_refused(
        &with_rule(&rule, &json!({})),
        "`spec.field[].name` has the rule `self.matches('^a.*')`, which may cost more than the API server \
         allows: `spec.field` has no `maxItems`, `spec.field[].name` has no `maxLength`",
    );
    let mut bounded = with_rule(&rule, &json!({ "maxItems": 100 }));
    bounded["items"]["properties"]["name"]["maxLength"] = json!(100);
    assert_eq!(refusals(&bounded), [""; 0]);
}

#[test]
fn rules_that_cost_too_much_together_are_refused() {
    let rule = "self.all(x, self.all(y, true))";
    let rules = vec![json!({ "rule": rule }); 15];
    let mut list = json!({ "type": "array", "items": { "type": "string" }, "maxItems": 1500 });
    list["x-kubernetes-validations"] = json!(rules);
    assert_refused(&list, "the costliest of the rules that together cost more");
    list["x-kubernetes-validations"] = json!(rules[..5]);
    assert_eq!(refusals(&list), [""; 0]);
}

#[test]
fn an_old_value_is_found_in_a_list_with_keys() {
    let merge = json!({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "maxItems": 9 });
    let mut list = with_rule(&json!({ "rule": "self == oldSelf" }), &merge);
    list["items"]["properties"]["name"]["maxLength"] = json!(63);
    assert_eq!(refusals(&list), [""; 0]);
}
