// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! An object as a cache keeps it: its JSON text, which is parsed again when the object is needed.
//!
//! The Rust type has every field that an object may have, 2 KB of them for a container alone, and most are
//! empty. The text has only those that are set.

use std::fmt::{self, Debug};
use std::marker::PhantomData;

use kube::Resource;
use kube::api::ObjectMeta;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::decoded::Read;
use crate::reading::{DecodeError, read_text};

/// An object of kind `K` in little memory, without `metadata.managedFields`.
pub(crate) struct Packed<K> {
    /// What a cache needs: the identity, the version, the owners, and whether it is being deleted.
    metadata: ObjectMeta,
    text: Box<str>,
    kind: PhantomData<fn() -> K>,
}

impl<K: DeserializeOwned> Packed<K> {
    /// Parses the object.
    ///
    /// # Errors
    ///
    /// If it cannot be read now, although it could when it arrived.
    pub(crate) fn open(&self) -> Result<K, DecodeError> {
        read_text(&self.text)
    }
}

impl<K: Resource> Packed<K> {
    /// Packs an object that is no longer as the API server sent it. Fields that its type does not serialize
    /// are lost.
    ///
    /// # Errors
    ///
    /// If the type cannot be serialized to JSON.
    pub(crate) fn of(object: &K) -> serde_json::Result<Self>
    where
        K: Serialize,
    {
        let text = serde_json::to_string(object)?;
        Ok(Self::new(object.meta(), &text))
    }

    fn new(metadata: &ObjectMeta, text: &str) -> Self {
        Self {
            metadata: ObjectMeta {
                deletion_timestamp: metadata.deletion_timestamp.clone(),
                name: metadata.name.clone(),
                namespace: metadata.namespace.clone(),
                owner_references: metadata.owner_references.clone(),
                resource_version: metadata.resource_version.clone(),
                uid: metadata.uid.clone(),
                ..ObjectMeta::default()
            },
            text: without_managed_fields(text),
            kind: PhantomData,
        }
    }
}

impl<K: DeserializeOwned + Resource> Read for Packed<K> {
    fn read(text: &str) -> Result<Self, DecodeError> {
        let object: K = read_text(text)?;
        Ok(Self::new(object.meta(), text))
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
    #[serde(borrow)]
    managed_fields: Option<&'a RawValue>,
}

/// The text with `null` for the managed fields. Everything else stays as the API server wrote it: a type
/// may write less than it reads.
fn without_managed_fields(text: &str) -> Box<str> {
    let object: Option<Object<'_>> = serde_json::from_str(text).ok();
    let Some(fields) = object.and_then(|object| object.metadata.managed_fields) else {
        return text.into();
    };
    // They are a slice of the text.
    let start = fields.get().as_ptr().addr() - text.as_ptr().addr();
    let end = start + fields.get().len();
    match (text.get(..start), text.get(end..)) {
        (Some(before), Some(after)) => [before, "null", after].concat().into(),
        _ => text.into(),
    }
}

impl<K> Clone for Packed<K> {
    fn clone(&self) -> Self {
        Self {
            metadata: self.metadata.clone(),
            text: self.text.clone(),
            kind: PhantomData,
        }
    }
}

/// Its values are left out: they may be secrets.
impl<K> Debug for Packed<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Packed")
            .field(&self.metadata)
            .finish()
    }
}

impl<K: Resource> Resource for Packed<K> {
    kind_of!(K);

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
