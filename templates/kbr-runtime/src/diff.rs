// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The fields in which two versions of an object differ. Pure.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

/// What the API server sets on its own accord, and what an object is called.
const METADATA: [&str; 8] = [
    "creationTimestamp",
    "generateName",
    "generation",
    "managedFields",
    "name",
    "namespace",
    "resourceVersion",
    "uid",
];

const OWNERS: &str = "metadata.ownerReferences";

/// The fields of a Secret whose values are hidden. kubectl copies what it applies into the annotation.
const SECRETS: [&str; 3] = [
    "data",
    "stringData",
    "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]",
];

/// The fields that identify an item of a list, the first that all items have with different values.
const KEYS: [&str; 6] = ["name", "type", "key", "uid", "containerPort", "port"];

/// The longest value that is shown, in characters.
const LONGEST: usize = 120;

/// A field that differs. Prints as lines of a diff: `+` for a new field, `-` for one that is gone, `~` for a changed one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Field {
    pub path: String,
    /// Null if it is not set.
    pub old: Value,
    pub new: Value,
}

/// The fields in which `old`, null if there was no object, and `new` differ. The values of a Secret are hidden.
#[must_use]
pub fn fields(old: &Value, new: &Value, is_secret: bool) -> Vec<Field> {
    let mut found = Vec::new();
    let [before, after] = [old, new].map(|object| {
        let mut object = object.clone();
        let Some(fields) = object.as_object_mut() else {
            return object;
        };
        // Of an object whose metadata alone was asked for, nothing else is known.
        let is_partial = new["kind"] == "PartialObjectMetadata";
        fields.retain(|name, _| match name.as_str() {
            "apiVersion" | "kind" => false,
            // Whoever creates an object does not set it.
            "status" => !old.is_null() && !is_partial,
            name => name == "metadata" || !is_partial,
        });
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|name, _| !METADATA.contains(&name.as_str()));
        }
        object
    });
    compare("", &before, &after, &mut found);
    for field in found
        .iter_mut()
        .filter(|field| is_secret && field.is_hidden())
    {
        for value in [&mut field.old, &mut field.new] {
            if !value.is_null() {
                *value = "(hidden)".into();
            }
        }
    }
    found
}

/// Adds the fields at `path` that differ.
fn compare(path: &str, old: &Value, new: &Value, found: &mut Vec<Field>) {
    if old == new {
        return;
    }
    let whole = |old: &Value, new: &Value| Field {
        path: path.to_owned(),
        old: old.clone(),
        new: new.clone(),
    };
    match (old, new) {
        (Value::Object(_) | Value::Null, Value::Object(_) | Value::Null) => {
            let maps = [old, new].map(Value::as_object);
            let names: BTreeSet<_> = maps.iter().flatten().flat_map(|it| it.keys()).collect();
            for name in &names {
                compare(&of_field(path, name), &old[name], &new[name], found);
            }
            // An empty object has no field that could show that it came or went.
            if names.is_empty() && !path.is_empty() {
                found.push(whole(old, new));
            }
        }
        (Value::Array(_) | Value::Null, Value::Array(_) | Value::Null) => {
            if path == OWNERS {
                return found.push(whole(&owners(old), &owners(new)));
            }
            let lists = [old, new].map(|it| it.as_array().map_or(&[][..], Vec::as_slice));
            match key(lists) {
                Some(key) => compare_items(path, key, lists, found),
                None => found.push(whole(old, new)),
            }
        }
        _ => found.push(whole(old, new)),
    }
}

/// Compares the items of two lists that have the same value of `key`.
fn compare_items(path: &str, key: &str, [old, new]: [&[Value]; 2], found: &mut Vec<Field>) {
    // Without the key, which is in the path.
    let with = |items: &[Value], value: &Value| {
        let item = items.iter().find(|item| item[key] == *value);
        let mut item = item.cloned().unwrap_or_default();
        if let Some(fields) = item.as_object_mut() {
            fields.remove(key);
        }
        item
    };
    let removed = old.iter().filter(|item| with(new, &item[key]).is_null());
    for item in new.iter().chain(removed) {
        let value = &item[key];
        let name = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        let path = format!("{path}[{name}]");
        compare(&path, &with(old, value), &with(new, value), found);
    }
}

/// The field that tells the items of both lists apart, if there is one.
fn key(lists: [&[Value]; 2]) -> Option<&'static str> {
    if lists.iter().all(|items| items.is_empty()) {
        return None;
    }
    let is_key = |key: &str| {
        lists.iter().all(|items| {
            let values: BTreeSet<_> = items.iter().map(|item| item[key].to_string()).collect();
            items.iter().all(|item| !item[key].is_null()) && values.len() == items.len()
        })
    };
    KEYS.into_iter().find(|key| is_key(key))
}

/// The path of a field. A name with dots in it is in brackets.
fn of_field(path: &str, name: &str) -> String {
    match path {
        _ if name.contains(['.', '/']) => format!("{path}[{name}]"),
        "" => name.to_owned(),
        _ => format!("{path}.{name}"),
    }
}

/// The kinds and names of owners; the rest of a reference follows from them.
fn owners(references: &Value) -> Value {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = |it: &Value| format!("{} {}", text(&it["kind"]), text(&it["name"]));
    let references = references.as_array();
    references.map_or(Value::Null, |all| all.iter().map(name).collect())
}

impl Field {
    /// Whether it has a value of a Secret.
    fn is_hidden(&self) -> bool {
        SECRETS.iter().any(|field| {
            let rest = self.path.strip_prefix(field);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, old, new } = self;
        match (old, new) {
            (Value::String(old), Value::String(new))
                if old.contains('\n') || new.contains('\n') =>
            {
                write!(f, "~ {path}:")?;
                write_lines(old, new, f)
            }
            (Value::Null, new) => write!(f, "+ {path}: {}", short(new)),
            (old, Value::Null) => write!(f, "- {path}: {}", short(old)),
            (old, new) => write!(f, "~ {path}: {} -> {}", short(old), short(new)),
        }
    }
}

/// The lines between those that both texts have at their beginning and their end.
fn write_lines(old: &str, new: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (mut old, mut new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let pairs = old.iter().zip(&new);
    let same = pairs.take_while(|(old, new)| old == new).count();
    (old, new) = (old.split_off(same), new.split_off(same));
    while !old.is_empty() && old.last() == new.last() {
        old.pop();
        new.pop();
    }
    for (sign, lines) in [('-', old), ('+', new)] {
        for line in lines {
            write!(f, "\n      {sign} {line}")?;
        }
    }
    Ok(())
}

/// A value on one line, cut off.
fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests;
