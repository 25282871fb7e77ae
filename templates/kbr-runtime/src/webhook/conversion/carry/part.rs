// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Converts a part of an object, which lacks required fields.

use serde_json::{Map, Value};

use super::object::Object;
use super::{Conversion, Failure};
use crate::webhook::conversion::difference::Difference;

impl Conversion<'_> {
    /// Returns what is lost from a part of an object by the conversion, and the result.
    pub(super) fn attempt_part(
        &self,
        object: &Object<'_>,
        differences: &[Difference],
    ) -> Result<(Vec<Difference>, Value), Failure> {
        let source = object.value(&self.api_version(self.from))?;
        let filled = |number| {
            let mut filled = source.clone();
            (self.fill)(&mut filled, number);
            let mapped = self.map(self.forward, &filled, self.to)?;
            self.round_trip(object, mapped, differences)
        };
        let (back, converted) = match (filled(0), filled(1)) {
            (Ok((back, converted)), Ok((other_back, other))) => (
                common(back, &other_back).unwrap_or_default(),
                common(converted, &other).unwrap_or_default(),
            ),
            (Err(failure), _) | (_, Err(failure)) => {
                self.log(object, &format!("only a part is copied: {}", failure.cause));
                let mut copied = source.clone();
                copied["apiVersion"] = Value::String(self.api_version(self.to));
                (self.prune)(&mut copied);
                let mut restored = copied.clone();
                for difference in differences {
                    difference.apply(&mut restored);
                }
                (self.prune)(&mut restored);
                (copied, restored)
            }
        };
        Ok((Difference::between(&back, &source), converted))
    }
}

/// What two values have in common.
fn common(one: Value, other: &Value) -> Option<Value> {
    if one == *other {
        return Some(one);
    }
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let of_field = |(name, value)| {
                let value = common(value, other.get(&name)?)?;
                Some((name, value))
            };
            let both: Map<String, Value> = one.into_iter().filter_map(of_field).collect();
            (!both.is_empty()).then_some(Value::Object(both))
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let items = one.into_iter().zip(other);
            items.map(|(one, other)| common(one, other)).collect()
        }
        _ => None,
    }
}
