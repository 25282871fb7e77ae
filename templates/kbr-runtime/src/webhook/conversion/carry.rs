// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! How what a version has no place for is carried past it.
//!
//! What comes out of a conversion is converted back at once. Where it does not come back as it was,
//! the difference is noted in an annotation: when that version is asked for again, and the same
//! comes out there as did now, it is put back as it was. What somebody changed in between comes out
//! otherwise, and stays.
//!
//! So nothing is lost as long as the annotation stays, whatever the mapping does, but for this:
//! - In between, the API server prunes what the other version's schema does not know and fills in its
//!   defaults. A default that a field is mapped from counts as an edit, as nobody can tell the two
//!   apart, and what the mapping left out comes back with it. Others do no harm.
//! - A list is put back as a whole, and not at all if an item was changed, moved or removed: nobody
//!   knows which is which then. Fields that were only added stay.
//! - An object that neither version's type can read goes across as it is, and is pruned there.
//! - All annotations of an object may have 256 KiB, or the API server refuses to read it, and every
//!   list that it is in. What would make them longer is left out, which an error in the log says.
//!
//! Who may write an object may write the annotation, and so what comes out in the other version,
//! past its schema. Nothing but what identifies an object is safe from that.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::difference::Difference;

/// Bytes that the API server takes in the annotations of a converted object, names and all.
const MOST: usize = 256 << 10;

/// For each version, what is to be put back when it is asked for.
type Carried = BTreeMap<String, Vec<Difference>>;

/// One conversion, from a version to another.
pub(super) struct Conversion<'a> {
    /// The annotation that carries what gets lost.
    pub(super) annotation: &'a str,
    pub(super) group: &'a str,
    pub(super) from: &'a str,
    pub(super) to: &'a str,
    /// The mapping of fields, and the one in the other direction. What they do to the identity of
    /// the object does not matter.
    pub(super) forward: &'a dyn Fn(&Value) -> Value,
    pub(super) backward: &'a dyn Fn(&Value) -> Value,
}

impl Conversion<'_> {
    /// Converts `object`, and carries along what would be lost. In its metadata only the annotation
    /// changes.
    pub(super) fn convert(&self, mut object: Value) -> Value {
        let mut carried = take(&mut object, self.annotation);
        let mut converted = self.map(self.forward, &object, self.to);
        for difference in carried.remove(self.to).unwrap_or_default() {
            difference.apply(&mut converted);
        }
        let back = self.map(self.backward, &converted, self.from);
        carried.remove(self.from);
        let mut lost = Difference::between(&back, &object);
        let is_needed = !lost.is_empty() || !carried.is_empty();
        if let Some(metadata) = converted.get_mut("metadata").and_then(Value::as_object_mut)
            && is_needed
        {
            lost.extend(empty_annotations(metadata).map(Difference::of_annotations));
            if !lost.is_empty() {
                carried.insert(self.from.to_owned(), lost);
            }
            if !put(metadata, self.annotation, &carried) {
                let (namespace, name) = named(metadata);
                tracing::error!(
                    namespace,
                    name,
                    "what {} has and {} has no place for is too long for an annotation: it is left out",
                    self.from,
                    self.to,
                );
                carried.remove(self.from);
                // All of this came along.
                put(metadata, self.annotation, &carried);
            }
        }
        // For server-side apply the API server converts parts of objects that have no metadata, but it
        // takes none without.
        if let Value::Object(fields) = &mut converted {
            let metadata = fields.entry("metadata");
            metadata.or_insert_with(|| Value::Object(Map::new()));
        }
        converted
    }

    /// The fields as `mapping` has them, below what identifies `object`.
    fn map(&self, mapping: &dyn Fn(&Value) -> Value, object: &Value, version: &str) -> Value {
        let mapped = mapping(&without(self.annotation, object));
        let mut fields = match mapped {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        let api_version = Value::String(format!("{}/{version}", self.group));
        fields.insert("apiVersion".to_owned(), api_version);
        for name in ["kind", "metadata"] {
            match object.get(name) {
                Some(value) => fields.insert(name.to_owned(), value.clone()),
                None => fields.remove(name),
            };
        }
        Value::Object(fields)
    }
}

/// `object` as a mapping sees it, which is the same before and after something is carried: without
/// the annotation, and without annotations if there are no others.
fn without<'a>(annotation: &str, object: &'a Value) -> Cow<'a, Value> {
    let found = object.pointer("/metadata/annotations");
    let is_same = |found: &Map<_, _>| !found.is_empty() && !found.contains_key(annotation);
    if found.is_none_or(|found| found.as_object().is_some_and(is_same)) {
        return Cow::Borrowed(object);
    }
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
            annotations.remove(annotation);
        }
        if empty_annotations(metadata).is_some() {
            metadata.remove("annotations");
        }
    }
    Cow::Owned(object)
}

/// Takes the annotation away from `object`. One that nobody can read stays where it is.
fn take(object: &mut Value, annotation: &str) -> Carried {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return Carried::new();
    };
    let Some(Value::Object(annotations)) = metadata.get_mut("annotations") else {
        return Carried::new();
    };
    let Some(text) = annotations.get(annotation) else {
        return Carried::new();
    };
    let Some(carried) = read(text) else {
        let (namespace, name) = named(metadata);
        tracing::warn!(
            annotation,
            namespace,
            name,
            "ignored an annotation that holds no converted fields"
        );
        return Carried::new();
    };
    annotations.remove(annotation);
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
    carried
}

/// The namespace and the name of an object, for the log.
fn named(metadata: &Map<String, Value>) -> (Option<&str>, Option<&str>) {
    let text = |field| metadata.get(field).and_then(Value::as_str);
    (text("namespace"), text("name"))
}

fn read(text: &Value) -> Option<Carried> {
    let carried: Carried = serde_json::from_str(text.as_str()?).ok()?;
    let mut differences = carried.values().flatten();
    differences.all(Difference::is_valid).then_some(carried)
}

/// The annotations of an object that has none, if they are there nevertheless.
fn empty_annotations(metadata: &Map<String, Value>) -> Option<Value> {
    let annotations = metadata.get("annotations")?;
    let is_empty = |annotations: &Value| annotations.as_object().is_some_and(Map::is_empty);
    (annotations.is_null() || is_empty(annotations)).then(|| annotations.clone())
}

/// Adds the annotation to others, unless it is too long, and says whether it was not. There is none
/// of nothing.
fn put(metadata: &mut Map<String, Value>, annotation: &str, carried: &Carried) -> bool {
    if carried.is_empty() {
        return true;
    }
    // Text and lists of text can always be written.
    let text = serde_json::to_string(carried).unwrap_or_default();
    let others = metadata.get("annotations").and_then(Value::as_object);
    let others = others.into_iter().flatten();
    let lengths = others
        .filter(|(name, _)| *name != annotation)
        .map(|(name, value)| name.len() + value.as_str().map_or(0, str::len));
    if lengths.sum::<usize>() + annotation.len() + text.len() > MOST {
        return false;
    }
    let annotations = metadata.entry("annotations").or_insert(Value::Null);
    if annotations.is_null() {
        *annotations = Value::Object(Map::new());
    }
    if let Value::Object(annotations) = annotations {
        annotations.insert(annotation.to_owned(), Value::String(text));
    }
    true
}

#[cfg(test)]
mod tests;
