// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The annotation that carries fields that a version has no place for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::object::{Fields, Object};
use crate::webhook::conversion::difference::{Difference, is_identity};

/// Bytes that the API server allows in the annotations of a converted object, including their names.
pub(super) const MOST: usize = 256 << 10;

/// What to restore in each version when it is requested.
pub(super) type Carried<'a> = BTreeMap<String, Note<'a>>;

/// What to restore in one version.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Note<'a> {
    Fields(Vec<Difference>),
    Whole(Whole<'a>),
}

/// An object that could not be converted, without its metadata.
#[derive(Deserialize, Serialize)]
pub(super) struct Whole<'a> {
    /// The generation of the object at that time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) generation: Option<i64>,
    /// Absent when they are too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fields: Option<Fields<'a>>,
}

impl Object<'_> {
    /// Removes the annotation and returns its content. An annotation that cannot be read stays where it
    /// is.
    pub(super) fn take(&mut self, annotation: &str) -> Option<Carried<'static>> {
        let metadata = self.metadata.as_mut()?;
        let carried = read(metadata.get("annotations")?.get(annotation)?);
        if carried.is_some() {
            remove(metadata, annotation);
        } else {
            let (namespace, name) = (self.text("namespace"), self.text("name"));
            tracing::warn!(
                annotation,
                namespace,
                name,
                "ignored an annotation that holds no converted fields"
            );
        }
        carried
    }

    /// The `annotations` of an object that has none, if the field exists nevertheless.
    pub(super) fn empty_annotations(&self) -> Option<Value> {
        let annotations = self.metadata.as_ref()?.get("annotations")?;
        is_empty(annotations).then(|| annotations.clone())
    }

    /// Adds the annotation unless it is too long, and returns whether it was short enough. Adds nothing if
    /// there is nothing to carry.
    pub(super) fn put(&mut self, annotation: &str, carried: &Carried<'_>) -> bool {
        let metadata = self.metadata.as_mut().and_then(Value::as_object_mut);
        let Some(metadata) = metadata.filter(|_| !carried.is_empty()) else {
            return true;
        };
        // Strings and lists of strings can always be written.
        let text = serde_json::to_string(carried).unwrap_or_default();
        let others = metadata.get("annotations").and_then(Value::as_object);
        let others = others.into_iter().flatten();
        let lengths = others
            .filter(|(name, _)| *name != annotation)
            .map(|(name, value)| name.len() + value.as_str().map_or(0, str::len));
        let length = lengths.sum::<usize>() + annotation.len() + text.len();
        let text = Value::String(text);
        // An annotation that is nested too deeply could not be read again.
        if length > MOST || read(&text).is_none() {
            return false;
        }
        let annotations = metadata.entry("annotations").or_insert(Value::Null);
        if annotations.is_null() {
            *annotations = Value::Object(Map::new());
        }
        if let Value::Object(annotations) = annotations {
            annotations.insert(annotation.to_owned(), text);
        }
        true
    }
}

/// Removes the annotation, and `annotations` if there are no others.
pub(super) fn remove(metadata: &mut Value, annotation: &str) {
    let Some(metadata) = metadata.as_object_mut() else {
        return;
    };
    if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
        annotations.remove(annotation);
    }
    if metadata.get("annotations").is_some_and(is_empty) {
        metadata.remove("annotations");
    }
}

fn is_empty(annotations: &Value) -> bool {
    annotations.is_null() || annotations.as_object().is_some_and(Map::is_empty)
}

fn read(text: &Value) -> Option<Carried<'static>> {
    let notes: BTreeMap<String, &RawValue> = serde_json::from_str(text.as_str()?).ok()?;
    let notes = notes.into_iter();
    notes
        .map(|(version, note)| Some((version, Note::read(note.get())?)))
        .collect()
}

impl Note<'static> {
    fn read(text: &str) -> Option<Self> {
        if text.starts_with('[') {
            let differences: Vec<Difference> = serde_json::from_str(text).ok()?;
            let are_valid = differences.iter().all(Difference::is_valid);
            return are_valid.then_some(Self::Fields(differences));
        }
        let whole: Whole<'_> = serde_json::from_str(text).ok()?;
        let mut names = whole.fields.iter().flat_map(BTreeMap::keys);
        let is_valid = !names.any(|name| is_identity(name));
        is_valid.then_some(Self::Whole(whole))
    }
}
