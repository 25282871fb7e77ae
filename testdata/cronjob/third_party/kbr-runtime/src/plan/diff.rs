// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The fields in which two versions of an object differ. Pure.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

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

/// Where kubectl keeps what was applied: of a Secret, its data.
const LAST_APPLIED: &str = "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]";

/// The fields that name the items of a list.
const NAMES: [&str; 3] = ["name", "type", "key"];

/// The longest value that is shown.
const LONGEST: usize = 200;

/// A field that differs. Prints as lines of a diff.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Field {
    pub(super) path: String,
    /// `None` if it is not set.
    pub(super) old: Option<Value>,
    pub(super) new: Option<Value>,
}

/// The fields in which `old`, if it exists, and `new` differ. The values of a Secret are redacted.
pub(super) fn fields(old: Option<&Value>, new: &Value, is_secret: bool) -> Vec<Field> {
    let (mut before, mut after) = (old.cloned().unwrap_or_default(), new.clone());
    // Of an object whose metadata alone was asked for, nothing else is known.
    let is_partial = new["kind"] == "PartialObjectMetadata";
    for object in [&mut before, &mut after] {
        let Some(fields) = object.as_object_mut() else {
            continue;
        };
        fields.retain(|name, _| match name.as_str() {
            "apiVersion" | "kind" => false,
            // It is not the operator that creates it.
            "status" => old.is_some() && !is_partial,
            name => name == "metadata" || !is_partial,
        });
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|name, _| !METADATA.contains(&name.as_str()));
        }
    }
    let mut found = Vec::new();
    differ(String::new(), Some(&before), Some(&after), &mut found);
    for field in found.iter_mut().filter(|_| is_secret) {
        let starts = |name: &str| field.path.starts_with(name);
        if ["data", "stringData", LAST_APPLIED].into_iter().any(starts) {
            for value in [&mut field.old, &mut field.new].into_iter().flatten() {
                *value = "(redacted)".into();
            }
        }
    }
    found
}

/// Adds the fields at `path` that differ.
fn differ(path: String, old: Option<&Value>, new: Option<&Value>, found: &mut Vec<Field>) {
    // A field that is null, or an empty object, is not set.
    let is_set =
        |value: &&Value| !value.is_null() && value.as_object().is_none_or(|it| !it.is_empty());
    let (old, new) = (old.filter(is_set), new.filter(is_set));
    if old == new {
        return;
    }
    let children = |value: Option<&Value>| match value {
        None => Some(Map::new()),
        Some(Value::Object(fields)) => Some(fields.clone()),
        Some(_) => None,
    };
    let items = |value: Option<&Value>| match value {
        None => Some(Vec::new()),
        Some(Value::Array(items)) => Some(items.clone()),
        Some(_) => None,
    };
    if let (Some(before), Some(after)) = (children(old), children(new)) {
        let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
        for name in names {
            let path = step(&path, name);
            differ(path, before.get(name), after.get(name), found);
        }
    } else if let (Some(before), Some(after)) = (items(old), items(new))
        && before.iter().chain(&after).all(Value::is_object)
    {
        let (before, after) = named(&before, &after);
        let names = before
            .keys()
            .chain(after.keys().filter(|it| !before.contains_key(*it)));
        for name in names {
            let path = format!("{path}[{name}]");
            differ(path, before.get(name), after.get(name), found);
        }
    } else {
        let (old, new) = (old.cloned(), new.cloned());
        found.push(Field { path, old, new });
    }
}

/// The path of the field `name` at `path`, as the API server writes it.
fn step(path: &str, name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    match (path, name.bytes().all(is_plain)) {
        ("", true) => name.to_owned(),
        (_, true) => format!("{path}.{name}"),
        (_, false) => format!("{path}[{name}]"),
    }
}

/// The items of two lists by a field that names them, or else by their position.
fn named(before: &[Value], after: &[Value]) -> (Map<String, Value>, Map<String, Value>) {
    let by = |field: &str, items: &[Value]| -> Option<Map<String, Value>> {
        let name = |item: &Value| Some(format!("{field}={}", item[field].as_str()?));
        let pairs = items.iter().map(|item| Some((name(item)?, item.clone())));
        let named: Map<_, _> = pairs.collect::<Option<_>>()?;
        (named.len() == items.len()).then_some(named)
    };
    let mut found = NAMES
        .iter()
        .filter_map(|field| Some((by(field, before)?, by(field, after)?)));
    let at = |items: &[Value]| {
        let items = items.iter().enumerate();
        items
            .map(|(number, item)| (number.to_string(), item.clone()))
            .collect()
    };
    found.next().unwrap_or_else(|| (at(before), at(after)))
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, old, new } = self;
        match (old, new) {
            (Some(Value::String(old)), Some(Value::String(new)))
                if old.contains('\n') || new.contains('\n') =>
            {
                write!(f, "~ {path}:")?;
                lines(old, new, f)
            }
            (Some(old), Some(new)) => write!(f, "~ {path}: {} -> {}", short(old), short(new)),
            (Some(old), None) => write!(f, "- {path}: {}", short(old)),
            (None, Some(new)) => write!(f, "+ {path}: {}", short(new)),
            (None, None) => Ok(()),
        }
    }
}

/// The lines between those that both texts have at their beginning and their end.
fn lines(old: &str, new: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (mut old, mut new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let same = old
        .iter()
        .zip(&new)
        .take_while(|(old, new)| old == new)
        .count();
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
    let mut text = value.to_string();
    if text.chars().count() > LONGEST {
        text = text.chars().take(LONGEST).collect();
        text.push('…');
    }
    text
}
