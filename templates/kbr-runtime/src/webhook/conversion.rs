// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Conversion of objects between the versions of a kind, as the API server asks for it.
//!
//! It is lossless and fails for no object of a kind that is known: one object that cannot be
//! converted would break every list that it is in.

mod carry;
mod copy_fields;
mod difference;
mod mapping;

use std::collections::BTreeMap;

use kube::Resource;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Converter;
use carry::Conversion;
pub use copy_fields::copy_fields;
#[cfg(feature = "testing")]
pub(crate) use difference::Difference;
#[cfg(feature = "testing")]
pub(crate) use mapping::rewrite;
pub(crate) use mapping::{Function, Mapping};

const REVIEW_VERSION: &str = "apiextensions.k8s.io/v1";
const REVIEW_KIND: &str = "ConversionReview";

/// Every conversion of a project.
#[derive(Default)]
pub(crate) struct Conversions {
    kinds: BTreeMap<Kind, Versions>,
}

/// A kind in any version.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Kind {
    pub(crate) group: String,
    pub(crate) kind: String,
}

/// The versions of a kind, and how all others are mapped to the hub.
struct Versions {
    hub: String,
    spokes: BTreeMap<String, Mapping>,
}

/// What the API server asks.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review {
    api_version: String,
    kind: String,
    request: Request,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    uid: String,
    #[serde(rename = "desiredAPIVersion")]
    desired_version: String,
    objects: Vec<Value>,
}

impl Conversions {
    /// Adds what `converter` does.
    ///
    /// # Panics
    ///
    /// When there is a converter for the same two versions, or for another hub of the kind.
    pub(crate) fn add<C: Converter>(&mut self, converter: C) {
        let kind = Kind::of::<C::Hub>();
        let (hub, spoke) = (C::Hub::version(&()), C::Spoke::version(&()));
        let is_same = C::Spoke::group(&()) == kind.group && C::Spoke::kind(&()) == kind.kind;
        assert!(is_same, "a converter of {kind:?} is for another kind too");
        assert_ne!(hub, spoke, "a converter of {kind:?} is for one version");
        let name = format!("{}.{}", kind.kind, kind.group);
        let versions = self.kinds.entry(kind).or_insert_with(|| Versions {
            hub: hub.clone().into_owned(),
            spokes: BTreeMap::new(),
        });
        assert_eq!(versions.hub, hub, "{name} has two hubs");
        let others = versions.spokes.insert(spoke.into(), Mapping::of(converter));
        assert!(others.is_none(), "{name} has two converters of one version");
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The answer to a review, both in JSON.
    ///
    /// # Errors
    ///
    /// Says what is wrong with `review`, if it is none.
    pub(crate) fn answer(&self, review: &[u8]) -> Result<Vec<u8>, String> {
        let review: Review =
            serde_json::from_slice(review).map_err(|error| format!("not a review: {error}"))?;
        if (review.api_version.as_str(), review.kind.as_str()) != (REVIEW_VERSION, REVIEW_KIND) {
            let (kind, version) = (review.kind, review.api_version);
            return Err(format!(
                "not a {REVIEW_KIND} of {REVIEW_VERSION}: {kind} of {version}"
            ));
        }
        let Request {
            uid,
            desired_version,
            objects,
        } = review.request;
        let objects = objects.into_iter();
        let converted: Result<Vec<_>, _> = objects
            .map(|object| self.convert(object, &desired_version))
            .collect();
        let response = match converted {
            Ok(objects) => json!({
                "uid": uid,
                "convertedObjects": objects,
                "result": {"status": "Success"},
            }),
            Err(message) => {
                tracing::error!(error = message, "conversion failed");
                json!({
                    "uid": uid,
                    "convertedObjects": [],
                    "result": {"status": "Failed", "message": message},
                })
            }
        };
        let answer = json!({
            "apiVersion": REVIEW_VERSION,
            "kind": REVIEW_KIND,
            "response": response,
        });
        Ok(answer.to_string().into_bytes())
    }

    /// `object` in the version `desired`, which has the group before it.
    ///
    /// # Errors
    ///
    /// Names the object, if nothing is known of its kind or of one of the versions.
    pub(crate) fn convert(&self, object: Value, desired: &str) -> Result<Value, String> {
        let current = text(&object, "/apiVersion").to_owned();
        if current == desired && object.is_object() {
            return Ok(object);
        }
        let Some((kind, versions, from, to)) = self.find(&object, &current, desired) else {
            return Err(format!(
                "{} cannot be converted from `{current}` to `{desired}`: \
                 no converter is registered for both",
                described(&object)
            ));
        };
        let hub = versions.hub.as_str();
        let mut object = object;
        if let Some(Mapping { to_hub, to_spoke }) = versions.spokes.get(from) {
            object = kind.convert(object, (from, to_spoke), (hub, to_hub));
        }
        if let Some(Mapping { to_hub, to_spoke }) = versions.spokes.get(to) {
            object = kind.convert(object, (hub, to_hub), (to, to_spoke));
        }
        Ok(object)
    }

    /// What converts `object`, and the two versions without their group.
    fn find<'a>(
        &self,
        object: &Value,
        current: &'a str,
        desired: &'a str,
    ) -> Option<(&Kind, &Versions, &'a str, &'a str)> {
        let (group, from) = current.split_once('/')?;
        let (desired_group, to) = desired.split_once('/')?;
        let kind = Kind {
            group: group.to_owned(),
            kind: text(object, "/kind").to_owned(),
        };
        let (kind, versions) = self.kinds.get_key_value(&kind)?;
        let is_known =
            |version: &str| versions.hub == version || versions.spokes.contains_key(version);
        let is_found = group == desired_group && is_known(from) && is_known(to);
        is_found.then_some((kind, versions, from, to))
    }
}

impl Kind {
    /// The kind of that type.
    pub(crate) fn of<T: Resource<DynamicType = ()>>() -> Self {
        Self {
            group: T::group(&()).into_owned(),
            kind: T::kind(&()).into_owned(),
        }
    }

    /// The name of the annotation that carries what gets lost.
    pub(crate) fn annotation(&self) -> String {
        format!("{}/converted-fields", self.group)
    }

    /// Converts `object` from a version to another, each with the function that leads to it.
    pub(crate) fn convert(
        &self,
        object: Value,
        (from, backward): (&str, &Function),
        (to, forward): (&str, &Function),
    ) -> Value {
        let conversion = Conversion {
            annotation: &self.annotation(),
            group: &self.group,
            from,
            to,
            forward: &|object| or_identity(forward(object), object, to),
            backward: &|object| or_identity(backward(object), object, from),
        };
        conversion.convert(object)
    }
}

/// What came out of a mapping, or, so that no list breaks for it, the fields as they are.
fn or_identity(mapped: Result<Value, String>, object: &Value, to: &str) -> Value {
    mapped.unwrap_or_else(|error| {
        tracing::error!(
            error,
            from = text(object, "/apiVersion"),
            to,
            "{} could not be converted; its fields stay as they are",
            described(object)
        );
        object.clone()
    })
}

/// An object in words.
fn described(object: &Value) -> String {
    let kind = match text(object, "/kind") {
        "" => "an object without a kind",
        kind => kind,
    };
    let name = text(object, "/metadata/name");
    match text(object, "/metadata/namespace") {
        "" => format!("{kind} `{name}`"),
        namespace => format!("{kind} `{namespace}/{name}`"),
    }
}

/// The text at that JSON pointer, empty if there is none.
fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    let value = object.pointer(pointer);
    value.and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
