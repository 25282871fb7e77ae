// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Checks whether an object matches the schema of its version.
//!
//! The API server validates an object against the schema of the version in which it is written, and not
//! of the version to which it is converted. So values that come from an annotation are checked here.
//! Everything that a CRD's schema can express is checked, except `format` and CEL rules. The schema is
//! that of `CustomResourceExt::crd`.

mod part;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use regex::Regex;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::webhook::field::escape;

/// The schema of one version, which is built when it is first needed, because that takes a while.
pub(crate) struct Schema {
    crd: fn() -> CustomResourceDefinition,
    root: OnceLock<Node>,
}

/// Maximum number of errors that are looked for.
const MOST: usize = 1000;

/// Where an object does not match its schema, as JSON pointers.
#[derive(Debug, Default, Eq, PartialEq)]
pub(crate) struct Errors {
    pub(crate) pointers: BTreeSet<String>,
}

impl Errors {
    /// Whether there may be more errors than those that are listed.
    pub(crate) fn is_cut(&self) -> bool {
        self.pointers.len() >= MOST
    }
}

impl Schema {
    pub(crate) fn of<T: CustomResourceExt>() -> Self {
        Self {
            crd: T::crd,
            root: OnceLock::new(),
        }
    }

    /// Where `object` does not match the schema.
    pub(crate) fn errors(&self, object: &Value) -> Errors {
        let mut check = Check::default();
        check.value(self.root(), object);
        Errors {
            pointers: check.found,
        }
    }

    /// Adds the required fields that `object` lacks, with values that depend on the number.
    pub(crate) fn fill(&self, object: &mut Value, number: usize) {
        self.root().fill(object, number);
    }

    /// Removes the fields of `object` that the schema does not have, or has with another type.
    pub(crate) fn prune(&self, object: &mut Value) {
        self.root().prune(object, true);
    }

    fn root(&self) -> &Node {
        self.root.get_or_init(|| Node::read(self.crd))
    }
}

/// The state of a check of a value.
#[derive(Default)]
struct Check {
    /// Pointer to the value being checked.
    path: String,
    found: BTreeSet<String>,
}

impl Check {
    fn value(&mut self, node: &Node, value: &Value) {
        if self.found.len() >= MOST || (value.is_null() && node.nullable) {
            return;
        }
        if !node.is_right(value) {
            self.found.insert(self.path.clone());
        }
        for node in &node.all_of {
            self.value(node, value);
        }
        match (value, &node.items) {
            (Value::Array(items), Some(node)) => {
                for (index, item) in items.iter().enumerate() {
                    self.below(&index.to_string(), node, item);
                }
            }
            (Value::Object(fields), _) => {
                for (name, value) in fields {
                    let listed = node.properties.get(name);
                    // Otherwise it may be anything, or the API server prunes it.
                    if let Some(node) = listed.or(node.additional_properties.as_deref()) {
                        self.below(&escape(name), node, value);
                    }
                }
            }
            _ => {}
        }
    }

    fn below(&mut self, step: &str, node: &Node, value: &Value) {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(step);
        self.value(node, value);
        self.path.truncate(length);
    }
}

/// The schema of one value. Numbers are floats, as in the API server.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Node {
    r#type: Option<String>,
    format: Option<String>,
    nullable: bool,
    #[serde(rename = "x-kubernetes-preserve-unknown-fields")]
    preserve_unknown_fields: bool,
    #[serde(rename = "x-kubernetes-int-or-string")]
    int_or_string: bool,
    #[serde(rename = "x-kubernetes-embedded-resource")]
    embedded_resource: bool,
    #[serde(rename = "x-kubernetes-list-type")]
    list_type: Option<String>,
    #[serde(rename = "x-kubernetes-list-map-keys")]
    list_map_keys: Vec<String>,
    r#enum: Option<Vec<Value>>,
    minimum: Option<f64>,
    maximum: Option<f64>,
    exclusive_minimum: bool,
    exclusive_maximum: bool,
    multiple_of: Option<f64>,
    min_length: Option<usize>,
    max_length: Option<usize>,
    #[serde(deserialize_with = "pattern")]
    pattern: Option<Regex>,
    min_items: Option<usize>,
    max_items: Option<usize>,
    unique_items: bool,
    items: Option<Box<Node>>,
    min_properties: Option<usize>,
    max_properties: Option<usize>,
    required: Vec<String>,
    properties: BTreeMap<String, Node>,
    #[serde(deserialize_with = "of_fields")]
    additional_properties: Option<Box<Node>>,
    all_of: Vec<Node>,
    any_of: Vec<Node>,
    one_of: Vec<Node>,
    not: Option<Box<Node>>,
}

/// The schema of fields that are not listed; `None` if it only says whether they are allowed.
fn of_fields<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<Node>>, D::Error> {
    let schema = Value::deserialize(deserializer)?;
    let node = schema.is_object().then(|| Box::<Node>::deserialize(schema));
    node.transpose().map_err(D::Error::custom)
}

/// Reads a pattern; a pattern that only Go understands is not checked.
fn pattern<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Regex>, D::Error> {
    let pattern = Option::<String>::deserialize(deserializer)?;
    Ok(pattern.and_then(|pattern| Regex::new(&pattern).ok()))
}

impl Node {
    /// The schema of a type. If it has no schema that can be read, everything matches.
    fn read(crd: fn() -> CustomResourceDefinition) -> Self {
        let read = || {
            let version = crd().spec.versions.into_iter().next();
            let schema = version.and_then(|version| version.schema?.open_api_v3_schema);
            let schema = serde_json::to_value(schema.ok_or("the type has no schema")?);
            let node = schema.and_then(Self::deserialize);
            node.map_err(|error| error.to_string())
        };
        // `crd` panics for a type whose schema is not allowed in a CRD.
        let read = catch_unwind(AssertUnwindSafe(read));
        let read = read.unwrap_or_else(|_| Err("`crd` panicked".to_owned()));
        read.unwrap_or_else(|error| {
            tracing::warn!(
                error,
                "the schema of a type cannot be read: converted objects are not checked against it"
            );
            Self::default()
        })
    }

    fn is_met(&self, value: &Value) -> bool {
        let mut check = Check::default();
        check.value(self, value);
        check.found.is_empty()
    }

    /// Whether `value` itself is valid, apart from its content.
    fn is_right(&self, value: &Value) -> bool {
        let is_right = match value {
            Value::Number(number) => self.is_in_range(number.as_f64().unwrap_or(f64::NAN)),
            Value::String(text) => self.is_text(text),
            Value::Array(items) => self.is_list(items),
            Value::Object(fields) => {
                within(fields.len(), self.min_properties, self.max_properties)
                    && self.required.iter().all(|name| fields.contains_key(name))
            }
            Value::Null | Value::Bool(_) => true,
        };
        let is_met = |node: &&Node| node.is_met(value);
        let values = self.r#enum.as_ref();
        is_right
            && self.has_type(value)
            && values.is_none_or(|values| values.contains(value))
            && (self.any_of.is_empty() || self.any_of.iter().any(|node| is_met(&node)))
            && (self.one_of.is_empty() || self.one_of.iter().filter(is_met).count() == 1)
            && self.not.as_ref().is_none_or(|node| !node.is_met(value))
    }

    fn has_type(&self, value: &Value) -> bool {
        if self.int_or_string {
            return value.is_string() || is_integer(value);
        }
        if self.embedded_resource && !value.is_object() {
            return false;
        }
        match self.r#type.as_deref() {
            Some("boolean") => value.is_boolean(),
            Some("integer") => is_integer(value),
            Some("number") => value.is_number(),
            Some("string") => value.is_string(),
            Some("array") => value.is_array(),
            Some("object") => value.is_object(),
            _ => true,
        }
    }

    fn is_in_range(&self, number: f64) -> bool {
        let is_above = self
            .minimum
            .is_none_or(|least| number > least || (number == least && !self.exclusive_minimum));
        let is_below = self
            .maximum
            .is_none_or(|most| number < most || (number == most && !self.exclusive_maximum));
        let is_multiple = self
            .multiple_of
            .is_none_or(|factor| (number / factor).fract() == 0.0);
        is_above && is_below && is_multiple
    }

    fn is_text(&self, text: &str) -> bool {
        let has_length = (self.min_length.is_none() && self.max_length.is_none())
            || within(text.chars().count(), self.min_length, self.max_length);
        let pattern = self.pattern.as_ref();
        has_length && pattern.is_none_or(|pattern| pattern.is_match(text))
    }

    fn is_list(&self, items: &[Value]) -> bool {
        if !within(items.len(), self.min_items, self.max_items) {
            return false;
        }
        let keys = &self.list_map_keys;
        match self.list_type.as_deref() {
            Some("map") if !keys.is_empty() => are_unique(items.iter().map(|item| {
                let values = keys.iter().map(|key| item.get(key).map(Value::to_string));
                values.collect::<Vec<_>>()
            })),
            list_type if list_type == Some("set") || self.unique_items => {
                are_unique(items.iter().map(Value::to_string))
            }
            _ => true,
        }
    }
}

fn are_unique<T: Ord>(mut keys: impl Iterator<Item = T>) -> bool {
    let mut seen = BTreeSet::new();
    keys.all(|key| seen.insert(key))
}

fn within(count: usize, least: Option<usize>, most: Option<usize>) -> bool {
    least.is_none_or(|least| count >= least) && most.is_none_or(|most| count <= most)
}

/// The API server accepts 1.0 as an integer, too, but writes it as 1; only an annotation can have it, and an `i64` cannot be
/// read from it.
fn is_integer(value: &Value) -> bool {
    value.is_i64() || value.is_u64()
}

#[cfg(test)]
mod tests;
