// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What a field was, and what comes back instead.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::webhook::field::escape;

/// The fields that every object has and no conversion may change.
const IDENTITY: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The path of all annotations.
const ANNOTATIONS: &str = "/metadata/annotations";

/// One field, identified by its JSON pointer, that comes back as `from` and was `to`. A field that is
/// absent has no value, which is not the same as null.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    path: String,
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    from: Option<Value>,
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    to: Option<Value>,
}

/// Null is a value.
fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

impl Difference {
    /// Where `to` differs from `from`, apart from the identity of the objects. Objects are compared
    /// field by field, lists as a whole. No path leads below another, and their order is always the
    /// same.
    pub fn between(from: &Value, to: &Value) -> Vec<Self> {
        let mut found = Vec::new();
        compare(Some(from), Some(to), String::new(), &mut found);
        found
    }

    /// `annotations` that were empty or null.
    pub(crate) fn of_annotations(to: Value) -> Self {
        Self {
            path: ANNOTATIONS.to_owned(),
            from: None,
            to: Some(to),
        }
    }

    /// Whether it may be applied to an object, given that anyone could have written it.
    pub(crate) fn is_valid(&self) -> bool {
        if self.path == ANNOTATIONS {
            let is_empty = |to: &Value| to.is_null() || to.as_object().is_some_and(Map::is_empty);
            return self.from.is_none() && self.to.as_ref().is_some_and(is_empty);
        }
        let mut names = self.path.split('/');
        let is_pointer = names.next() == Some("");
        let first = names.next().map(unescape);
        is_pointer && first.is_some_and(|first| !is_identity(&first))
    }

    /// The minimum number of levels of an object that has this field.
    pub(crate) fn depth(&self) -> usize {
        let value = self.to.as_ref().map_or(0, depth);
        self.path.matches('/').count() + value
    }

    /// The JSON pointer of the field.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The names of the fields that lead to it.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.path.split('/').skip(1).map(unescape)
    }

    /// What the field was and what comes back instead, as text.
    pub fn change(&self) -> String {
        let (from, to) = (described(self.from.as_ref()), described(self.to.as_ref()));
        format!("{to} would come back as {from}")
    }

    /// Restores the field, if it still has the converted value, and if its parent still exists.
    ///
    /// Fields that were added inside a list are kept, like fields that were added elsewhere: the API
    /// server adds defaults.
    pub(crate) fn apply(&self, object: &mut Value) {
        let Some((parent, name)) = self.path.rsplit_once('/') else {
            return;
        };
        let Some(Value::Object(fields)) = object.pointer_mut(parent) else {
            return;
        };
        let name = unescape(name);
        let now = fields.get(&name);
        if now == self.from.as_ref() {
            match &self.to {
                Some(value) => fields.insert(name, value.clone()),
                None => fields.remove(&name),
            };
        } else if let (Some(from), Some(now), Some(to)) = (&self.from, now, &self.to)
            && let Some(value) = with_added(from, now, to)
        {
            fields.insert(name, value);
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (described(self.from.as_ref()), described(self.to.as_ref()));
        write!(formatter, "{} was {to} and came back as {from}", self.path)
    }
}

/// The number of levels of objects and lists in a value.
fn depth(value: &Value) -> usize {
    let below = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(fields) => fields.values().map(depth).max(),
        _ => return 0,
    };
    1 + below.unwrap_or_default()
}

fn described(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), Value::to_string)
}

fn compare(from: Option<&Value>, to: Option<&Value>, path: String, found: &mut Vec<Difference>) {
    match (from, to) {
        (Some(Value::Object(from)), Some(Value::Object(to))) => {
            let names: BTreeSet<&String> = from.keys().chain(to.keys()).collect();
            for name in names {
                if !(path.is_empty() && is_identity(name)) {
                    let path = format!("{path}/{}", escape(name));
                    compare(from.get(name), to.get(name), path, found);
                }
            }
        }
        (from, to) if from == to => {}
        (from, to) => found.push(Difference {
            path,
            from: from.cloned(),
            to: to.cloned(),
        }),
    }
}

/// `to` with the fields that `now` has and `from` lacks, if they differ in nothing else.
fn with_added(from: &Value, now: &Value, to: &Value) -> Option<Value> {
    match (from, now, to) {
        _ if from == now => Some(to.clone()),
        (Value::Array(from), Value::Array(now), Value::Array(to))
            if from.len() == now.len() && from.len() == to.len() =>
        {
            let items = from.iter().zip(now).zip(to);
            let items = items.map(|((from, now), to)| with_added(from, now, to));
            items.collect::<Option<_>>().map(Value::Array)
        }
        (Value::Object(from), Value::Object(now), Value::Object(to)) => {
            if !from.keys().all(|name| now.contains_key(name)) {
                return None;
            }
            let mut fields = to.clone();
            for (name, now) in now {
                let value = match from.get(name) {
                    Some(from) if from == now => continue,
                    Some(from) => with_added(from, now, to.get(name)?)?,
                    None => now.clone(),
                };
                fields.insert(name.clone(), value);
            }
            Some(Value::Object(fields))
        }
        _ => None,
    }
}

/// Whether every object has a field of that name, and no conversion may change it.
pub(super) fn is_identity(name: &str) -> bool {
    IDENTITY.contains(&name)
}

fn unescape(name: &str) -> String {
    name.replace("~1", "/").replace("~0", "~")
}
