// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! An object that may not fit its Rust type.

use kube::Resource;
use kube::api::ObjectMeta;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::reading::{self, DecodeError};

/// An object of a list or watch, whether it could be read or not.
#[derive(Clone, Debug)]
pub(crate) enum Decoded<K> {
    Object(K),
    Unreadable(Box<Unreadable>),
}

/// What is known of an object that could not be read.
#[derive(Clone, Debug)]
pub(crate) struct Unreadable {
    pub(crate) metadata: ObjectMeta,
    pub(crate) error: DecodeError,
}

#[derive(Deserialize)]
struct Metadata {
    metadata: ObjectMeta,
}

/// A type that is read from the text of an object.
pub(crate) trait Read: Sized {
    /// # Errors
    ///
    /// The field that does not fit, and why.
    fn read(text: &str) -> Result<Self, DecodeError>;
}

impl<K: DeserializeOwned> Read for K {
    fn read(text: &str) -> Result<Self, DecodeError> {
        reading::read_text(text)
    }
}

impl<'de, K: Read> Deserialize<'de> for Decoded<K> {
    /// Fails only if the metadata cannot be read either. kube reads lists and events from text, so the text
    /// of an object can be borrowed, and nothing is copied for objects that can be read. For this, the type
    /// of an event must come before the object, as API servers in Go write it.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&RawValue>::deserialize(deserializer)?.get();
        match K::read(text) {
            Ok(object) => Ok(Self::Object(object)),
            Err(error) => {
                let Metadata { metadata } = reading::read_text(text).map_err(D::Error::custom)?;
                Ok(Self::Unreadable(Box::new(Unreadable { metadata, error })))
            }
        }
    }
}

impl<K: Resource> Resource for Decoded<K> {
    kind_of!(K);

    fn meta(&self) -> &ObjectMeta {
        match self {
            Self::Object(object) => object.meta(),
            Self::Unreadable(unreadable) => &unreadable.metadata,
        }
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Self::Object(object) => object.meta_mut(),
            Self::Unreadable(unreadable) => &mut unreadable.metadata,
        }
    }
}
