// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! An object that may not fit its Rust type.

use std::borrow::Cow;

use kube::Resource;
use kube::api::ObjectMeta;
use kube::core::DynamicResourceScope;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// An object as it came, if it could be read.
#[derive(Clone, Debug)]
pub(crate) enum Decoded<K> {
    Object(K),
    Unreadable(Box<Unreadable>),
}

/// What is known of an object that could not be read.
#[derive(Clone, Debug)]
pub(crate) struct Unreadable {
    pub(crate) metadata: ObjectMeta,
    /// The field that does not fit, such as `spec.replicas`.
    pub(crate) field: String,
    /// What is wrong with it, without its value: that may be a secret.
    pub(crate) reason: String,
}

#[derive(Deserialize)]
struct Metadata {
    metadata: ObjectMeta,
}

impl<'de, K: DeserializeOwned> Deserialize<'de> for Decoded<K> {
    /// Fails only for what has no metadata either. kube reads lists and events from text, so the
    /// object's own can be borrowed, and nothing is copied for those that are well. This needs the type
    /// of an event to stand before the object, as API servers in Go write it.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&RawValue>::deserialize(deserializer)?.get();
        if let Ok(object) = serde_json::from_str(text) {
            return Ok(Self::Object(object));
        }
        let Metadata { metadata } = serde_json::from_str(text).map_err(D::Error::custom)?;
        let deserializer = &mut serde_json::Deserializer::from_str(text);
        let Err(error) = serde_path_to_error::deserialize::<_, K>(deserializer) else {
            return Err(D::Error::custom("it can be read only sometimes"));
        };
        Ok(Self::Unreadable(Box::new(Unreadable {
            metadata,
            field: error.path().to_string(),
            reason: without_value(&error.inner().to_string()),
        })))
    }
}

/// An error of serde without the value that it quotes, and without the place in the text.
pub(super) fn without_value(error: &str) -> String {
    let error = error
        .rsplit_once(" at line ")
        .map_or(error, |(text, _)| text);
    if error.starts_with("missing field") {
        return error.to_owned();
    }
    match error.rsplit_once(", expected ") {
        Some((_, expected)) => format!("expected {expected}"),
        None => "it does not fit".to_owned(),
    }
}

impl<K: Resource> Resource for Decoded<K> {
    type DynamicType = K::DynamicType;
    // So that its `Api` can be made for a namespace or for all, whatever `K` is.
    type Scope = DynamicResourceScope;

    fn kind(kind: &Self::DynamicType) -> Cow<'_, str> {
        K::kind(kind)
    }

    fn group(kind: &Self::DynamicType) -> Cow<'_, str> {
        K::group(kind)
    }

    fn version(kind: &Self::DynamicType) -> Cow<'_, str> {
        K::version(kind)
    }

    fn api_version(kind: &Self::DynamicType) -> Cow<'_, str> {
        K::api_version(kind)
    }

    fn plural(kind: &Self::DynamicType) -> Cow<'_, str> {
        K::plural(kind)
    }

    fn metadata_api() -> bool {
        K::metadata_api()
    }

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
