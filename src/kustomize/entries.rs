//! The entries of kustomizations, and the errors about them. Pure.

use serde_json::{Map, Value};

use super::error::KustomizeError;

pub fn unknown(path: &str, what: &str) -> KustomizeError {
    KustomizeError::Unknown {
        path: path.to_owned(),
        what: what.to_owned(),
    }
}

pub fn unreadable(path: &str, reason: impl Into<String>) -> KustomizeError {
    KustomizeError::Unreadable {
        path: path.to_owned(),
        reason: reason.into(),
    }
}

/// The items of a list of the kustomization at `path`, each of which `is_item` holds of; `what` is what they are.
fn list<'v>(
    keys: &'v Map<String, Value>,
    key: &str,
    path: &str,
    what: &str,
    is_item: fn(&Value) -> bool,
) -> Result<&'v [Value], KustomizeError> {
    match keys.get(key) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(list)) if list.iter().all(is_item) => Ok(list),
        Some(_) => Err(unreadable(path, format!("`{key}` is not a list of {what}"))),
    }
}

pub fn texts<'v>(
    keys: &'v Map<String, Value>,
    key: &str,
    path: &str,
) -> Result<&'v [Value], KustomizeError> {
    let is_text = |item: &Value| item.as_str().is_some_and(|text| !text.is_empty());
    list(keys, key, path, "paths", is_text)
}

pub fn maps<'v>(
    keys: &'v Map<String, Value>,
    key: &str,
    path: &str,
) -> Result<&'v [Value], KustomizeError> {
    list(keys, key, path, "mappings", Value::is_object)
}

/// The folder of a file.
fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The path of what the kustomization `by` names `item`.
pub fn place(by: &str, item: &str) -> Result<String, KustomizeError> {
    if item.contains("://") || item.starts_with('/') {
        return Err(unknown(by, item));
    }
    let outside = || {
        unreadable(
            by,
            format!("`{item}` is not below the folder of the project"),
        )
    };
    let mut parts: Vec<&str> = folder_of(by).split('/').collect();
    for part in item.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop().ok_or_else(outside)?),
            part => parts.push(part),
        }
    }
    match parts.is_empty() {
        true => Err(outside()),
        false => Ok(parts.join("/")),
    }
}
