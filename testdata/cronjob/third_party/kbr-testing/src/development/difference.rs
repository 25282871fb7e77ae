// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What a write changed in an object, field by field.

use std::collections::BTreeSet;

use serde_json::Value;

/// The longest value that is shown, in characters.
const LONGEST: usize = 120;

/// What the API server maintains itself.
const NOISE: [&str; 8] = [
    "metadata.creationTimestamp",
    "metadata.generation",
    "metadata.managedFields",
    "metadata.resourceVersion",
    "metadata.selfLink",
    "metadata.uid",
    // They are in the name of the object.
    "apiVersion",
    "kind",
];

/// The fields that identify an item of a list, the first that all items have with different values.
const KEYS: [&str; 5] = ["name", "type", "uid", "containerPort", "port"];

const OWNERS: &str = "metadata.ownerReferences";

/// Copies everything that was applied, also the values of a Secret.
const LAST_APPLIED: &str = "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]";

/// A line for each field that differs, with its path: `+` for a new one, `-` for one that is gone, `~` for a changed one.
/// Values of Secrets are not shown.
pub(super) fn difference(old: &Value, new: &Value) -> Vec<String> {
    let is_secret = [old, new].iter().any(|it| it["kind"] == "Secret");
    let mut lines = Lines {
        is_secret,
        lines: Vec::new(),
    };
    lines.compare("", old, new);
    lines.lines
}

struct Lines {
    is_secret: bool,
    lines: Vec<String>,
}

impl Lines {
    fn compare(&mut self, path: &str, old: &Value, new: &Value) {
        if old == new || NOISE.contains(&path) {
            return;
        }
        match (old, new) {
            (Value::Object(_) | Value::Null, Value::Object(_) | Value::Null) => {
                let maps = [old, new].map(Value::as_object);
                let names: BTreeSet<_> = maps.iter().flatten().flat_map(|it| it.keys()).collect();
                for name in names {
                    self.compare(&field(path, name), &old[name], &new[name]);
                }
                self.is_empty(path, old, new);
            }
            (Value::Array(_) | Value::Null, Value::Array(_) | Value::Null) => {
                if path == OWNERS {
                    return self.line(path, &owners(old), &owners(new));
                }
                let lists = [old, new].map(|it| it.as_array().map_or(&[][..], Vec::as_slice));
                match key(lists) {
                    Some(key) => self.compare_items(path, key, lists),
                    None => self.line(path, old, new),
                }
            }
            _ => self.line(path, old, new),
        }
    }

    /// Compares the items of two lists that have the same value of `key`.
    fn compare_items(&mut self, path: &str, key: &str, [old, new]: [&[Value]; 2]) {
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
            self.compare(&of_item(path, value), &with(old, value), &with(new, value));
        }
    }

    /// An empty object has no field that could show that it came or went.
    fn is_empty(&mut self, path: &str, old: &Value, new: &Value) {
        let is_empty = |it: &Value| it.as_object().is_none_or(serde_json::Map::is_empty);
        if !path.is_empty() && is_empty(old) && is_empty(new) {
            self.line(path, old, new);
        }
    }

    fn line(&mut self, path: &str, old: &Value, new: &Value) {
        let [old_text, new_text] = [old, new].map(|value| self.shown(path, value));
        self.lines.push(match (old.is_null(), new.is_null()) {
            (true, _) => format!("+ {path}: {new_text}"),
            (_, true) => format!("- {path}: {old_text}"),
            _ => format!("~ {path}: {old_text} -> {new_text}"),
        });
    }

    fn shown(&self, path: &str, value: &Value) -> String {
        let is_in = |field: &str| {
            let rest = path.strip_prefix(field);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        if self.is_secret && ["data", "stringData", LAST_APPLIED].into_iter().any(is_in) {
            return "(hidden)".to_owned();
        }
        let text = value.to_string();
        match text.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text,
        }
    }
}

/// The path of a field. A name with dots in it is in brackets.
fn field(path: &str, name: &str) -> String {
    match path {
        _ if name.contains(['.', '/']) => format!("{path}[{name}]"),
        "" => name.to_owned(),
        _ => format!("{path}.{name}"),
    }
}

fn of_item(path: &str, key: &Value) -> String {
    let key = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
    format!("{path}[{key}]")
}

/// The kinds and names of owners; the rest of a reference follows from them.
fn owners(references: &Value) -> Value {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = |it: &Value| format!("{} {}", text(&it["kind"]), text(&it["name"]));
    let references = references.as_array();
    references.map_or(Value::Null, |all| all.iter().map(name).collect())
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
