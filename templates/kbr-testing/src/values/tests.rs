// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Each generated value is valid for its schema, and they are not all the same.

use k8s_openapi::jiff::Timestamp;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

use super::*;

/// A few hundred values of `schema`, each of which must be valid.
fn all(schema: &Value) -> Vec<Value> {
    let strategy = values(schema);
    let mut runner = TestRunner::new(Config::default());
    let mut next = || strategy.new_tree(&mut runner).unwrap().current();
    let values: Vec<Value> = (0..300).map(|_| next()).collect();
    for value in &values {
        assert!(admits(schema, value), "{value} is not valid for {schema}");
    }
    values
}

/// Whether `value` is valid for `schema`, as far as the schemas of these tests need it.
fn admits(schema: &Value, value: &Value) -> bool {
    let all = |key: &str| schema[key].as_array().into_iter().flatten();
    let count = |key: &str| all(key).filter(|schema| admits(schema, value)).count();
    if value.is_null() {
        return schema["nullable"] == true;
    }
    let is_of_type = match schema["type"].as_str() {
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64(),
        Some("number") => value.is_number(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => true,
    };
    let size = |least: &str, most: &str, size: usize| {
        (limit(schema, least, 0)..=limit(schema, most, usize::MAX)).contains(&size)
    };
    let has_right_content = match value {
        Value::String(text) => size("minLength", "maxLength", text.chars().count()),
        Value::Array(items) => {
            let mut items_admitted = items.iter().map(|item| admits(&schema["items"], item));
            size("minItems", "maxItems", items.len())
                && items_admitted.all(|is_admitted| is_admitted)
        }
        Value::Object(fields) => {
            size("minProperties", "maxProperties", fields.len())
                && required(schema).all(|name| fields.contains_key(name))
                && fields.iter().all(|(name, value)| {
                    let schema = match &schema["properties"][name] {
                        Value::Null => &schema["additionalProperties"],
                        known => known,
                    };
                    admits(schema, value)
                })
        }
        Value::Number(number) => {
            let number = number.as_f64().unwrap();
            let least = schema["minimum"].as_f64().unwrap_or(f64::MIN);
            let most = schema["maximum"].as_f64().unwrap_or(f64::MAX);
            (least..=most).contains(&number)
                && !(schema["exclusiveMinimum"] == true && number == least)
                && !(schema["exclusiveMaximum"] == true && number == most)
                && schema["multipleOf"]
                    .as_f64()
                    .is_none_or(|step| number % step == 0.0)
        }
        Value::Null | Value::Bool(_) => true,
    };
    is_of_type
        && has_right_content
        && (schema["enum"].is_null() || all("enum").any(|known| known == value))
        && count("allOf") == all("allOf").count()
        && (schema["anyOf"].is_null() || count("anyOf") > 0)
        && (schema["oneOf"].is_null() || count("oneOf") == 1)
        && (schema["not"].is_null() || !admits(&schema["not"], value))
}

#[test]
fn optional_fields_are_sometimes_present_and_required_ones_always() {
    let schema = json!({
        "type": "object",
        "required": ["always"],
        "properties": {
            "always": {"type": "boolean"},
            "seldom": {"type": "string", "nullable": true},
            "map": {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 1},
            "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        },
    });
    let values = all(&schema);
    for name in ["seldom", "map", "any"] {
        assert!(
            values.iter().any(|value| value.get(name).is_some()),
            "{name}"
        );
        assert!(
            values.iter().any(|value| value.get(name).is_none()),
            "{name}"
        );
    }
    assert!(
        values
            .iter()
            .any(|value| value.get("seldom") == Some(&Value::Null))
    );
    assert!(values.iter().any(|value| value["map"] != json!({})));
}

#[test]
fn a_field_with_a_default_is_always_present() {
    let schema = json!({
        "type": "object",
        "properties": { "size": { "type": "integer", "default": 3, "minimum": 1 } },
    });
    let sizes: Vec<Value> = all(&schema).iter().map(|it| it["size"].clone()).collect();
    assert!(sizes.iter().all(Value::is_i64));
    assert!(sizes.contains(&json!(3)) && sizes.iter().any(|size| *size != json!(3)));
}

#[test]
fn each_field_is_sometimes_present_however_deep_it_is() {
    let mut schema = json!({"type": "boolean"});
    let mut pointer = String::new();
    for _ in 0..6 {
        let mut properties = json!({"deeper": schema});
        for other in 0..20 {
            properties[format!("other{other}")] = json!({"type": "boolean"});
        }
        schema = json!({"type": "object", "properties": properties});
        pointer.push_str("/deeper");
    }
    // A property is tested with 256 cases.
    let values = &all(&schema)[..256];
    let times = values
        .iter()
        .filter(|value| value.pointer(&pointer).is_some());
    assert!(times.count() > 2);

    let most = json!({"type": "object", "properties": schema["properties"], "maxProperties": 1});
    all(&most);
}

#[test]
fn numbers_are_within_their_limits() {
    let integers = all(&json!({
        "type": "integer", "format": "int32", "minimum": -7, "maximum": 15,
        "exclusiveMaximum": true, "multipleOf": 5,
    }));
    for possible in [-5, 0, 5, 10] {
        assert!(integers.contains(&json!(possible)), "{possible}");
    }
    all(&json!({"type": "integer", "format": "int64", "minimum": 3}));
    all(&json!({"type": "integer", "format": "uint8", "maximum": 255, "minimum": 0}));
    all(&json!({"type": "integer", "maximum": -3, "exclusiveMaximum": true}));
    all(&json!({"type": "number", "minimum": 0.0, "exclusiveMinimum": true, "maximum": 1}));
    all(&json!({"type": "number", "multipleOf": 0.5}));
    let numbers = all(&json!({"type": "number"}));
    assert!(numbers.iter().any(|number| number.as_f64().unwrap() < 0.0));
}

#[test]
fn strings_match_their_pattern_or_format() {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    for value in all(&json!({"type": "string", "pattern": "^[a-c]\\d+(x|y)$", "maxLength": 5})) {
        let value = text(&value);
        assert!(
            value.starts_with(['a', 'b', 'c']) && value.ends_with(['x', 'y']),
            "{value}"
        );
    }
    all(&json!({"type": "string", "minLength": 3, "maxLength": 3}));
    all(&json!({"type": "string", "pattern": "^(?=no way round).*$"}));
    all(&json!({"type": "string", "enum": ["a", "b"]}));
    let time = json!({"type": "string", "format": "date-time"});
    let bounded = json!({"type": "string", "format": "date-time", "pattern": "^[0-9-]{10}T", "minItems": 1, "maxItems": 0});
    for value in all(&time).iter().chain(&all(&bounded)) {
        assert!(text(value).parse::<Timestamp>().is_ok(), "{value}");
    }
    for format in ["date", "byte", "duration", "uri", "unknown"] {
        all(&json!({"type": "string", "format": format}));
    }
}

#[test]
fn an_int_or_string_is_both() {
    let pattern = "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE])?$";
    let values = all(&json!({
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "pattern": pattern,
        "x-kubernetes-int-or-string": true,
    }));
    assert!(values.iter().any(Value::is_i64));
    for text in values.iter().filter_map(Value::as_str) {
        assert!(
            text.contains(|character: char| character.is_ascii_digit()),
            "{text}"
        );
    }
}

#[test]
fn lists_have_their_size_and_different_keys() {
    let item = json!({
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "enum": ["a", "b"]},
            "protocol": {"type": "string", "enum": ["TCP"], "default": "TCP"},
        },
    });
    let lists = all(&json!({
        "type": "array", "minItems": 1, "items": item,
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "protocol"],
    }));
    let names = |list: &Value| -> Vec<Value> {
        let items = list.as_array().unwrap().iter();
        items.map(|item| item["name"].clone()).collect()
    };
    assert!(lists.iter().any(|list| names(list).len() == 2));
    assert!(
        lists
            .iter()
            .all(|list| names(list) != ["a", "a"] && names(list) != ["b", "b"])
    );

    let sets = all(&json!({
        "type": "array", "items": {"type": "boolean"}, "x-kubernetes-list-type": "set",
    }));
    assert!(!sets.contains(&json!([true, true])));
}

#[test]
fn all_alternatives_occur_and_each_alone() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "string"}},
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        "not": {"required": ["c"]},
    });
    let values = all(&schema);
    assert!(values.iter().any(|value| value["a"].is_i64()));
    assert!(values.iter().any(|value| value["b"].is_string()));
    all(&json!({
        "type": "integer",
        "allOf": [{"minimum": 3}, {"maximum": 4}],
        "anyOf": [{"multipleOf": 3}, {"multipleOf": 4}],
    }));
}

#[test]
fn an_embedded_object_has_a_kind_and_metadata() {
    let schema = json!({
        "type": "object",
        "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true,
    });
    for value in all(&schema) {
        assert!(
            value["kind"].is_string() && value["metadata"].is_object(),
            "{value}"
        );
    }
}
