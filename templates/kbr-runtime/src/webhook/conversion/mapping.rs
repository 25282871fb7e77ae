// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The conversions of a project as functions on JSON.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use prometheus_client::metrics::counter::Counter;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

use super::{Schema, Side};
use crate::logging::panic_message;
use crate::reading;
use crate::webhook::Converter;

/// A conversion to another version.
pub(crate) type Function = Box<dyn Fn(&Value) -> Result<Value, String> + Send + Sync>;

/// The functions of a [`Converter`], which return errors for objects that they cannot read and for
/// panics, and the schemas of its types.
pub struct Mapping {
    pub(crate) to_hub: Function,
    pub(crate) to_spoke: Function,
    pub(crate) hub: Schema,
    pub(crate) spoke: Schema,
}

impl Mapping {
    /// `panics` counts the panics of the converter.
    pub fn of<C: Converter>(converter: C, panics: Counter) -> Self {
        let to_hub = Arc::new(converter);
        let to_spoke = to_hub.clone();
        let other_panics = panics.clone();
        Self {
            to_hub: Box::new(move |spoke| convert(spoke, &panics, |spoke| to_hub.to_hub(spoke))),
            to_spoke: Box::new(move |hub| {
                convert(hub, &other_panics, |hub| to_spoke.to_spoke(hub))
            }),
            hub: Schema::of::<C::Hub>(),
            spoke: Schema::of::<C::Spoke>(),
        }
    }
}

impl Mapping {
    /// The two sides, whose versions are `hub` and `spoke`.
    pub fn sides<'a>(&'a self, hub: &'a str, spoke: &'a str) -> (Side<'a>, Side<'a>) {
        (
            Side {
                version: hub,
                leave: &self.to_spoke,
                schema: &self.hub,
            },
            Side {
                version: spoke,
                leave: &self.to_hub,
                schema: &self.spoke,
            },
        )
    }
}

/// An object as its type writes it: without fields that the type does not know, and with its defaults.
///
/// # Errors
///
/// When the type cannot read it.
pub fn rewrite<T: DeserializeOwned + Serialize>(object: &Value) -> Result<Value, String> {
    convert(object, &Counter::default(), |object: T| object)
}

fn convert<S, T>(
    object: &Value,
    panics: &Counter,
    function: impl FnOnce(S) -> T,
) -> Result<Value, String>
where
    S: DeserializeOwned,
    T: Serialize,
{
    let attempt = || {
        let source = reading::read_value(object).map_err(|error| error.to_string())?;
        reading::write_value(&function(source)).map_err(|error| error.to_string())
    };
    match catch_unwind(AssertUnwindSafe(attempt)) {
        Ok(Ok(mut converted)) => {
            write_whole_numbers(&mut converted);
            Ok(converted)
        }
        Ok(Err(error)) => Err(error),
        Err(payload) => {
            panics.inc();
            Err(format!("panic: {}", panic_message(&*payload)))
        }
    }
}

/// Writes 1.0 as 1, as the API server does, so that the two do not count as different.
fn write_whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(whole) = whole(number) {
                *number = whole.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(write_whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(write_whole_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// The integer that a float equals. There is none for -0.0, nor beyond 2^53, where floats skip
/// integers.
fn whole(number: &Number) -> Option<i64> {
    const LIMIT: f64 = 9_007_199_254_740_992.0;
    let float = number.is_f64().then(|| number.as_f64())??;
    let is_whole = float.fract() == 0.0 && float.abs() <= LIMIT;
    (is_whole && !(float == 0.0 && float.is_sign_negative())).then_some(float as i64)
}

#[cfg(test)]
mod tests;
