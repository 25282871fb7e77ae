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
use std::collections::BTreeSet;
use std::fmt;

use kube::CustomResourceExt;
use prometheus_client::metrics::counter::Counter;
use serde::de::{DeserializeOwned, Deserializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::review::{Answer, Review};
use super::watchdog::Watchdog;
use super::{Converter, Webhooks};
pub use copy_fields::copy_fields;
pub use difference::Difference;
pub use mapping::{Kind, Mapping, Side, rewrite};
pub(crate) use schema::Schema;

const REVIEW_VERSION: &str = "apiextensions.k8s.io/v1";
const REVIEW_KIND: &str = "ConversionReview";

/// All conversions of a project.
#[derive(Default)]
pub(crate) struct Conversions {
    mappings: Vec<Mapping>,
    crds: BTreeSet<String>,
    panics: Counter,
}

/// A request to convert objects. They stay text: only one at a time is parsed.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    #[serde(borrow)]
    uid: Cow<'a, str>,
    #[serde(borrow, rename = "desiredAPIVersion")]
    desired_version: Cow<'a, str>,
    #[serde(borrow)]
    objects: Vec<&'a RawValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    uid: &'a str,
    result: Value,
    converted_objects: Vec<Cow<'a, RawValue>>,
}

impl Conversions {
    /// Adds `converter`.
    ///
    /// # Panics
    ///
    /// When there is already a converter for the same two versions, or with another hub of the kind.
    pub(crate) fn add<C: Converter>(&mut self, converter: C) {
        let kind = Kind::of::<C::Hub>();
        assert!(
            kind == Kind::of::<C::Spoke>(),
            "the types of a converter of {kind:?} have different kinds"
        );
        let mapping = Mapping::of(converter, self.panics());
        let (hub, spoke) = (&mapping.hub.version, &mapping.spoke.version);
        assert_ne!(
            hub, spoke,
            "the types of a converter of {kind:?} have the same version"
        );
        let name = format!("{}.{}", kind.kind, kind.group);
        for other in self.mappings.iter().filter(|other| other.kind == kind) {
            assert_eq!(other.hub.version, *hub, "{name} has two hubs");
            assert!(
                other.spoke.version != *spoke,
                "{name} has two converters for one version"
            );
        }
        self.mappings.push(mapping);
        self.crds.insert(C::Hub::crd_name().to_owned());
    }

    /// The names of the CRDs of all kinds.
    pub(crate) fn crds(&self) -> BTreeSet<String> {
        self.crds.clone()
    }

    /// Counts the panics of converters.
    pub(crate) fn panics(&self) -> Counter {
        self.panics.clone()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.mappings.is_empty()
    }

    /// The answer to a review, both in JSON.
    ///
    /// # Errors
    ///
    /// What is wrong with `review`, if it is not a review.
    pub(super) fn answer(&self, review: &[u8], watchdog: &Watchdog) -> Result<Vec<u8>, String> {
        let review: Review<'_, Request<'_>> =
            serde_json::from_slice(review).map_err(|error| format!("not a review: {error}"))?;
        if (&*review.api_version, &*review.kind) != (REVIEW_VERSION, REVIEW_KIND) {
            let (kind, version) = (review.kind, review.api_version);
            return Err(format!(
                "not a {REVIEW_KIND} of {REVIEW_VERSION}: {kind} of {version}"
            ));
        }
        let request = review.request;
        let objects = request.objects.into_iter();
        let converted =
            objects.map(|object| self.convert(object, &request.desired_version, watchdog));
        let (result, converted_objects) = match converted.collect::<Result<_, _>>() {
            Ok(converted) => (json!({"status": "Success"}), converted),
            Err(error) => {
                tracing::error!(error, "conversion failed");
                (json!({"status": "Failed", "message": error}), Vec::new())
            }
        };
        let answer = Answer {
            api_version: REVIEW_VERSION,
            kind: REVIEW_KIND,
            response: Response {
                uid: &request.uid,
                result,
                converted_objects,
            },
        };
        serde_json::to_vec(&answer).map_err(|error| error.to_string())
    }

    /// Converts `object` to the version `desired`, which includes the group.
    ///
    /// # Errors
    ///
    /// The name of the object, and why it cannot be converted.
    fn convert<'a>(
        &self,
        object: &'a RawValue,
        desired: &str,
        watchdog: &Watchdog,
    ) -> Result<Cow<'a, RawValue>, String> {
        let head = match Head::of(object) {
            Some(head) if head.api_version == desired => return Ok(Cow::Borrowed(object)),
            head => head.unwrap_or_default(),
        };
        let failed = |cause: &str| {
            let current = &head.api_version;
            format!("{head} cannot be converted from `{current}` to `{desired}`: {cause}")
        };
        let steps = self.steps(&head, desired);
        let steps = steps.ok_or_else(|| failed("no converter is registered for these versions"))?;
        let mut text = Cow::Borrowed(object.get());
        let name = format!("`{}` ({head})", Webhooks::CONVERT).into();
        for (mapping, from, to) in steps {
            let converted = watchdog.call(&name, || mapping.convert(&text, from, to));
            text = Cow::Owned(converted.map_err(|cause| failed(&cause))?);
        }
        let converted = RawValue::from_string(text.into_owned());
        let converted = converted.map_err(|error| failed(&error.to_string()))?;
        Ok(Cow::Owned(converted))
    }

    /// The conversions that lead to the version `desired`; `None` if one is missing.
    fn steps(&self, head: &Head, desired: &str) -> Option<Vec<(&Mapping, &Side, &Side)>> {
        let (group, from) = head.api_version.split_once('/')?;
        let to = desired.strip_prefix(group)?.strip_prefix('/')?;
        let is_of_kind =
            |mapping: &&Mapping| mapping.kind.group == group && mapping.kind.kind == head.kind;
        let mappings = self.mappings.iter().filter(is_of_kind);
        let spoke = |version: &str| {
            let mut mappings = mappings.clone();
            mappings.find(|mapping| mapping.spoke.version == version)
        };
        let hub = &mappings.clone().next()?.hub.version;
        let mut steps = Vec::new();
        if from != hub {
            let mapping = spoke(from)?;
            steps.push((mapping, &mapping.spoke, &mapping.hub));
        }
        if to != hub {
            let mapping = spoke(to)?;
            steps.push((mapping, &mapping.hub, &mapping.spoke));
        }
        Some(steps)
    }
}

/// What identifies the object. A part that is missing or has the wrong type is empty.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Head {
    #[serde(deserialize_with = "leniently")]
    api_version: String,
    #[serde(deserialize_with = "leniently")]
    kind: String,
    #[serde(deserialize_with = "leniently")]
    metadata: Name,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Name {
    #[serde(deserialize_with = "leniently")]
    namespace: String,
    #[serde(deserialize_with = "leniently")]
    name: String,
}

/// Reads the default instead of what does not fit.
fn leniently<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + DeserializeOwned,
{
    let text = <&RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(text.get()).unwrap_or_default())
}

impl Head {
    fn of(object: &RawValue) -> Option<Self> {
        // serde would read the struct from a list, too.
        let object = Some(object.get()).filter(|text| text.starts_with('{'));
        serde_json::from_str(object?).ok()
    }
}

impl fmt::Display for Head {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind.as_str() {
            "" => "an object without a kind",
            kind => kind,
        };
        let Name { namespace, name } = &self.metadata;
        let slash = if namespace.is_empty() { "" } else { "/" };
        write!(formatter, "{kind} `{namespace}{slash}{name}`")
    }
}

#[cfg(test)]
mod tests;
