// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Reads JSON that is nested too deeply to be parsed, without the parts that are too deep.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

/// `text` with null instead of everything that is nested in more than `levels` objects and lists.
///
/// # Errors
///
/// When `text` is not JSON, which a [`RawValue`] always is.
pub(super) fn shallow(text: &RawValue, levels: usize) -> serde_json::Result<Value> {
    Levels(levels).deserialize(&mut serde_json::Deserializer::from_str(text.get()))
}

/// The number of levels that are left.
#[derive(Clone, Copy)]
struct Levels(usize);

impl<'de> DeserializeSeed<'de> for Levels {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        if self.0 == 0 {
            // It is skipped without recursion.
            return deserializer
                .deserialize_ignored_any(IgnoredAny)
                .map(|_| Value::Null);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Levels {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(Levels(self.0 - 1))? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = access.next_key()? {
            fields.insert(name, access.next_value_seed(Levels(self.0 - 1))?);
        }
        Ok(Value::Object(fields))
    }
}
