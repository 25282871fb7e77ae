//! Compares the fields of an object in two states: removed, new, required, with another default. Pure.

use serde_json::Value;

use super::Differences;
use super::schema::{FREE, WORDS, node};
use crate::manifests::json::{fields_of, is_true, path_of, requires, texts_of};

fn field<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    schema.get("properties")?.get(name)
}

pub(super) fn compare(path: &str, old: &Value, new: &Value, changes: &mut Differences<'_>) {
    for (name, _) in fields_of(old).filter(|(name, _)| field(new, name).is_none()) {
        removed(&path_of(path, name), name, [old, new], changes);
    }
    let unnamed = texts_of(new, "required").filter(|name| field(new, name).is_none());
    for name in unnamed.filter(|name| !requires(old, name)) {
        required(&path_of(path, name), false, changes);
    }
    for (name, is) in fields_of(new) {
        let path = path_of(path, name);
        let was_required = requires(old, name);
        let is_newly_required = requires(new, name) && !was_required;
        match field(old, name) {
            Some(was) => {
                default(&path, was, is, was_required, changes);
                node(&path, was, is, changes);
            }
            None if is_true(old, FREE) => {
                let reason = "any value was allowed: values that do not fit are refused";
                changes.breaks(&path, "field-added", reason);
            }
            None if is_newly_required => {}
            None => changes.safe(&path, "field-added", "the field is new"),
        }
        if is_newly_required {
            required(&path, is.get("default").is_some(), changes);
        } else if was_required && !requires(new, name) {
            changes.safe(&path, "optional", "the field may be omitted");
        }
    }
}

fn removed(path: &str, name: &str, [old, new]: [&Value; 2], changes: &mut Differences<'_>) {
    let lost = "the field is removed, and its values are lost";
    let mut others = fields_of(new).filter(|(other, _)| field(old, other).is_none());
    let renamed = others.find(|(_, it)| field(old, name).is_some_and(|was| alike(was, it)));
    if is_true(new, FREE) {
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
            let reason = format!("the default is {is}, and the field always had a value");
            changes.safe(path, "default", reason);
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
