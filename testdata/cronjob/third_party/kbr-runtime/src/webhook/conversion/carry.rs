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
//! - Who may write an object may write the annotation. What it puts back must be an object of the
//!   version, by its Rust type and by its schema; what is not is left out.
//! - All annotations of an object may have 256 KiB, or the API server refuses to read it, and every
//!   list that it is in.
//!
//! # What cannot be converted
//!
//! The API server does not say whether it reads an object or writes one. The hub is taken for the
//! version that is stored:
//! - To the hub is a write, which fails, and what is stored stays as it is.
//! - From the hub is a read, which does not fail, because it would take every list along. The fields
//!   come out as they are, and all of the object goes into the annotation. From there it comes back
//!   as it was, so that metadata can be written and finalizers removed. If anything else was
//!   changed, or if it was too long for an annotation, the way back fails.
//!
//! Whether something was changed is told by the generation, which the API server counts.
//!
//! For server-side apply the API server converts parts of objects, too, in which required fields may
//! be absent, and for admission webhooks it converts objects on their way. What it reads from the
//! storage or writes to it has a uid and, at that time, no resource version. Of anything else that
//! cannot be converted, the fields go across as they are, in both directions.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::difference::{Difference, is_identity};
use super::measure;
use super::schema::Errors;
use super::shallow::shallow;

/// Bytes that the API server takes in the annotations of a converted object, names and all.
const MOST: usize = 256 << 10;

/// For each version, what is to be put back when it is asked for.
type Carried = BTreeMap<String, Note>;

/// What is to be put back in one version.
#[derive(Serialize)]
#[serde(untagged)]
enum Note {
    Fields(Vec<Difference>),
    Whole(Whole),
}

/// An object that could not be converted, its metadata aside.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Whole {
    /// Its generation and whether it was being deleted, as it was then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    generation: Option<i64>,
    #[serde(default, skip_serializing_if = "is_false")]
    deleting: bool,
    /// Absent when they are too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fields: Option<BTreeMap<String, Box<RawValue>>>,
}

fn is_false(value: &bool) -> bool {
    !value
}

type Mapping<'a> = &'a dyn Fn(&Value) -> Result<Value, String>;

/// One conversion, from a version to another.
pub(super) struct Conversion<'a> {
    /// The annotation that carries what gets lost.
    pub(super) annotation: &'a str,
    pub(super) group: &'a str,
    pub(super) from: &'a str,
    pub(super) to: &'a str,
    /// The mapping of fields, and the one in the other direction. What they do to the identity of
    /// the object does not matter.
    pub(super) forward: Mapping<'a>,
    pub(super) backward: Mapping<'a>,
    /// What is wrong with an object by the schema of the version that it is converted to.
    pub(super) errors: &'a dyn Fn(&Value) -> Errors,
    /// Whether an object must come out that can be read, whatever goes in.
    pub(super) is_read: bool,
}

/// Why an attempt failed, and what came out nevertheless, if anything did.
struct Failure {
    cause: String,
    shown: Option<Value>,
}

impl From<String> for Failure {
    fn from(cause: String) -> Self {
        Self { cause, shown: None }
    }
}

impl Conversion<'_> {
    /// Converts the object in `text`, and carries along what would be lost. In its metadata only the
    /// annotation changes.
    ///
    /// # Errors
    ///
    /// Why it cannot be converted.
    pub(super) fn convert(&self, text: &str) -> Result<String, String> {
        let mut object = Object::read(text)?;
        let mut carried = object.take(self.annotation);
        carried.remove(self.from);
        let differences = match carried.remove(self.to) {
            Some(Note::Fields(differences)) => differences,
            Some(Note::Whole(whole)) if !self.is_read => match self.restored(&object, whole) {
                Ok(fields) => {
                    object.fields = fields;
                    object.put(self.annotation, &carried);
                    return object.write(&self.api_version(self.to));
                }
                Err(cause) if object.is_whole() => return Err(cause),
                Err(_) => Vec::new(),
            },
            Some(Note::Whole(_)) | None => Vec::new(),
        };
        let (mut lost, shown) = match self.attempt(&object, &differences) {
            Ok(converted) => converted,
            Err(failure) if object.is_whole() && !self.is_read => return Err(failure.cause),
            Err(failure) => return self.as_it_is(object, carried, failure),
        };
        object.show(shown)?;
        if object.is_whole() && !self.is_read {
            // What is stored must be converted again, to be read in this version.
            object.check()?;
        }
        if !lost.is_empty() || !carried.is_empty() {
            lost.extend(object.empty_annotations().map(Difference::of_annotations));
        }
        if !lost.is_empty() {
            carried.insert(self.from.to_owned(), Note::Fields(lost));
        }
        if !object.put(self.annotation, &carried) {
            let cause = format!(
                "what {} has and {} has no place for is too long for an annotation",
                self.from, self.to
            );
            if object.is_whole() && !self.is_read {
                return Err(cause);
            }
            self.log(&object, &cause);
            self.mark(&mut object, &mut carried, None);
        }
        object.write(&self.api_version(self.to))
    }

    /// What is lost from `object` on the way, and what comes out there.
    fn attempt(
        &self,
        object: &Object<'_>,
        differences: &[Difference],
    ) -> Result<(Vec<Difference>, Value), Failure> {
        let source = object.value(&self.api_version(self.from))?;
        let mapped = self.map(self.forward, &source, self.to)?;
        // It may be large, and is read again when there is less beside it.
        drop(source);
        let (back, converted) = self.there_and_back(object, mapped, differences)?;
        let source = object.value(&self.api_version(self.from))?;
        Ok((Difference::between(&back, &source), converted))
    }

    /// `mapped` with what `differences` put back, behind what comes back from that.
    fn there_and_back(
        &self,
        object: &Object<'_>,
        mapped: Value,
        differences: &[Difference],
    ) -> Result<(Value, Value), Failure> {
        if !differences.is_empty() {
            let converted = self.with(object, &mapped, differences);
            match self.map(self.backward, &converted, self.from) {
                Ok(back) => return Ok((back, converted)),
                Err(cause) => self.log(object, &format!("the annotation is left out: {cause}")),
            }
        }
        match self.map(self.backward, &mapped, self.from) {
            Ok(back) => Ok((back, mapped)),
            Err(cause) => Err(Failure {
                cause: format!("it cannot be converted back: {cause}"),
                shown: Some(mapped),
            }),
        }
    }

    /// `mapped` with what `differences` put back, without those that the schema does not allow.
    fn with(&self, object: &Object<'_>, mapped: &Value, differences: &[Difference]) -> Value {
        let apply = |differences: &[&Difference]| {
            let mut converted = mapped.clone();
            for difference in differences {
                difference.apply(&mut converted);
            }
            converted
        };
        let before = (self.errors)(mapped);
        // No object that is converted is deeper.
        let is_flat = |difference: &&Difference| difference.depth() <= measure::DEEPEST;
        let mut kept: Vec<&Difference> = differences.iter().filter(is_flat).collect();
        // Once more, as one that is left out may have been needed by others.
        for _ in 0..2 {
            let converted = apply(&kept);
            let mut errors = (self.errors)(&converted);
            if !errors.is_cut() {
                let is_old = |error: &String| {
                    before.pointers.contains(error)
                        && mapped.pointer(error) == converted.pointer(error)
                };
                errors.pointers.retain(|error| !is_old(error));
            }
            let count = kept.len();
            kept.retain(|difference| {
                let at = difference.path();
                let is_its = |error: &String| {
                    is_below(error, at) || (is_below(at, error) && !before.pointers.contains(error))
                };
                let is_right = !errors.is_cut() && !errors.pointers.iter().any(is_its);
                if !is_right {
                    let cause = format!("left out, as {} does not allow it: {at}", self.to);
                    self.log(object, &cause);
                }
                is_right
            });
            if kept.len() == count {
                return converted;
            }
        }
        let converted = apply(&kept);
        let errors = (self.errors)(&converted);
        if errors.pointers.is_subset(&before.pointers) {
            return converted;
        }
        self.log(object, "the annotation is left out");
        mapped.clone()
    }

    /// The fields as `mapping` has them, below what identifies `object`.
    fn map(&self, mapping: Mapping<'_>, object: &Value, version: &str) -> Result<Value, String> {
        let mapped = mapping(&without(self.annotation, object))?;
        let mut fields = match mapped {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        let api_version = Value::String(self.api_version(version));
        fields.insert("apiVersion".to_owned(), api_version);
        for name in ["kind", "metadata"] {
            match object.get(name) {
                Some(value) => fields.insert(name.to_owned(), value.clone()),
                None => fields.remove(name),
            };
        }
        Ok(Value::Object(fields))
    }

    /// `object` as it is, or as it came out at least, with all of it carried along.
    fn as_it_is(
        &self,
        mut object: Object<'_>,
        mut carried: Carried,
        failure: Failure,
    ) -> Result<String, String> {
        let Failure { cause, shown } = failure;
        self.log(&object, &format!("it cannot be converted: {cause}"));
        let fields = match shown.filter(|_| object.is_whole()) {
            None => object.fields.clone(),
            Some(shown) => {
                let fields = object.fields.clone();
                object.show(shown)?;
                fields
            }
        };
        self.mark(&mut object, &mut carried, Some(fields));
        object.write(&self.api_version(self.to))
    }

    /// Notes that `object` is not all of what it was converted from, but those fields are, if they are
    /// not too long.
    fn mark(&self, object: &mut Object<'_>, carried: &mut Carried, fields: Option<Fields<'_>>) {
        carried.remove(self.from);
        if object.is_whole() {
            let own = |(name, value): (String, Cow<'_, RawValue>)| (name, value.into_owned());
            let whole = |fields| {
                Note::Whole(Whole {
                    generation: object.generation(),
                    deleting: object.is_deleting(),
                    fields,
                })
            };
            let notes = [
                whole(fields.map(|fields| fields.into_iter().map(own).collect())),
                whole(None),
            ];
            for note in notes {
                carried.insert(self.from.to_owned(), note);
                if object.put(self.annotation, carried) {
                    return;
                }
            }
            self.log(
                object,
                "its annotations are too long: what is lost is not noted",
            );
            carried.remove(self.from);
        }
        // All of this came along.
        object.put(self.annotation, carried);
    }

    /// The fields of an object that could not be converted, of which `object` is what was shown, unless
    /// that was changed.
    fn restored<'a>(&self, object: &Object<'a>, whole: Whole) -> Result<Fields<'a>, String> {
        let (from, to) = (self.from, self.to);
        let hint = format!(
            "write it in {to}, or replace it without its annotation `{}`",
            self.annotation
        );
        let Some(fields) = whole.fields else {
            return Err(format!(
                "{from} shows not all of it, and the rest was too long for an annotation: {hint}"
            ));
        };
        let own = |(name, value)| (name, Cow::Owned(value));
        let original = Object {
            kind: object.kind,
            metadata: object.metadata.clone(),
            fields: fields.into_iter().map(own).collect(),
        };
        let api_version = self.api_version(to);
        if !(self.errors)(&original.shallow(&api_version)?)
            .pointers
            .is_empty()
        {
            return Err(format!(
                "its annotation `{}` holds no object of {to}",
                self.annotation
            ));
        }
        // Deletion counts as a change.
        let deletions = i64::from(object.is_deleting() && !whole.deleting);
        let expected = whole.generation.map(|generation| generation + deletions);
        let is_same = object.generation() == expected && {
            let value = original.value(&api_version);
            let shown = value.and_then(|value| self.map(self.backward, &value, from));
            let shown = match shown {
                Ok(shown) => shown,
                Err(_) => original.shallow(&api_version)?,
            };
            let now = object.shallow(&self.api_version(from))?;
            // A change of it does not count.
            is_part(now.get("status"), shown.get("status"))
        };
        if !is_same {
            return Err(format!(
                "it cannot be shown as it is in {from}, and was changed there: {hint}"
            ));
        }
        Ok(original.fields)
    }

    fn api_version(&self, version: &str) -> String {
        format!("{}/{version}", self.group)
    }

    fn log(&self, object: &Object<'_>, message: &str) {
        let kind = object.kind.map(RawValue::get);
        let text = |field| object.text(field);
        let (namespace, name) = (text("namespace"), text("name"));
        let (from, to) = (self.from, self.to);
        tracing::warn!(kind, namespace, name, from, to, "{message}");
    }
}

/// Fields by their names, without those that identify an object.
type Fields<'a> = BTreeMap<String, Cow<'a, RawValue>>;

/// An object of which only the metadata is parsed.
struct Object<'a> {
    kind: Option<&'a RawValue>,
    metadata: Option<Value>,
    fields: Fields<'a>,
}

/// An object as it is written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    api_version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'a RawValue>,
    metadata: &'a Value,
    #[serde(flatten)]
    fields: &'a Fields<'a>,
}

impl<'a> Object<'a> {
    fn read(text: &'a str) -> Result<Self, String> {
        let fields = serde_json::from_str(text);
        let mut fields: BTreeMap<String, &RawValue> = fields.map_err(|error| error.to_string())?;
        fields.remove("apiVersion");
        let kind = fields.remove("kind");
        let metadata = fields.remove("metadata").map(|metadata| {
            measure::check([metadata.get()])?;
            serde_json::from_str(metadata.get()).map_err(|error| error.to_string())
        });
        let borrow = |(name, value)| (name, Cow::Borrowed(value));
        Ok(Self {
            kind,
            metadata: metadata.transpose()?,
            fields: fields.into_iter().map(borrow).collect(),
        })
    }

    /// All of it, parsed.
    fn value(&self, api_version: &str) -> Result<Value, String> {
        self.check()?;
        let parse =
            |value: &RawValue| serde_json::from_str(value.get()).map_err(|error| error.to_string());
        self.with_fields(api_version, parse)
    }

    /// Says why it cannot be parsed.
    fn check(&self) -> Result<(), String> {
        measure::check(self.fields.values().map(|value| value.get()))
    }

    /// The same without what is too deep.
    fn shallow(&self, api_version: &str) -> Result<Value, String> {
        let parse =
            |value: &RawValue| shallow(value, measure::DEEPEST).map_err(|error| error.to_string());
        self.with_fields(api_version, parse)
    }

    fn with_fields(
        &self,
        api_version: &str,
        parse: impl Fn(&RawValue) -> Result<Value, String>,
    ) -> Result<Value, String> {
        let fields = self.fields.iter();
        let fields = fields.map(|(name, value)| Ok((name.clone(), parse(value)?)));
        let mut fields: Map<String, Value> = fields.collect::<Result<_, String>>()?;
        fields.insert("apiVersion".to_owned(), api_version.into());
        if let Some(kind) = self.kind {
            fields.insert("kind".to_owned(), parse(kind)?);
        }
        if let Some(metadata) = &self.metadata {
            fields.insert("metadata".to_owned(), metadata.clone());
        }
        Ok(Value::Object(fields))
    }

    /// Has it have the fields and the metadata of `shown`.
    fn show(&mut self, shown: Value) -> Result<(), String> {
        let Value::Object(mut shown) = shown else {
            return Ok(());
        };
        self.metadata = shown.remove("metadata");
        shown.retain(|name, _| !is_identity(name));
        let fields = shown.into_iter().map(|(name, value)| {
            let value = to_raw_value(&value).map_err(|error| error.to_string())?;
            Ok((name, Cow::Owned(value)))
        });
        self.fields = fields.collect::<Result<_, String>>()?;
        Ok(())
    }

    fn write(&self, api_version: &str) -> Result<String, String> {
        // For server-side apply the API server converts parts of objects that have no metadata, but it
        // takes none without.
        let empty = Value::Object(Map::new());
        let written = Written {
            api_version,
            kind: self.kind,
            metadata: self.metadata.as_ref().unwrap_or(&empty),
            fields: &self.fields,
        };
        serde_json::to_string(&written).map_err(|error| error.to_string())
    }

    fn metadata(&mut self) -> Option<&mut Map<String, Value>> {
        self.metadata.as_mut()?.as_object_mut()
    }

    /// The text of that field of its metadata.
    fn text(&self, field: &str) -> Option<&str> {
        self.metadata.as_ref()?.get(field)?.as_str()
    }

    /// Whether it was read from the storage or is to be written to it, and is no part of an object.
    fn is_whole(&self) -> bool {
        let has = |field| self.text(field).is_some_and(|text| !text.is_empty());
        has("uid") && !has("resourceVersion")
    }

    fn generation(&self) -> Option<i64> {
        self.metadata.as_ref()?.get("generation")?.as_i64()
    }

    fn is_deleting(&self) -> bool {
        self.text("deletionTimestamp").is_some()
    }

    /// Its annotations, if they are there without holding any.
    fn empty_annotations(&self) -> Option<Value> {
        empty_annotations(self.metadata.as_ref()?.as_object()?)
    }

    /// Takes the annotation away from it. One that nobody can read stays where it is.
    fn take(&mut self, annotation: &str) -> Carried {
        self.metadata()
            .and_then(|metadata| take(metadata, annotation))
            .unwrap_or_default()
    }

    /// Gives it the annotation, unless it is too long, and says whether it was not.
    fn put(&mut self, annotation: &str, carried: &Carried) -> bool {
        self.metadata()
            .is_none_or(|metadata| put(metadata, annotation, carried))
    }
}

/// Whether a JSON pointer leads to a place or into what is there.
fn is_below(pointer: &str, place: &str) -> bool {
    let rest = pointer.strip_prefix(place);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether `part` has nothing that `whole` has not. The API server drops what a schema lacks.
fn is_part(part: Option<&Value>, whole: Option<&Value>) -> bool {
    match (part, whole) {
        (None, _) => true,
        (Some(Value::Object(part)), Some(Value::Object(whole))) => part
            .iter()
            .all(|(name, part)| is_part(Some(part), whole.get(name))),
        (Some(Value::Array(part)), Some(Value::Array(whole))) => {
            let items = || part.iter().zip(whole);
            part.len() == whole.len()
                && items().all(|(part, whole)| is_part(Some(part), Some(whole)))
        }
        (part, whole) => part == whole,
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

/// What the annotation holds, which is taken away; nothing if there is none that can be read.
fn take(metadata: &mut Map<String, Value>, annotation: &str) -> Option<Carried> {
    let annotations = metadata.get_mut("annotations")?.as_object_mut()?;
    let text = annotations.get(annotation)?;
    let Some(carried) = read(text) else {
        let text = |field| metadata.get(field).and_then(Value::as_str);
        let (namespace, name) = (text("namespace"), text("name"));
        tracing::warn!(
            annotation,
            namespace,
            name,
            "ignored an annotation that holds no converted fields"
        );
        return None;
    };
    annotations.remove(annotation);
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
    Some(carried)
}

fn read(text: &Value) -> Option<Carried> {
    let notes: BTreeMap<String, &RawValue> = serde_json::from_str(text.as_str()?).ok()?;
    let notes = notes.into_iter();
    notes
        .map(|(version, note)| Some((version, Note::read(note.get())?)))
        .collect()
}

impl Note {
    fn read(text: &str) -> Option<Self> {
        if text.starts_with('[') {
            let differences: Vec<Difference> = serde_json::from_str(text).ok()?;
            let are_valid = differences.iter().all(Difference::is_valid);
            return are_valid.then_some(Self::Fields(differences));
        }
        let whole: Whole = serde_json::from_str(text).ok()?;
        let mut names = whole.fields.iter().flat_map(BTreeMap::keys);
        let is_valid = !names.any(|name| is_identity(name));
        is_valid.then_some(Self::Whole(whole))
    }
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
    let length = lengths.sum::<usize>() + annotation.len() + text.len();
    let text = Value::String(text);
    // What is too deep could not be read again.
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
