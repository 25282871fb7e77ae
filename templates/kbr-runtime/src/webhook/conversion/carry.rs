// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Carries fields past a version that has no place for them.
//!
//! The result of a conversion is converted back at once. Where it does not come back as it was, the
//! difference is recorded in an annotation: when the original version is requested again, and the same
//! value comes out as did now, the original value is restored. If somebody changed the field in
//! between, another value comes out, and is kept.
//!
//! So nothing is lost as long as the annotation exists, whatever the mapping does, with these
//! exceptions:
//! - In between, the API server prunes fields that the other version's schema does not know, and sets
//!   its defaults. A default that a field is mapped from counts as an edit, as the two cannot be told
//!   apart; fields that the mapping left out are restored with it. Other defaults do no harm.
//! - A list is restored as a whole, and not at all if an item was changed, moved or removed, because it
//!   is unknown then which items correspond. Fields that were only added are kept.
//! - Anyone who may write an object may write the annotation. What it restores must be valid in the
//!   version, by its Rust type and by its schema; anything else is left out.
//! - All annotations of an object together may have 256 KiB; with more, the API server refuses to read
//!   the object, and every list that contains it.
//!
//! # What cannot be converted
//!
//! The API server does not say whether it reads or writes an object. The hub is assumed to be the
//! stored version:
//! - A conversion to the hub is a write, which fails and leaves the stored object as it is.
//! - A conversion from the hub is a read, which does not fail, because a failure would break every list
//!   that contains the object. The fields are shown as they are, and the whole object goes into the
//!   annotation. It is restored from there, so that metadata can be written and finalizers removed. If
//!   anything else was changed, or if the object was too long for an annotation, the way back fails.
//!
//! The generation, which the API server increments, shows whether anything was changed.
//!
//! For server-side apply, the API server also converts partial objects, in which required fields may be
//! absent, and for admission webhooks it converts objects in transit. An object that it reads from
//! storage or writes to it has a UID and, at that time, no resource version. Any other object that
//! cannot be converted is taken for a part: the fields that it lacks are filled in, twice, and what
//! depends on them is left out of the result. If that fails as well, the fields that the other version
//! has, too, are copied. The annotation carries the others.
//!
//! An object that cannot be shown as it is can be deleted, in each version: while it is being deleted,
//! a conversion to the hub does not fail for it.

mod annotation;
mod object;
mod part;

use std::borrow::Cow;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::difference::Difference;
use super::measure;
use super::schema::Errors;
use annotation::{Carried, Note, Whole};
use object::{Fields, Object};

type Mapping<'a> = &'a dyn Fn(&Value) -> Result<Value, String>;

/// One conversion, from one version to another.
pub(super) struct Conversion<'a> {
    /// The annotation that carries lost fields.
    pub(super) annotation: &'a str,
    pub(super) group: &'a str,
    pub(super) from: &'a str,
    pub(super) to: &'a str,
    /// The mapping of fields, and the one in the other direction. Changes that they make to the
    /// identity of the object are ignored.
    pub(super) forward: Mapping<'a>,
    pub(super) backward: Mapping<'a>,
    /// The errors of an object by the schema of the version to which it is converted.
    pub(super) errors: &'a dyn Fn(&Value) -> Errors,
    /// Fills in what a part of an object lacks, in the version from which it is converted, with values
    /// that depend on the number.
    pub(super) fill: &'a dyn Fn(&mut Value, usize),
    /// Removes what the version to which an object is converted does not declare.
    pub(super) prune: &'a dyn Fn(&mut Value),
    /// Whether the result must be an object that can be read, whatever the input is.
    pub(super) is_read: bool,
}

/// Why an attempt failed, and what it produced nevertheless, if anything.
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
        let mut carried = object.take(self.annotation).unwrap_or_default();
        carried.remove(self.from);
        let mut is_stored = object.is_whole() && !self.is_read;
        let differences = match carried.remove(self.to) {
            Some(Note::Fields(differences)) => differences,
            Some(Note::Whole(whole)) if !self.is_read => match self.restored(&object, whole) {
                Ok(Some(fields)) => {
                    object.fields = fields;
                    object.put(self.annotation, &carried);
                    return object.write(&self.api_version(self.to));
                }
                Err(cause) if is_stored => return Err(cause),
                Ok(None) | Err(_) => {
                    is_stored = false;
                    Vec::new()
                }
            },
            Some(Note::Whole(_)) | None => Vec::new(),
        };
        let attempt = self.attempt(&object, &differences);
        let attempt = match attempt {
            Err(_) if !object.is_whole() => self.attempt_part(&object, &differences),
            attempt => attempt,
        };
        let (mut lost, shown) = match attempt {
            Ok(converted) => converted,
            Err(failure) if is_stored => return Err(failure.cause),
            Err(failure) => return self.as_it_is(object, carried, failure),
        };
        object.show(shown)?;
        if is_stored {
            // A stored object must be convertible again, so that it can be read in this version.
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
                "the fields of {} that {} has no place for are too long for an annotation",
                self.from, self.to
            );
            if is_stored {
                return Err(cause);
            }
            self.log(&object, &cause);
            self.mark(&mut object, &mut carried, None);
        }
        object.write(&self.api_version(self.to))
    }

    /// Returns what is lost from `object` by the conversion, and the result.
    fn attempt(
        &self,
        object: &Object<'_>,
        differences: &[Difference],
    ) -> Result<(Vec<Difference>, Value), Failure> {
        let source = object.value(&self.api_version(self.from))?;
        let mapped = self.map(self.forward, &source, self.to)?;
        // It may be large, and is parsed again when less else is in memory.
        drop(source);
        let (back, converted) = self.round_trip(object, mapped, differences)?;
        let source = object.value(&self.api_version(self.from))?;
        Ok((Difference::between(&back, &source), converted))
    }

    /// Restores `differences` in `mapped`. Returns the result of converting that back, and what was
    /// restored.
    fn round_trip(
        &self,
        object: &Object<'_>,
        mapped: Value,
        differences: &[Difference],
    ) -> Result<(Value, Value), Failure> {
        if !differences.is_empty() {
            let converted = self.with(object, &mapped, differences);
            match self.map(self.backward, &converted, self.from) {
                Ok(back) => return Ok((back, converted)),
                Err(cause) => self.log(object, &format!("the annotation is ignored: {cause}")),
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

    /// `mapped` with `differences` restored, except those that the schema does not allow.
    fn with(&self, object: &Object<'_>, mapped: &Value, differences: &[Difference]) -> Value {
        let apply = |differences: &[&Difference]| {
            let mut converted = mapped.clone();
            for difference in differences {
                difference.apply(&mut converted);
            }
            converted
        };
        let before = (self.errors)(mapped);
        // No object that is converted is nested more deeply.
        let is_flat = |difference: &&Difference| difference.depth() <= measure::DEEPEST;
        let mut kept: Vec<&Difference> = differences.iter().filter(is_flat).collect();
        // Twice, as others may have needed one that is left out.
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
                    let cause = format!("left out, because {} does not allow it: {at}", self.to);
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
        self.log(object, "the annotation is ignored");
        mapped.clone()
    }

    /// The fields that `mapping` returns, with the identity of `object`.
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

    /// `object` unconverted, or as far as it was converted, with all of it carried along.
    fn as_it_is<'a>(
        &self,
        mut object: Object<'a>,
        mut carried: Carried<'a>,
        failure: Failure,
    ) -> Result<String, String> {
        let Failure { cause, shown } = failure;
        self.log(&object, &format!("it cannot be converted: {cause}"));
        let fields = object.fields.clone();
        if let Some(shown) = shown.filter(|_| object.is_whole()) {
            object.show(shown)?;
        }
        self.mark(&mut object, &mut carried, Some(fields));
        object.write(&self.api_version(self.to))
    }

    /// Records that `object` is not all of what it was converted from, with all of its `fields`, if
    /// they are not too long.
    fn mark<'a>(
        &self,
        object: &mut Object<'a>,
        carried: &mut Carried<'a>,
        fields: Option<Fields<'a>>,
    ) {
        carried.remove(self.from);
        if object.is_whole() {
            for fields in [fields, None] {
                let note = Note::Whole(Whole {
                    generation: object.generation(),
                    fields,
                });
                carried.insert(self.from.to_owned(), note);
                if object.put(self.annotation, carried) {
                    return;
                }
            }
            self.log(
                object,
                "its annotations are too long: lost fields are not recorded",
            );
            carried.remove(self.from);
        }
        // All of these notes came with the object.
        object.put(self.annotation, carried);
    }

    /// Returns the fields of an object that could not be converted, and was shown as `object`, unless
    /// `object` was changed since then; `None` if they are not known, and it is being deleted.
    fn restored<'a>(
        &self,
        object: &Object<'a>,
        whole: Whole<'a>,
    ) -> Result<Option<Fields<'a>>, String> {
        let (from, to) = (self.from, self.to);
        let hint = format!(
            "write it in {to}, or replace it without its annotation `{}`",
            self.annotation
        );
        let Some(fields) = whole.fields else {
            if object.is_deleting() {
                return Ok(None);
            }
            return Err(format!(
                "{from} does not show all of it, and the rest was too long for an annotation: {hint}"
            ));
        };
        let original = Object {
            kind: object.kind,
            metadata: object.metadata.clone(),
            fields,
        };
        let api_version = self.api_version(to);
        let errors = (self.errors)(&original.shallow(&api_version)?);
        if !errors.pointers.is_empty() && !object.is_deleting() {
            return Err(format!(
                "its annotation `{}` holds no object of {to}",
                self.annotation
            ));
        }
        // A deletion changes the generation too.
        let is_same = (object.is_deleting() || object.generation() == whole.generation) && {
            let value = original.value(&api_version);
            let shown = value.and_then(|value| self.map(self.backward, &value, from));
            let shown = shown.or_else(|_| original.shallow(&api_version))?;
            let now = object.shallow(&self.api_version(from))?;
            // The generation does not count changes of the status.
            is_part(now.get("status"), shown.get("status"))
                && (!object.is_deleting() || agree(now.get("spec"), shown.get("spec")))
        };
        if !is_same {
            return Err(format!(
                "it cannot be shown as it is in {from}, and was changed there: {hint}"
            ));
        }
        Ok(Some(original.fields))
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

/// Whether a JSON pointer leads to `place` or to something in it.
fn is_below(pointer: &str, place: &str) -> bool {
    let rest = pointer.strip_prefix(place);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether what both have is the same. The API server prunes fields that a schema lacks, and adds defaults.
fn agree(one: Option<&Value>, other: Option<&Value>) -> bool {
    match (one, other) {
        (None, _) | (_, None) => true,
        (Some(Value::Object(one)), Some(Value::Object(other))) => one
            .iter()
            .all(|(name, one)| agree(Some(one), other.get(name))),
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            let mut items = one.iter().zip(other);
            one.len() == other.len() && items.all(|(one, other)| agree(Some(one), Some(other)))
        }
        (one, other) => one == other,
    }
}

/// Whether `part` has nothing that `whole` lacks. The API server prunes fields that a schema lacks.
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

/// `object` as a mapping sees it, which is the same whether or not something is carried: without the
/// annotation, and without `annotations` if there are no others.
fn without<'a>(annotation: &str, object: &'a Value) -> Cow<'a, Value> {
    let found = object.pointer("/metadata/annotations");
    let is_same = |found: &Map<_, _>| !found.is_empty() && !found.contains_key(annotation);
    if found.is_none_or(|found| found.as_object().is_some_and(is_same)) {
        return Cow::Borrowed(object);
    }
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata") {
        annotation::remove(metadata, annotation);
    }
    Cow::Owned(object)
}

#[cfg(test)]
mod tests;
