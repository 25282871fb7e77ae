// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Copies the fields that two types have in common.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::reading;

/// Copies from `source` to `target` all fields that both types have, at any depth.
///
/// It is meant for a [`Converter`](crate::webhook::Converter), whose two types have most fields in
/// common. A field is copied if it has the same name in JSON and its value fits the type of `target`.
/// If a structure does not fit as a whole, those of its fields that fit are copied; a list is copied as
/// a whole or not at all. All other fields of `target` stay as they are, except that one which is not in its
/// JSON, such as a field with `#[serde(skip)]`, gets its default.
///
/// ```
/// use kbr_runtime::webhook::copy_fields;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize)]
/// struct Old { size: u32, place: String }
///
/// #[derive(Default, Deserialize, Serialize)]
/// struct New { size: u32, location: String }
///
/// let old = Old { size: 3, place: "here".to_owned() };
/// let mut new = New::default();
/// copy_fields(&old, &mut new);
/// assert_eq!((new.size, new.location.as_str()), (3, ""));
/// ```
pub fn copy_fields<S, T>(source: &S, target: &mut T)
where
    S: Serialize,
    T: Serialize + DeserializeOwned,
{
    let source = reading::write_value(source);
    let (Ok(Value::Object(source)), Ok(fields)) = (source, reading::write_value(target)) else {
        return;
    };
    let mut copy = Copy { fields, target };
    copy.overlay(&mut Vec::new(), &Vec::from_iter(&source));
}

/// A target on which fields are overlaid.
struct Copy<'a, T> {
    /// The target as JSON.
    fields: Value,
    /// The same, read from `fields`.
    target: &'a mut T,
}

impl<T: DeserializeOwned> Copy<'_, T> {
    /// Overlays the object at `path` with `fields`: all at once if the result can be read, and
    /// otherwise one half, then the other.
    fn overlay(&mut self, path: &mut Vec<String>, fields: &[(&String, &Value)]) {
        if fields.is_empty() || self.fits(path, fields) {
            return;
        }
        if let [(name, value)] = fields {
            if let Value::Object(fields) = value {
                path.push((*name).clone());
                self.overlay(path, &Vec::from_iter(fields));
                path.pop();
            }
            return;
        }
        let (left, right) = fields.split_at(fields.len() / 2);
        self.overlay(path, left);
        self.overlay(path, right);
    }

    /// Sets these fields if the target can still be read with them, and returns whether it can.
    fn fits(&mut self, path: &[String], fields: &[(&String, &Value)]) -> bool {
        let mut all = self.fields.clone();
        let Some(object) = object_at(&mut all, path) else {
            return false;
        };
        object.extend(
            fields
                .iter()
                .map(|&(name, value)| (name.clone(), value.clone())),
        );
        let Ok(target) = reading::read_value(&all) else {
            return false;
        };
        self.fields = all;
        *self.target = target;
        true
    }
}

/// The object at `path`, which is created where there is nothing or null.
fn object_at<'a>(value: &'a mut Value, path: &[String]) -> Option<&'a mut Map<String, Value>> {
    let mut fields = value.as_object_mut()?;
    for name in path {
        let value = fields.entry(name).or_insert(Value::Null);
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
        fields = value.as_object_mut()?;
    }
    Some(fields)
}

#[cfg(test)]
mod tests;
