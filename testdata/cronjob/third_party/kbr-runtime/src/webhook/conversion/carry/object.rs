// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! An object whose fields stay text until they are needed.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use crate::webhook::conversion::difference::is_identity;
use crate::webhook::conversion::measure;
use crate::webhook::conversion::shallow::shallow;

/// Fields by name, without those that identify an object.
pub(super) type Fields<'a> = BTreeMap<String, Cow<'a, RawValue>>;

/// An object of which only the metadata is parsed.
pub(super) struct Object<'a> {
    pub(super) kind: Option<&'a RawValue>,
    pub(super) metadata: Option<Value>,
    pub(super) fields: Fields<'a>,
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
    pub(super) fn read(text: &'a str) -> Result<Self, String> {
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

    /// The whole object, parsed.
    pub(super) fn value(&self, api_version: &str) -> Result<Value, String> {
        self.check()?;
        self.with_fields(api_version, |value| serde_json::from_str(value.get()))
    }

    /// Checks whether the object can be parsed; the error says why not.
    pub(super) fn check(&self) -> Result<(), String> {
        measure::check(self.fields.values().map(|value| value.get()))
    }

    /// The same, without values that are nested too deeply.
    pub(super) fn shallow(&self, api_version: &str) -> Result<Value, String> {
        self.with_fields(api_version, |value| shallow(value, measure::DEEPEST))
    }

    fn with_fields(
        &self,
        api_version: &str,
        parse: impl Fn(&RawValue) -> serde_json::Result<Value>,
    ) -> Result<Value, String> {
        let parse = |value: &RawValue| parse(value).map_err(|error| error.to_string());
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

    /// Replaces the fields and the metadata with those of `shown`.
    pub(super) fn show(&mut self, shown: Value) -> Result<(), String> {
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

    pub(super) fn write(&self, api_version: &str) -> Result<String, String> {
        // For server-side apply, the API server converts partial objects that have no metadata, but it
        // does not accept objects without metadata.
        let empty = Value::Object(Map::new());
        let written = Written {
            api_version,
            kind: self.kind,
            metadata: self.metadata.as_ref().unwrap_or(&empty),
            fields: &self.fields,
        };
        serde_json::to_string(&written).map_err(|error| error.to_string())
    }

    /// The text of a field of the metadata.
    pub(super) fn text(&self, field: &str) -> Option<&str> {
        self.metadata.as_ref()?.get(field)?.as_str()
    }

    /// Whether the object was read from storage or is being written to it, and is not a partial object.
    pub(super) fn is_whole(&self) -> bool {
        let has = |field| self.text(field).is_some_and(|text| !text.is_empty());
        has("uid") && !has("resourceVersion")
    }

    pub(super) fn generation(&self) -> Option<i64> {
        self.metadata.as_ref()?.get("generation")?.as_i64()
    }

    pub(super) fn is_deleting(&self) -> bool {
        self.text("deletionTimestamp").is_some()
    }
}
