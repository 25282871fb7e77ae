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
/// a whole or not at all. All other fields of `target` stay as they are.
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
    let mut copy = Copy {
        target: fields,
        read: None,
    };
    let names: Vec<&String> = source.keys().collect();
    copy.overlay(&mut Vec::new(), &source, &names);
    if let Some(read) = copy.read {
        *target = read;
    }
}

/// A target on which fields are overlaid.
struct Copy<T> {
    target: Value,
    /// The target as its type, if anything was overlaid.
    read: Option<T>,
}

impl<T: DeserializeOwned> Copy<T> {
    /// Overlays the object at `path` with the fields `names` of `source`: all at once if the result can
    /// be read, and otherwise one half, then the other.
    fn overlay(&mut self, path: &mut Vec<String>, source: &Map<String, Value>, names: &[&String]) {
        if names.is_empty() || self.fits(path, source, names) {
            return;
        }
        if let [name] = names {
            if let Some(Value::Object(fields)) = source.get(*name) {
                path.push((*name).clone());
                let names: Vec<&String> = fields.keys().collect();
                self.overlay(path, fields, &names);
                path.pop();
            }
            return;
        }
        let (left, right) = names.split_at(names.len() / 2);
        self.overlay(path, source, left);
        self.overlay(path, source, right);
    }

    /// Sets these fields if the target can still be read with them, and returns whether it can.
    fn fits(&mut self, path: &[String], source: &Map<String, Value>, names: &[&String]) -> bool {
        let mut target = self.target.clone();
        let Some(fields) = object_at(&mut target, path) else {
            return false;
        };
        for name in names {
            if let Some(value) = source.get(*name) {
                fields.insert((*name).clone(), value.clone());
            }
        }
        match reading::read_value(&target) {
            Ok(read) => {
                self.target = target;
                self.read = Some(read);
                true
            }
            Err(_) => false,
        }
    }
}

/// The object at `path`, which is created if there is none.
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
