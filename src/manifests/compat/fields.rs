//! Compares the fields of an object in two states: removed, new, required, with another default. Pure.

use serde_json::Value;

use super::schema::{FREE, WORDS, node};
use super::{Differences, is_true, list};

/// The fields of an object, and the names of the required ones.
struct Fields<'a> {
    properties: Vec<(&'a str, &'a Value)>,
    required: Vec<&'a str>,
    /// Whether other fields are allowed.
    is_free: bool,
}

impl<'a> Fields<'a> {
    fn of(schema: &'a Value) -> Self {
        let properties = schema.get("properties").and_then(Value::as_object);
        let properties = properties.into_iter().flatten();
        Self {
            properties: properties.map(|(name, field)| (&**name, field)).collect(),
            required: list(schema, "/required")
                .iter()
                .filter_map(Value::as_str)
                .collect(),
            is_free: is_true(schema, &format!("/{FREE}")),
        }
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        let mut properties = self.properties.iter();
        let found = properties.find(|(it, _)| *it == name);
        found.map(|(_, field)| *field)
    }

    fn requires(&self, name: &str) -> bool {
        self.required.contains(&name)
    }
}

pub(super) fn compare(path: &str, old: &Value, new: &Value, changes: &mut Differences<'_>) {
    let (was, is) = (Fields::of(old), Fields::of(new));
    for (name, field) in &was.properties {
        if is.get(name).is_none() {
            removed(&below(path, name), name, field, [&was, &is], changes);
        }
    }
    let unnamed = is.required.iter().filter(|name| is.get(name).is_none());
    for name in unnamed.filter(|name| !was.requires(name)) {
        required(&below(path, name), false, changes);
    }
    for (name, field) in &is.properties {
        let path = below(path, name);
        let is_newly_required = is.requires(name) && !was.requires(name);
        match was.get(name) {
            Some(old) => {
                default(&path, old, field, was.requires(name), changes);
                node(&path, old, field, changes);
            }
            None if was.is_free => {
                let reason = "any value was allowed: values that do not fit are refused";
                changes.breaks(&path, "field-added", reason);
            }
            None if is_newly_required => {}
            None => changes.safe(&path, "field-added", "the field is new"),
        }
        if is_newly_required {
            required(&path, field.get("default").is_some(), changes);
        } else if was.requires(name) && !is.requires(name) {
            changes.safe(&path, "optional", "the field may be omitted");
        }
    }
}

fn removed(
    path: &str,
    name: &str,
    field: &Value,
    fields: [&Fields<'_>; 2],
    changes: &mut Differences<'_>,
) {
    let [was, is] = fields;
    let lost = "the field is removed, and its values are lost";
    let mut others = is.properties.iter();
    let renamed = others.find(|(other, it)| was.get(other).is_none() && alike(field, it));
    if is.is_free {
        let reason = "the schema no longer lists the field, but its values are kept";
        changes.safe(path, "field-removed", reason);
    } else if let Some((other, _)) = renamed {
        let reason = format!(
            "{lost}; `{other}` is like it: if that is its new name in Rust, `#[serde(rename = \"{name}\")]` \
             keeps the old name in objects"
        );
        changes.breaks(path, "field-removed", reason);
    } else {
        changes.breaks(path, "field-removed", lost);
    }
}

fn required(path: &str, has_default: bool, changes: &mut Differences<'_>) {
    if has_default {
        changes.safe(path, "required", "the field is required, and has a default");
    } else {
        let reason = "the field is required: objects without it are refused";
        changes.breaks(path, "required", reason);
    }
}

fn below(path: &str, name: &str) -> String {
    let dot = if path.is_empty() { "" } else { "." };
    format!("{path}{dot}{name}")
}

fn default(
    path: &str,
    old: &Value,
    new: &Value,
    was_required: bool,
    changes: &mut Differences<'_>,
) {
    let (was, is) = (old.get("default"), new.get("default"));
    match (was, is) {
        _ if was == is => {}
        (None, Some(is)) if was_required => {
            changes.safe(
                path,
                "default",
                format!("the default is {is}, and the field always had a value"),
            );
        }
        (_, Some(is)) => {
            let reason = format!(
                "the default is now {is}: objects that do not set the field change their meaning"
            );
            changes.breaks(path, "default", reason);
        }
        (Some(was), None) => {
            let reason = format!(
                "the default {was} is removed: a field that is not set no longer gets a value"
            );
            changes.breaks(path, "default", reason);
        }
        (None, None) => {}
    }
}

/// Whether two fields differ only in their descriptions.
fn alike(one: &Value, other: &Value) -> bool {
    let bare = |schema: &Value| {
        let mut schema = schema.clone();
        if let Some(schema) = schema.as_object_mut() {
            schema.retain(|key, _| !WORDS.contains(&key.as_str()));
        }
        schema
    };
    bare(one) == bare(other)
}
