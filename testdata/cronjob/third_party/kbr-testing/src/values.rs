// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Values that the schema of a CRD allows, for testing functions.
//!
//! Most are small and omit most optional fields, more of them the deeper they are: a whole pod would be too
//! large to read and too slow to generate. Some have most of their fields, so that each field is present now
//! and then, however deep it is. A field with a default is always present, as in every object that the API
//! server sends. CEL rules are ignored.

mod numbers;
mod texts;

use std::collections::BTreeSet;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;
use serde_json::{Map, Value, json};

use numbers::{integer, number, small_integer};
use texts::string;

/// How many optional fields an object has on average if its schema has many, and by which factor
/// there are fewer one level deeper.
const FIELDS: f64 = 4.0;
const FEWER: f64 = 0.7;

/// The minimum probability that an optional field is present.
const LEAST: f64 = 0.005;

/// The probability that it is present in a full value.
const FULL: f64 = 0.75;

/// Values of this `openAPIV3Schema`, or of a part of it.
pub(super) fn values(schema: &Value) -> BoxedStrategy<Value> {
    let small = Place {
        depth: 0,
        is_full: false,
    };
    let full = Place {
        is_full: true,
        ..small
    };
    prop_oneof![2 => at(schema, small), 1 => at(schema, full)].boxed()
}

/// The position of a value.
#[derive(Clone, Copy)]
struct Place {
    /// How deep it is below the root.
    depth: i32,
    /// Whether most optional fields are present.
    is_full: bool,
}

impl Place {
    /// The position of a field of this value.
    fn field(self) -> Self {
        Self {
            depth: self.depth + 1,
            ..self
        }
    }

    /// The position of an item of this list, or of an entry of this map. They are small.
    fn item(self) -> Self {
        Self {
            depth: self.depth + 1,
            is_full: false,
        }
    }

    /// The probability that a field is present that is one of this many optional ones.
    fn chance(self, optional: f64) -> f64 {
        if self.is_full {
            return FULL;
        }
        (FIELDS * FEWER.powi(self.depth) / optional).clamp(LEAST, 0.6)
    }
}

/// Values of `schema` at this position.
fn at(schema: &Value, place: Place) -> BoxedStrategy<Value> {
    let value = not_null(schema, place);
    if schema["nullable"] == true {
        prop_oneof![9 => value, 1 => Just(Value::Null)].boxed()
    } else {
        value
    }
}

fn not_null(schema: &Value, place: Place) -> BoxedStrategy<Value> {
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<_> = values.iter().filter(|value| !value.is_null()).collect();
        let values: Vec<Value> = values.into_iter().cloned().collect();
        if !values.is_empty() {
            return select(values).boxed();
        }
    }
    if schema["x-kubernetes-int-or-string"] == true {
        let number = (0..=i32::MAX).prop_map(Value::from);
        return prop_oneof![
            small_integer(0, i64::from(i32::MAX)),
            number,
            string(schema)
        ]
        .boxed();
    }
    if let Some(alternatives) = alternatives(schema) {
        let values = alternatives.iter().map(|schema| not_null(schema, place));
        return Union::new(values).boxed();
    }
    match schema["type"].as_str() {
        Some("boolean") => any::<bool>().prop_map(Value::from).boxed(),
        Some("integer") => integer(schema),
        Some("number") => number(schema),
        Some("string") => string(schema),
        Some("array") => array(schema, place),
        Some("object") => object(schema, place),
        _ => anything(),
    }
}

/// The schema combined with each of its alternatives, if it has any.
fn alternatives(schema: &Value) -> Option<Vec<Value>> {
    let mut base = schema.clone();
    let fields = base.as_object_mut()?;
    if let Some(Value::Array(all)) = fields.remove("allOf") {
        let merged = all.iter().fold(base, |base, part| merged(&base, part));
        return Some(vec![merged]);
    }
    for key in ["oneOf", "anyOf"] {
        let Some(Value::Array(branches)) = fields.remove(key) else {
            continue;
        };
        if branches.is_empty() {
            continue;
        }
        let base = &Value::Object(fields.clone());
        let with = |branch: &Value| {
            let mut schema = merged(base, branch);
            if key == "oneOf" {
                let others = branches.iter().filter(|other| *other != branch);
                let names: BTreeSet<&str> = others.flat_map(required).collect();
                leave_out(&mut schema, &names);
            }
            schema
        };
        return Some(branches.iter().map(with).collect());
    }
    None
}

/// A schema that requires what both require.
fn merged(base: &Value, part: &Value) -> Value {
    let (Value::Object(base), Value::Object(part)) = (base, part) else {
        return base.clone();
    };
    let mut merged_fields = base.clone();
    for (key, value) in part {
        let both = match (merged_fields.get(key), value) {
            (Some(Value::Array(base)), Value::Array(part)) if key == "required" => {
                Value::Array(base.iter().chain(part).cloned().collect())
            }
            (Some(base @ Value::Object(_)), Value::Object(_)) => merged(base, value),
            _ => value.clone(),
        };
        merged_fields.insert(key.clone(), both);
    }
    Value::Object(merged_fields)
}

/// Removes these fields, unless they are required.
fn leave_out(schema: &mut Value, names: &BTreeSet<&str>) {
    let kept: BTreeSet<String> = required(schema).map(str::to_owned).collect();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.retain(|name, _| kept.contains(name) || !names.contains(name.as_str()));
    }
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    let names = schema["required"].as_array().into_iter().flatten();
    names.filter_map(Value::as_str)
}

/// The integer at this key, or the default.
fn limit(schema: &Value, key: &str, default: usize) -> usize {
    let limit = schema[key].as_u64();
    limit.map_or(default, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    })
}

fn object(schema: &Value, place: Place) -> BoxedStrategy<Value> {
    let mut schema = schema.clone();
    let forbidden = schema["not"].clone();
    leave_out(&mut schema, &required(&forbidden).collect());
    if schema["x-kubernetes-embedded-resource"] == true {
        for name in ["apiVersion", "kind"] {
            schema["properties"][name] =
                json!({"type": "string", "enum": ["v1", "example.com/v1"]});
        }
        schema["properties"]["metadata"] =
            json!({"type": "object", "properties": {"name": {"type": "string"}}});
        schema["required"] = json!(["apiVersion", "kind", "metadata"]);
    }
    let fields = match &schema["properties"] {
        Value::Object(properties) if !properties.is_empty() => fields(&schema, properties, place),
        _ => entries(&schema, place),
    };
    let (min, max) = (
        limit(&schema, "minProperties", 0),
        limit(&schema, "maxProperties", usize::MAX),
    );
    fields
        .prop_filter("minProperties and maxProperties", move |fields| {
            (min..=max).contains(&fields.len())
        })
        .prop_map(Value::Object)
        .boxed()
}

fn fields(
    schema: &Value,
    properties: &Map<String, Value>,
    place: Place,
) -> BoxedStrategy<Map<String, Value>> {
    let required: BTreeSet<&str> = required(schema).collect();
    let optional = (properties.len() - required.len().min(properties.len())) as f64;
    let optional = optional.max(1.0);
    // More fields than `maxProperties` would only be filtered out.
    let most = limit(schema, "maxProperties", usize::MAX) as f64;
    let chance = place.chance(optional).min(most / optional).max(LEAST);
    let fields = properties.iter().map(|(name, schema)| {
        let value = at(schema, place.field());
        let value = if required.contains(name.as_str()) {
            value.prop_map(Some).boxed()
        } else {
            // Source: "Defaulting" in Kubernetes' documentation of CRDs; it applies to reads from etcd
            // too.
            let default = schema.get("default").cloned();
            let value = option::weighted(chance, value);
            value.prop_map(move |it| it.or(default.clone())).boxed()
        };
        let name = name.clone();
        value.prop_map(move |value| Some((name.clone(), value?)))
    });
    let fields: Vec<_> = fields.collect();
    let fields = fields.prop_map(|fields| fields.into_iter().flatten().collect());
    fields.boxed()
}

/// Maps, and objects without known fields.
fn entries(schema: &Value, place: Place) -> BoxedStrategy<Map<String, Value>> {
    let value = match &schema["additionalProperties"] {
        schema @ Value::Object(_) => at(schema, place.item()),
        Value::Bool(true) => anything(),
        _ if schema["x-kubernetes-preserve-unknown-fields"] == true => anything(),
        _ => return Just(Map::new()).boxed(),
    };
    let least = limit(schema, "minProperties", 0);
    let most = limit(schema, "maxProperties", usize::MAX).min(least + 2);
    let name = prop_oneof![4 => "[a-z]{1,4}", 1 => "[a-z]\\.[a-z]/[a-z~]{1,3}"];
    let entries = btree_map(name, value, least..=most.max(least));
    let entries = entries.prop_map(|entries| entries.into_iter().collect());
    entries.boxed()
}

fn array(schema: &Value, place: Place) -> BoxedStrategy<Value> {
    let least = limit(schema, "minItems", 0);
    let most = limit(schema, "maxItems", usize::MAX)
        .min(least + 2)
        .max(least);
    let items = vec(at(&schema["items"], place.item()), least..=most);
    let keys: Vec<String> = match schema["x-kubernetes-list-type"].as_str() {
        Some("map") => {
            let keys = schema["x-kubernetes-list-map-keys"].as_array();
            let keys = keys.into_iter().flatten().filter_map(Value::as_str);
            keys.map(str::to_owned).collect()
        }
        Some("set") => Vec::new(),
        _ => return items.prop_map(Value::Array).boxed(),
    };
    let defaults: Vec<Value> = keys
        .iter()
        .map(|key| schema["items"]["properties"][key]["default"].clone())
        .collect();
    let key = move |item: &Value| {
        let key = |(name, default): (&String, &Value)| {
            let value = item.get(name).unwrap_or(default);
            value.to_string()
        };
        let values: Vec<String> = keys.iter().zip(&defaults).map(key).collect();
        if values.is_empty() {
            vec![item.to_string()]
        } else {
            values
        }
    };
    let unique = items.prop_map(move |mut items| {
        let mut seen = BTreeSet::new();
        items.retain(|item| seen.insert(key(item)));
        items
    });
    let enough = unique.prop_filter("minItems", move |items| items.len() >= least);
    enough.prop_map(Value::Array).boxed()
}

/// Any JSON except null.
fn anything() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        (0..9_i64).prop_map(Value::from),
        "[a-z/~]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 6, 2, |value| {
        let fields = btree_map("[a-z]", value.clone(), 0..3);
        prop_oneof![
            vec(value, 0..3).prop_map(Value::Array),
            fields.prop_map(|fields| fields.into_iter().collect()),
        ]
    })
    .boxed()
}

/// The metadata of an object, as the API server sends it.
pub(super) fn metadata() -> impl Strategy<Value = Value> {
    let texts = || btree_map("[a-z]{1,3}(/[a-z]{1,3})?", "[a-z]{0,3}", 1..3);
    let fields = (
        "[a-z]{1,3}",
        option::weighted(0.8, "[a-z]{1,3}"),
        option::of(texts()),
        option::of(texts()),
        option::of(1..9),
    );
    fields.prop_map(|(name, namespace, labels, annotations, generation)| {
        let fields = [
            ("name", Some(json!(name))),
            ("uid", Some(json!("6f0ae21c-2c1c-4f5c-b3a6-0d4f1c1a52b1"))),
            ("namespace", namespace.map(Value::from)),
            ("labels", labels.map(|labels| json!(labels))),
            (
                "annotations",
                annotations.map(|annotations| json!(annotations)),
            ),
            ("generation", generation.map(Value::from)),
        ];
        let present = |(name, value): (&str, Option<Value>)| Some((name.to_owned(), value?));
        Value::Object(fields.into_iter().filter_map(present).collect())
    })
}
