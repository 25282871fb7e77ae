// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Copying of what two types have in common.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Copies from `source` to `target` each field that both have, at any depth.
///
/// A field is the same if it is written the same in JSON, and if what is in it can be read there. A
/// structure is copied field by field where it cannot be read as a whole; lists and maps of lists are
/// not taken apart. All else stays as it is in `target`.
pub fn copy_fields<S, T>(source: &S, target: &mut T)
where
    S: Serialize,
    T: Serialize + DeserializeOwned,
{
    let source = serde_json::to_value(source);
    let (Ok(Value::Object(source)), Ok(fields)) = (source, serde_json::to_value(&*target)) else {
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

/// A target, and the overlay of fields.
struct Copy<T> {
    target: Value,
    /// What the target is read as, if it has any overlay.
    read: Option<T>,
}

impl<T: DeserializeOwned> Copy<T> {
    /// Overlays what is at `path` with the fields of `source` that have these names: all at once if that
    /// can be read, and otherwise one half, then the other.
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

    /// Whether the target can still be read with those fields; only then it has them.
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
        match T::deserialize(&target) {
            Ok(read) => {
                self.target = target;
                self.read = Some(read);
                true
            }
            Err(_) => false,
        }
    }
}

/// The object at `path`, which is made where nothing is.
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
