// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Conversion of objects between the versions of a kind, as requested by the API server.
//!
//! It is lossless. An object that cannot be converted from the hub is returned nevertheless, as a
//! failure would break every list that contains it; if an object cannot be converted to the hub, the
//! stored version, the conversion fails.

mod carry;
mod copy_fields;
mod difference;
mod mapping;
pub(super) mod measure;
mod schema;
mod shallow;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use kube::Resource;
use prometheus_client::metrics::counter::Counter;
use serde::de::{DeserializeSeed, Deserializer, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Converter;
use carry::Conversion;
pub use copy_fields::copy_fields;
pub use difference::Difference;
pub(crate) use mapping::Function;
pub use mapping::{Mapping, rewrite};
pub(crate) use schema::Schema;

const REVIEW_VERSION: &str = "apiextensions.k8s.io/v1";
const REVIEW_KIND: &str = "ConversionReview";

/// All conversions of a project.
#[derive(Default)]
pub(crate) struct Conversions {
    kinds: BTreeMap<Kind, Versions>,
    panics: Counter,
}

/// A kind in any version.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Kind {
    /// The API group.
    pub group: String,
    /// The kind.
    pub kind: String,
}

/// The versions of a kind, and how each spoke is mapped to the hub.
struct Versions {
    hub: String,
    spokes: BTreeMap<String, Mapping>,
}

/// One version of a kind, in a conversion.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// The version.
    pub version: &'a str,
    /// The mapping to the other version.
    pub leave: &'a Function,
    pub(crate) schema: &'a Schema,
}

/// A review from the API server. Objects stay text: only one at a time is parsed.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review<'a> {
    #[serde(borrow)]
    api_version: Cow<'a, str>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    request: Request<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    #[serde(borrow)]
    uid: Cow<'a, str>,
    #[serde(borrow, rename = "desiredAPIVersion")]
    desired_version: Cow<'a, str>,
    #[serde(borrow)]
    objects: &'a RawValue,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    api_version: &'static str,
    kind: &'static str,
    response: Response<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    uid: &'a str,
    result: Outcome<'a>,
    converted_objects: &'a RawValue,
}

#[derive(Serialize)]
struct Outcome<'a> {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

impl Conversions {
    /// Adds `converter`.
    ///
    /// # Panics
    ///
    /// When there is already a converter for the same two versions, or with another hub of the kind.
    pub(crate) fn add<C: Converter>(&mut self, converter: C) {
        let kind = Kind::of::<C::Hub>();
        let (hub, spoke) = (C::Hub::version(&()), C::Spoke::version(&()));
        let is_same = C::Spoke::group(&()) == kind.group && C::Spoke::kind(&()) == kind.kind;
        assert!(
            is_same,
            "the types of a converter of {kind:?} have different kinds"
        );
        assert_ne!(
            hub, spoke,
            "the types of a converter of {kind:?} have the same version"
        );
        let name = format!("{}.{}", kind.kind, kind.group);
        let panics = self.panics();
        let versions = self.kinds.entry(kind).or_insert_with(|| Versions {
            hub: hub.clone().into_owned(),
            spokes: BTreeMap::new(),
        });
        assert_eq!(versions.hub, hub, "{name} has two hubs");
        let others = versions
            .spokes
            .insert(spoke.into(), Mapping::of(converter, panics));
        assert!(
            others.is_none(),
            "{name} has two converters for one version"
        );
    }

    /// Counts the panics of converters.
    pub(crate) fn panics(&self) -> Counter {
        self.panics.clone()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The answer to a review, both in JSON.
    ///
    /// # Errors
    ///
    /// What is wrong with `review`, if it is not a review.
    pub(crate) fn answer(&self, review: &[u8]) -> Result<Vec<u8>, String> {
        let review: Review<'_> =
            serde_json::from_slice(review).map_err(|error| format!("not a review: {error}"))?;
        if (&*review.api_version, &*review.kind) != (REVIEW_VERSION, REVIEW_KIND) {
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
        let (converted, failure) = self.convert_all(objects, &desired_version)?;
        if let Some(error) = &failure {
            tracing::error!(error, "conversion failed");
        }
        let answer = Answer {
            api_version: REVIEW_VERSION,
            kind: REVIEW_KIND,
            response: Response {
                uid: &uid,
                result: Outcome {
                    status: failure.as_ref().map_or("Success", |_| "Failed"),
                    message: failure.as_deref(),
                },
                converted_objects: &converted,
            },
        };
        serde_json::to_vec(&answer).map_err(|error| error.to_string())
    }

    /// Returns the list of `objects` in the version `desired`, or, if one of them cannot be converted,
    /// an empty list and the reason.
    fn convert_all(
        &self,
        objects: &RawValue,
        desired: &str,
    ) -> Result<(Box<RawValue>, Option<String>), String> {
        let mut list = "[".to_owned();
        let mut failure = None;
        let mut objects = serde_json::Deserializer::from_str(objects.get());
        let walked = ForEach(|object| {
            if list.len() > 1 {
                list.push(',');
            }
            self.convert(object, desired, &mut list)
                .map_err(|message| failure = Some(message))
        })
        .deserialize(&mut objects);
        match (walked, &failure) {
            (Err(error), None) => return Err(format!("not a review: {error}")),
            (_, Some(_)) => list.truncate(1),
            _ => {}
        }
        list.push(']');
        let list = RawValue::from_string(list).map_err(|error| error.to_string())?;
        Ok((list, failure))
    }

    /// Converts `object` to the version `desired`, which includes the group, and appends it to `list`.
    ///
    /// # Errors
    ///
    /// The name of the object, and why it cannot be converted.
    pub(crate) fn convert(
        &self,
        object: &RawValue,
        desired: &str,
        list: &mut String,
    ) -> Result<(), String> {
        let head = Head::of(object);
        let current = head.api_version.as_str();
        if current == desired && head.is_object {
            list.push_str(object.get());
            return Ok(());
        }
        let failed = |cause: &str| {
            format!("{head} cannot be converted from `{current}` to `{desired}`: {cause}")
        };
        let Some((kind, versions, from, to)) = self.find(&head.kind, current, desired) else {
            return Err(failed("no converter is registered for these versions"));
        };
        let mut converted = None;
        for (version, mapping) in [
            (from, versions.spokes.get(from)),
            (to, versions.spokes.get(to)),
        ] {
            let Some(mapping) = mapping else {
                continue;
            };
            let (hub, spoke) = mapping.sides(&versions.hub, version);
            let ways = if version == from {
                (spoke, hub)
            } else {
                (hub, spoke)
            };
            let text = converted.as_deref().unwrap_or(object.get());
            let done = kind.convert(text, ways.0, ways.1, &versions.hub);
            converted = Some(done.map_err(|cause| failed(&cause))?);
        }
        list.push_str(converted.as_deref().unwrap_or(object.get()));
        Ok(())
    }

    /// The kind with its converters, and the two versions without their group.
    fn find<'a>(
        &self,
        kind: &str,
        current: &'a str,
        desired: &'a str,
    ) -> Option<(&Kind, &Versions, &'a str, &'a str)> {
        let (group, from) = current.split_once('/')?;
        let (desired_group, to) = desired.split_once('/')?;
        let kind = Kind {
            group: group.to_owned(),
            kind: kind.to_owned(),
        };
        let (kind, versions) = self.kinds.get_key_value(&kind)?;
        let is_known =
            |version: &str| versions.hub == version || versions.spokes.contains_key(version);
        let is_found = group == desired_group && is_known(from) && is_known(to);
        is_found.then_some((kind, versions, from, to))
    }
}

impl Kind {
    /// The kind of the type `T`.
    pub fn of<T: Resource<DynamicType = ()>>() -> Self {
        Self {
            group: T::group(&()).into_owned(),
            kind: T::kind(&()).into_owned(),
        }
    }

    /// The name of the annotation that carries lost fields.
    pub fn annotation(&self) -> String {
        format!("{}/converted-fields", self.group)
    }

    /// Converts the object in `text` from one version to another. One of them is the hub.
    ///
    /// # Errors
    ///
    /// Why it cannot be converted to the hub, or is not an object.
    pub fn convert(
        &self,
        text: &str,
        from: Side<'_>,
        to: Side<'_>,
        hub: &str,
    ) -> Result<String, String> {
        let conversion = Conversion {
            annotation: &self.annotation(),
            group: &self.group,
            from: from.version,
            to: to.version,
            forward: from.leave,
            backward: to.leave,
            errors: &|object| to.schema.errors(object),
            is_read: from.version == hub,
        };
        conversion.convert(text)
    }
}

/// Calls a function for each item of a list, until it fails.
struct ForEach<F>(F);

impl<'de, F: FnMut(&'de RawValue) -> Result<(), ()>> DeserializeSeed<'de> for ForEach<F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, F: FnMut(&'de RawValue) -> Result<(), ()>> Visitor<'de> for ForEach<F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut access: A) -> Result<(), A::Error> {
        while let Some(item) = access.next_element()? {
            self.0(item).map_err(|()| A::Error::custom("it was stopped"))?;
        }
        Ok(())
    }
}

/// What identifies the object. A part that is missing or not a string is empty.
#[derive(Default)]
struct Head {
    is_object: bool,
    api_version: String,
    kind: String,
    namespace: String,
    name: String,
}

/// The fields of an object or of its metadata that [`Head`] is read from.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HeadFields<'a> {
    #[serde(borrow)]
    api_version: Option<&'a RawValue>,
    #[serde(borrow)]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    namespace: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
}

impl Head {
    fn of(object: &RawValue) -> Self {
        // serde would read the struct from a list, too.
        let is_object = object.get().starts_with('{');
        let Some(object) = is_object.then(|| head_fields(object)).flatten() else {
            return Self::default();
        };
        let metadata = object.metadata.and_then(head_fields);
        let metadata = metadata.as_ref();
        Self {
            is_object,
            api_version: text(object.api_version),
            kind: text(object.kind),
            namespace: text(metadata.and_then(|metadata| metadata.namespace)),
            name: text(metadata.and_then(|metadata| metadata.name)),
        }
    }
}

fn head_fields(object: &RawValue) -> Option<HeadFields<'_>> {
    serde_json::from_str(object.get()).ok()
}

fn text(value: Option<&RawValue>) -> String {
    let text = value.and_then(|value| serde_json::from_str(value.get()).ok());
    text.unwrap_or_default()
}

impl fmt::Display for Head {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            namespace,
            name,
            ..
        } = self;
        match kind.as_str() {
            "" => formatter.write_str("an object without a kind"),
            kind => formatter.write_str(kind),
        }?;
        match namespace.as_str() {
            "" => write!(formatter, " `{name}`"),
            namespace => write!(formatter, " `{namespace}/{name}`"),
        }
    }
}
