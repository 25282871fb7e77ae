// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The conversions of a project as functions on JSON.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kube::Resource;
use prometheus_client::metrics::counter::Counter;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

use super::Schema;
use super::carry::Conversion;
use crate::logging::panic_message;
use crate::reading;
use crate::webhook::Converter;

/// A conversion to another version.
type Function = Box<dyn Fn(&Value) -> Result<Value, String> + Send + Sync>;

/// A kind in any version.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Kind {
    /// The API group.
    pub group: String,
    /// The kind.
    pub kind: String,
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
}

/// The functions of a [`Converter`], which return errors for objects that they cannot read and for
/// panics, and the schemas of its types.
pub struct Mapping {
    pub(crate) kind: Kind,
    /// The version that all others are converted to.
    pub hub: Side,
    /// The other version.
    pub spoke: Side,
}

/// One version of a kind, in a conversion.
pub struct Side {
    /// The version.
    pub version: String,
    /// The mapping to the other version.
    pub leave: Function,
    schema: Schema,
}

impl Mapping {
    /// `panics` counts the panics of the converter.
    pub fn of<C: Converter>(converter: C, panics: Counter) -> Self {
        let to_hub = Arc::new((converter, panics));
        let to_spoke = to_hub.clone();
        Self {
            kind: Kind::of::<C::Hub>(),
            hub: Side {
                version: C::Hub::version(&()).into_owned(),
                leave: Box::new(move |hub| {
                    let (converter, panics) = &*to_spoke;
                    convert(hub, panics, |hub| converter.to_spoke(hub))
                }),
                schema: Schema::of::<C::Hub>(),
            },
            spoke: Side {
                version: C::Spoke::version(&()).into_owned(),
                leave: Box::new(move |spoke| {
                    let (converter, panics) = &*to_hub;
                    convert(spoke, panics, |spoke| converter.to_hub(spoke))
                }),
                schema: Schema::of::<C::Spoke>(),
            },
        }
    }

    /// Converts the object in `text` from one of the two versions to the other.
    ///
    /// # Errors
    ///
    /// Why it cannot be converted to the hub, or is not an object.
    pub fn convert(&self, text: &str, from: &Side, to: &Side) -> Result<String, String> {
        let conversion = Conversion {
            annotation: &self.kind.annotation(),
            group: &self.kind.group,
            from: &from.version,
            to: &to.version,
            forward: &from.leave,
            backward: &to.leave,
            errors: &|object| to.schema.errors(object),
            fill: &|part, number| from.schema.fill(part, number),
            prune: &|part| to.schema.prune(part),
            is_read: from.version == self.hub.version,
        };
        conversion.convert(text)
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
