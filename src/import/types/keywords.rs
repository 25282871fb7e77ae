//! The keywords of a schema that a type in Rust does not imply: which are left, and how they are spelled. Pure.

use serde_json::{Map, Value};

use super::model::Shape;
use super::text::{Meta, entry};
use crate::manifests::json::{Object, is_true, object_of, text_of};
use crate::manifests::schema::RESTRICTIONS;

/// What a field says, whatever its type is.
pub(super) const OF_FIELD: [&str; 3] = ["default", "description", "nullable"];

/// The keywords that `#[schemars(inner(…))]` can write for the elements of a list.
pub(super) const OF_INNER: [&str; 7] = [
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "pattern",
];

/// The keywords of a schema, without those of a field and those that are absorbed.
pub(super) fn rest(schema: &Value, absorbed: &[&str]) -> Vec<(String, Value)> {
    let entries = schema.as_object().into_iter().flatten();
    let is_left = |key: &str| !OF_FIELD.contains(&key) && !absorbed.contains(&key);
    let left = entries.filter(|(key, value)| is_left(key) && !is_off(key, value));
    let left: Object = left
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    match shielded(&Value::Object(left)) {
        Value::Object(left) => left.into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The formats beside which kbr writes a pattern, and API servers none: Rust's types for them cannot read everything that
/// has the format. A `String` can.
const READ_BY_PATTERN: [&str; 2] = ["date-time", "ipv4"];

/// The formats that only kbr knows: it would restrict them, and API servers ignore them.
const OF_KBR: [&str; 4] = ["ip", "partial-date-time", "partial-time", "uint32"];

/// A schema, with [`RESTRICTIONS`] in it and below it, and as wide as API servers read its formats.
pub(super) fn shielded(schema: &Value) -> Value {
    let Some(keywords) = schema.as_object() else {
        return schema.clone();
    };
    let (mut copy, mut restrictions) = (Object::new(), Object::new());
    let has_fields = ALTERNATIVES
        .iter()
        .any(|key| keywords.get(*key).is_some_and(mentions_fields));
    let format = text_of(keywords, "format");
    let is_bound = ["anyOf", "enum", "pattern"]
        .iter()
        .any(|key| keywords.contains_key(*key));
    if READ_BY_PATTERN.contains(&format) && !is_bound {
        copy.insert("pattern".to_owned(), Value::Null);
    }
    for (key, value) in keywords {
        let value = match (key.as_str(), value) {
            ("format", _) if OF_KBR.contains(&format) => continue,
            ("properties", Value::Object(fields)) => fields
                .iter()
                .map(|(name, field)| (name.clone(), shielded(field)))
                .collect(),
            ("items" | "additionalProperties", _) => shielded(value),
            _ => value.clone(),
        };
        if has_fields && ALTERNATIVES.contains(&key.as_str()) {
            restrictions.insert(key.clone(), value)
        } else {
            copy.insert(key.clone(), value)
        };
    }
    if !restrictions.is_empty() {
        copy.insert(RESTRICTIONS.to_owned(), Value::Object(restrictions));
    }
    Value::Object(copy)
}

const ALTERNATIVES: [&str; 4] = ["allOf", "anyOf", "not", "oneOf"];

fn mentions_fields(value: &Value) -> bool {
    match value {
        Value::Array(members) => members.iter().any(mentions_fields),
        Value::Object(keywords) => {
            keywords.contains_key("properties")
                || ALTERNATIVES
                    .iter()
                    .any(|key| keywords.get(*key).is_some_and(mentions_fields))
        }
        _ => false,
    }
}

/// Whether a keyword says what is true without it.
fn is_off(key: &str, value: &Value) -> bool {
    let is_switch =
        key.starts_with("exclusive") || key.starts_with("x-kubernetes-") || key == "uniqueItems";
    is_switch && *value == false
}

/// Whether an element says something that only a field can say in Rust.
pub(super) fn has_own(element: &Value) -> bool {
    element.get("default").is_some()
}

/// Whether a bound is beyond what an untyped literal in Rust can be.
pub(super) fn is_wide(value: &Value) -> bool {
    value.is_number()
        && value.as_i64().is_none_or(|it| i32::try_from(it).is_err())
        && !value.is_f64()
}

/// Whether null is a value. Beside listed values it is none, whether they have it or not.
pub(super) fn may_be_null(schema: &Value) -> bool {
    is_true(schema, "nullable") && schema.get("enum").is_none()
}

pub(super) fn nullable(shape: Shape, schema: &Value) -> Shape {
    if may_be_null(schema) {
        Shape::Nullable(Box::new(shape))
    } else {
        shape
    }
}

/// A schema for an attribute: without descriptions of fields, which would be most of the text.
pub(super) fn bare(schema: &Value) -> Value {
    match schema {
        Value::Object(keywords) => {
            let mut copy = Map::new();
            for (key, value) in keywords {
                match (key.as_str(), object_of(keywords, key)) {
                    ("description", _) if value.is_string() => {}
                    ("properties", Some(fields)) => {
                        let fields: Object = fields
                            .iter()
                            .map(|(name, it)| (name.clone(), bare(it)))
                            .collect();
                        copy.insert(key.clone(), Value::Object(fields));
                    }
                    ("items" | "additionalProperties", Some(_)) => {
                        drop(copy.insert(key.clone(), bare(value)))
                    }
                    _ => drop(copy.insert(key.clone(), value.clone())),
                }
            }
            Value::Object(copy)
        }
        _ => schema.clone(),
    }
}

/// Whether a field is a floating-point number for schemars, or has one that is no field of a struct.
pub(super) fn has_floats(shape: &Shape, keywords: &[(String, Value)]) -> bool {
    let said = |key: &str| keywords.iter().find(|(it, _)| it == key);
    let is_float = match shape {
        Shape::Written(path) => path == "f64" && said("format").is_none_or(|(_, it)| !it.is_null()),
        Shape::List(element) => said("items").is_none() && has_floats(element, &[]),
        Shape::Map(element) => said("additionalProperties").is_none() && has_floats(element, &[]),
        Shape::Nullable(element) => has_floats(element, keywords),
        Shape::Defined(_) => false,
    };
    is_float || keywords.iter().any(|(_, value)| mentions_floats(value))
}

fn mentions_floats(value: &Value) -> bool {
    match value {
        Value::Array(members) => members.iter().any(mentions_floats),
        Value::Object(keywords) => {
            let format = text_of(value, "format");
            text_of(value, "type") == "number" && matches!(format, "double" | "float")
                || keywords.values().any(mentions_floats)
        }
        _ => false,
    }
}

/// Keywords as arguments of `#[schemars(…)]`: the words that it has for them, and the rest in `extend(…)`.
pub(super) fn spelled(shape: &Shape, mut keywords: Vec<(String, Value)>) -> Vec<Meta> {
    let (is_text, is_number, is_list) = match shape {
        Shape::Written(path) => (
            path == "String",
            matches!(path.as_str(), "i32" | "i64" | "f64"),
            false,
        ),
        Shape::List(_) => (false, false, true),
        _ => (false, false, false),
    };
    let mut metas = Vec::new();
    let mut bounds = |name: &str, of: [&str; 2]| {
        let is_literal = |value: &Value| value.is_number() && !is_wide(value);
        let mut inside = Vec::new();
        for (key, side) in of.into_iter().zip(["min", "max"]) {
            let at = keywords
                .iter()
                .position(|(it, value)| it == key && is_literal(value));
            if let Some(at) = at {
                let (_, value) = keywords.remove(at);
                inside.push(Meta::word(format!("{side} = {value}")));
            }
        }
        if !inside.is_empty() {
            metas.push(Meta::list(name, inside));
        }
    };
    if is_text {
        bounds("length", ["minLength", "maxLength"]);
    }
    if is_list {
        bounds("length", ["minItems", "maxItems"]);
    }
    if is_number {
        bounds("range", ["minimum", "maximum"]);
    }
    if is_text
        && let Some(at) = keywords
            .iter()
            .position(|(key, value)| key == "pattern" && value.is_string())
    {
        let (_, pattern) = keywords.remove(at);
        let pattern = pattern.as_str().unwrap_or_default();
        metas.push(Meta::list("regex", vec![Meta::text("pattern", pattern)]));
    }
    let entries: Vec<Meta> = keywords
        .iter()
        .map(|(key, value)| entry(key, value))
        .collect();
    if !entries.is_empty() {
        metas.push(Meta::list("extend", entries));
    }
    metas
}
