// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! An object as a watch sends it, and as a cache keeps it.
//!
//! A cache keeps the JSON text, which is parsed again when the object is needed: the Rust type has every field
//! that an object may have, 2 KB of them for a container alone, and most are empty. The text has only those
//! that are set.

use std::borrow::Cow;
use std::fmt::{self, Debug};
use std::marker::PhantomData;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::Resource;
use kube::api::ObjectMeta;
use serde::de::{DeserializeOwned, Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::key::Key;
use crate::metrics::DECODED;
use crate::reading::{DecodeError, hash_of, read_object, read_text};

/// An object of kind `K` as the API server sent it, without `metadata.managedFields`. Only its metadata has been
/// read, so an object that does not fit its Rust type does not break the list for the others.
#[derive(Clone)]
pub(crate) struct Received<K> {
    /// What kube's watcher needs.
    metadata: ObjectMeta,
    pub(super) owners: Box<[Owner]>,
    pub(crate) text: Box<str>,
    /// Whether it is being deleted and does not go yet, because of finalizers or a grace period.
    pub(super) is_terminating: bool,
    /// Whether the text is the API server's. That of the Rust type may lack fields.
    pub(super) is_answer: bool,
    kind: PhantomData<fn() -> K>,
}

/// An owner reference.
#[derive(Clone, Deserialize, Eq, PartialEq)]
pub(crate) struct Owner {
    #[serde(rename = "apiVersion", deserialize_with = "group")]
    group: Box<str>,
    kind: Box<str>,
    pub(crate) name: Box<str>,
    uid: Box<str>,
    controller: Option<bool>,
}

/// The group of an API version.
fn group<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<str>, D::Error> {
    let version = String::deserialize(deserializer)?;
    Ok(version
        .split_once('/')
        .map_or("", |(group, _)| group)
        .into())
}

impl Owner {
    /// Whether it is a `K`. Its version of the kind depends on who wrote the owner reference.
    pub(crate) fn is<K: Resource>(&self, kind: &K::DynamicType) -> bool {
        *self.group == *K::group(kind) && *self.kind == *K::kind(kind)
    }
}

#[derive(Deserialize)]
struct Object<'a> {
    #[serde(borrow)]
    metadata: Metadata<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    deletion_timestamp: Option<Time>,
    deletion_grace_period_seconds: Option<i64>,
    finalizers: Option<Vec<IgnoredAny>>,
    owner_references: Option<Box<[Owner]>>,
    #[serde(borrow)]
    managed_fields: Option<&'a RawValue>,
}

impl<K> Received<K> {
    /// # Errors
    ///
    /// If the metadata cannot be read.
    pub(crate) fn read(text: &str) -> Result<Self, DecodeError> {
        Self::split(text).map(|(received, _)| received)
    }

    /// Also returns its managed fields.
    ///
    /// # Errors
    ///
    /// If the metadata cannot be read.
    pub(crate) fn split(text: &str) -> Result<(Self, Option<&RawValue>), DecodeError> {
        let Object { metadata } = read_text(text)?;
        // Something else keeps an object without a grace period, such as the finalizers in the spec of a Namespace.
        let is_held = metadata.finalizers.is_some_and(|all| !all.is_empty())
            || metadata.deletion_grace_period_seconds != Some(0);
        let received = Self {
            is_terminating: metadata.deletion_timestamp.is_some() && is_held,
            is_answer: true,
            owners: metadata.owner_references.unwrap_or_default(),
            text: without(metadata.managed_fields, text),
            metadata: ObjectMeta {
                deletion_timestamp: metadata.deletion_timestamp,
                name: metadata.name,
                namespace: metadata.namespace,
                resource_version: metadata.resource_version,
                uid: metadata.uid,
                ..ObjectMeta::default()
            },
            kind: PhantomData,
        };
        Ok((received, metadata.managed_fields))
    }

    pub(crate) fn key(&self) -> Key {
        Key::of_meta(&self.metadata)
    }

    /// Parses the object.
    ///
    /// # Errors
    ///
    /// The field that does not fit, and why.
    pub(crate) fn open(&self) -> Result<K, DecodeError>
    where
        K: DeserializeOwned,
    {
        DECODED.inc();
        read_object(&self.text)
    }

    /// As a cache keeps it.
    pub(crate) fn into_entry(self, terms: Box<[Term]>) -> Entry {
        Entry {
            uid: self.metadata.uid.unwrap_or_default().into(),
            version: self.metadata.resource_version.unwrap_or_default().into(),
            is_deleting: self.metadata.deletion_timestamp.is_some(),
            owners: self.owners,
            text: Some(self.text),
            whole: None,
            is_readable: true,
            is_answer: self.is_answer,
            terms,
        }
    }
}

/// `null` in place of the managed fields, which are a slice of the text. Everything else stays as the API server
/// wrote it: a type may write less than it reads.
fn without(fields: Option<&RawValue>, text: &str) -> Box<str> {
    let Some(fields) = fields else {
        return text.into();
    };
    let start = fields.get().as_ptr().addr() - text.as_ptr().addr();
    let end = start + fields.get().len();
    match (text.get(..start), text.get(end..)) {
        (Some(before), Some(after)) => [before, "null", after].concat().into(),
        _ => text.into(),
    }
}

impl<'de, K> Deserialize<'de> for Received<K> {
    /// kube reads lists and events from text, so the text of an object can be borrowed. For this, the type of an
    /// event must come before the object, as API servers in Go write it.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&RawValue>::deserialize(deserializer)?.get();
        Self::read(text).map_err(D::Error::custom)
    }
}

/// Its values are left out: they may be secrets.
impl<K> Debug for Received<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_tuple("Received");
        shown.field(&self.metadata).finish()
    }
}

impl<K: Resource> Resource for Received<K> {
    type DynamicType = K::DynamicType;
    // So that its `Api` can be created for one or for all namespaces, whatever the kind is.
    type Scope = kube::core::DynamicResourceScope;

    fn kind(kind: &Self::DynamicType) -> Cow<'_, str> {
        K::kind(kind)
    }

    fn group(kind: &Self::DynamicType) -> Cow<'_, str> {
        K::group(kind)
    }

    fn version(kind: &Self::DynamicType) -> Cow<'_, str> {
        K::version(kind)
    }

    fn plural(kind: &Self::DynamicType) -> Cow<'_, str> {
        K::plural(kind)
    }

    fn metadata_api() -> bool {
        K::metadata_api()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// What an index finds an object by: the number of the index, and the key in it.
pub(crate) type Term = (usize, Box<str>);

/// An object in a cache, of whatever kind.
pub(crate) struct Entry {
    pub(crate) uid: Box<str>,
    pub(crate) version: Box<str>,
    pub(crate) is_deleting: bool,
    pub(crate) owners: Box<[Owner]>,
    /// The JSON of the object; `None` if only the metadata is kept, because nobody reads the object or because it
    /// does not fit its Rust type.
    pub(crate) text: Option<Box<str>>,
    /// The fingerprint of the object before it was slimmed, if it was.
    pub(super) whole: Option<u64>,
    pub(crate) is_readable: bool,
    /// Whether the text is the API server's.
    pub(super) is_answer: bool,
    pub(crate) terms: Box<[Term]>,
}

impl Entry {
    /// Parses the object, if it is kept and fits its type.
    pub(crate) fn open<K: DeserializeOwned>(&self) -> Option<Arc<K>> {
        let text = self.text.as_deref()?;
        DECODED.inc();
        read_object(text).ok().map(Arc::new)
    }

    /// The object as JSON, as far as it is kept.
    pub(crate) fn value(&self) -> Value {
        let text = self.text.as_deref();
        text.and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default()
    }

    /// The hash of the object without its status and the metadata that changes with the status, if the object is
    /// kept.
    pub(crate) fn fingerprint(&self) -> Option<u64> {
        self.whole
            .or_else(|| self.text.as_deref().and_then(fingerprint))
    }

    /// The version as a number; 0 if it is not a number. Kubernetes makes the resource versions of one kind
    /// comparable as numbers (KEP-5504). If an extension API server does not, no version counts as newer, and
    /// writes are still conditional.
    pub(crate) fn number(&self) -> u64 {
        number(&self.version)
    }

    /// The uid of the owner that controls it.
    pub(crate) fn controller(&self) -> Option<&str> {
        let controller = self
            .owners
            .iter()
            .find(|owner| owner.controller == Some(true));
        controller.map(|owner| &*owner.uid)
    }
}

/// Its values are left out: they may be secrets.
impl Debug for Entry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_tuple("Entry");
        shown.field(&self.uid).field(&self.version).finish()
    }
}

/// As [`Entry::fingerprint`] has it.
pub(super) fn fingerprint(object: &str) -> Option<u64> {
    let mut object: Value = serde_json::from_str(object).ok()?;
    object.as_object_mut()?.remove("status");
    let metadata = object["metadata"].as_object_mut()?;
    metadata.remove("resourceVersion");
    metadata.remove("managedFields");
    Some(hash_of(&object))
}

/// The version of an object as a number, as [`Entry::number`] has it.
pub(super) fn version(object: &ObjectMeta) -> u64 {
    let version = object.resource_version.as_deref();
    version.map_or(0, number)
}

fn number(version: &str) -> u64 {
    version.parse().unwrap_or_default()
}

/// Whether a `K` controls the object with these owners.
pub(crate) fn is_controlled_by_a<K: Resource>(owners: &[Owner], kind: &K::DynamicType) -> bool {
    let mut owners = owners.iter();
    owners.any(|owner| owner.controller == Some(true) && owner.is::<K>(kind))
}

#[cfg(test)]
mod tests;
