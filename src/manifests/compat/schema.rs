//! Compares two states of a schema, field by field. Pure.

use serde_json::{Map, Value};

use super::{Differences, fields};
use crate::manifests::json::{ELEMENTS, is_true, list_of, text_of, texts_of};
use crate::names::is_among;

/// Keywords that have no effect on what is valid, stored or returned.
pub(super) const WORDS: [&str; 4] = ["description", "example", "externalDocs", "title"];

pub(super) const FREE: &str = "x-kubernetes-preserve-unknown-fields";

/// Keywords that are compared one by one; a change of any other keyword is a break.
const KNOWN: &str = "\
    additionalProperties default enum exclusiveMaximum exclusiveMinimum format items maxItems maxLength \
    maxProperties maximum minItems minLength minProperties minimum nullable pattern properties required \
    type x-kubernetes-validations";

const LIST_TYPE: &str = "x-kubernetes-list-type";
const LIST_KEYS: &str = "x-kubernetes-list-map-keys";
const MAP_TYPE: &str = "x-kubernetes-map-type";

/// What changed between two states of the schema of a field, or of a version if the path is empty.
pub(super) fn node(path: &str, old: &Value, new: &Value, changes: &mut Differences<'_>) {
    if old == new {
        return;
    }
    let (was, is) = (shape(old), shape(new));
    if was != is {
        let reason = format!("the type was {was} and is {is}: existing values are invalid");
        changes.breaks(path, "type", reason);
        return;
    }
    let both = |key: &str| [old, new].map(|it| is_true(it, key));
    changes.switch(
        path,
        both(FREE),
        "unknown-fields",
        "fields that the schema does not list are no longer kept",
        "fields that the schema does not list are kept",
    );
    changes.switch(
        path,
        both("nullable"),
        "null",
        "null is refused, or replaced by the default",
        "null is allowed",
    );
    bounds(path, old, new, changes);
    words(path, old, new, changes);
    rules(path, old, new, changes);
    merge(path, old, new, changes);
    others(path, old, new, changes);
    fields::compare(path, old, new, changes);
    for (key, step) in ELEMENTS {
        if let (Some(old), Some(new)) = (old.get(key), new.get(key)) {
            node(&format!("{path}{step}"), old, new, changes);
        }
    }
}

/// The type of a node, in words.
fn shape(schema: &Value) -> &str {
    let values = schema.get("additionalProperties");
    match text_of(schema, "type") {
        _ if is_true(schema, "x-kubernetes-int-or-string") => "integer or string",
        "object" if values.is_some_and(|it| *it != false) => "map",
        "" => "anything",
        kind => kind,
    }
}

/// A bound, and whether it is exclusive.
fn limit(schema: &Value, key: &str, exclusive: &str) -> Option<(f64, bool)> {
    let value = schema.get(key)?.as_f64()?;
    let is_no_bound = exclusive.is_empty() && key.starts_with("min") && value == 0.0;
    (!is_no_bound).then(|| (value, is_true(schema, exclusive)))
}

fn bounds(path: &str, old: &Value, new: &Value, changes: &mut Differences<'_>) {
    for (key, exclusive, is_upper) in [
        ("maximum", "exclusiveMaximum", true),
        ("maxItems", "", true),
        ("maxLength", "", true),
        ("maxProperties", "", true),
        ("minimum", "exclusiveMinimum", false),
        ("minItems", "", false),
        ("minLength", "", false),
        ("minProperties", "", false),
    ] {
        let (was, is) = (limit(old, key, exclusive), limit(new, key, exclusive));
        let is_tighter = match (was, is) {
            _ if was == is => continue,
            (_, None) => false,
            (None, Some(_)) => true,
            (Some((was, was_excluded)), Some((is, is_excluded))) if was == is => {
                is_excluded && !was_excluded
            }
            (Some((was, _)), Some((is, _))) => (is < was) == is_upper,
        };
        let value = |schema: &Value| schema.get(key).map_or("none".to_owned(), Value::to_string);
        let reason = format!("`{key}` was {} and is {}", value(old), value(new));
        match is_tighter {
            true => changes.breaks(path, key, reason + ": values beyond it are refused"),
            false => changes.safe(path, key, reason),
        }
    }
}

/// Pattern, format and enumerated values.
fn words(path: &str, old: &Value, new: &Value, changes: &mut Differences<'_>) {
    let (was, is) = (old.get("pattern"), new.get("pattern"));
    match (was, is) {
        _ if was == is => {}
        (Some(was), None) => {
            let reason = format!("the pattern {was} is removed");
            changes.safe(path, "pattern-removed", reason);
        }
        (_, is) => {
            let is = is.map(Value::to_string).unwrap_or_default();
            let reason =
                format!("the pattern is now {is}: values that do not match it are refused");
            changes.breaks(path, "pattern", reason);
        }
    }
    let (was, is) = (text_of(old, "format"), text_of(new, "format"));
    match (was, is) {
        _ if was == is => {}
        (_, "") | ("int32", "int64") | ("float", "double") => {
            let reason = format!("the format `{was}` is widened or removed");
            changes.safe(path, "format", reason);
        }
        _ => {
            let reason = format!("the format is now `{is}`: values in any other are refused");
            changes.breaks(path, "format", reason);
        }
    }
    changes.switch(
        path,
        [old, new].map(|it| it.get("enum").is_none()),
        "values",
        "only listed values are allowed: others are refused",
        "any value is allowed",
    );
    let (was, is) = (list_of(old, "enum"), list_of(new, "enum"));
    if was.is_empty() || is.is_empty() {
        return;
    }
    for value in was.iter().filter(|value| !is.contains(value)) {
        let reason = format!("the value {value} is refused");
        changes.breaks(path, format!("value-removed {value}"), reason);
    }
    for value in is.iter().filter(|value| !was.contains(value)) {
        let reason = format!("the value {value} is new");
        changes.safe(path, format!("value-added {value}"), reason);
    }
}

/// The parts of a rule that are compared; its message is ignored.
fn rule(rule: &Value) -> (&str, bool) {
    (text_of(rule, "rule"), is_true(rule, "optionalOldSelf"))
}

fn rules(path: &str, old: &Value, new: &Value, changes: &mut Differences<'_>) {
    let pointer = "x-kubernetes-validations";
    let (was, is) = (list_of(old, pointer), list_of(new, pointer));
    let has = |rules: &[Value], it: &Value| rules.iter().any(|other| rule(other) == rule(it));
    for it in is.iter().filter(|it| !has(was, it)) {
        // On one line, however it was written.
        let text = text_of(it, "rule").split_whitespace();
        let text = text.collect::<Vec<_>>().join(" ");
        let what = format!("rule-added {text}");
        let (rule, may_use_old) = rule(it);
        // A rule that can use the old value in every evaluation can accept unchanged objects, and is assumed to.
        if may_use_old && rule.contains("oldSelf") {
            let reason = format!("the rule `{text}` is new, and uses the old value");
            changes.safe(path, what, reason);
        } else {
            let reason = format!("the rule `{text}` is new: objects that break it are refused");
            changes.breaks(path, what, reason);
        }
    }
    for it in was.iter().filter(|it| !has(is, it)) {
        let reason = format!("the rule `{}` is removed", text_of(it, "rule"));
        changes.safe(path, "rule-removed", reason);
    }
}

/// How server-side apply merges a list or a map.
fn merge(path: &str, old: &Value, new: &Value, changes: &mut Differences<'_>) {
    for (key, what, default) in [
        (LIST_TYPE, "list-type", "atomic"),
        (MAP_TYPE, "map-type", "granular"),
    ] {
        let [was, is] = [old, new].map(|it| match text_of(it, key) {
            "" => default,
            text => text,
        });
        if was != is {
            let duplicates = match is {
                "map" | "set" => ", and duplicates are refused",
                _ => "",
            };
            let reason = format!(
                "`{key}` was {was} and is {is}: values from several clients merge differently{duplicates}"
            );
            changes.breaks(path, what, reason);
        }
    }
    let [was, is] = [old, new].map(|it| {
        let mut keys: Vec<&str> = texts_of(it, LIST_KEYS).collect();
        keys.sort_unstable();
        keys.join(", ")
    });
    if was != is && !was.is_empty() && !is.is_empty() {
        let reason =
            format!("the keys of the list were {was} and are {is}: it is merged differently");
        changes.breaks(path, "list-keys", reason);
    }
}

/// Every other keyword; a removed keyword, or one that only describes, requires nothing.
fn others(path: &str, old: &Value, new: &Value, changes: &mut Differences<'_>) {
    let empty = Map::new();
    let [was, is] = [old, new].map(|it| it.as_object().unwrap_or(&empty));
    let is_known = |key: &str| {
        let merged = [FREE, LIST_TYPE, LIST_KEYS, MAP_TYPE];
        WORDS.contains(&key) || is_among(KNOWN, key) || merged.contains(&key)
    };
    for (key, value) in is.iter().filter(|(key, _)| !is_known(key)) {
        if was.get(key) != Some(value) {
            let reason = format!("`{key}` is now {value}: objects that do not match are refused");
            changes.breaks(path, format!("keyword {key}"), reason);
        }
    }
    for key in was.keys().filter(|key| !is_known(key)) {
        let what = format!("keyword {key}");
        if is.contains_key(key) {
            continue;
        } else if key == "x-kubernetes-embedded-resource" {
            let reason = "it is no longer an embedded object: parts of it are not kept";
            changes.breaks(path, what, reason);
        } else {
            changes.safe(path, what, format!("`{key}` is removed"));
        }
    }
}
