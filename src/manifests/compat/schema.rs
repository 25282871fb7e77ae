//! Compares two states of a schema, field by field. Pure.

use serde_json::{Map, Value};

use super::{CrdChanges, meaning};
use crate::manifests::json::{
    ELEMENTS, fields_of, is_true, list_of, path_of, requires, text_of, texts_of,
};
use crate::names::is_among;

/// Keywords that have no effect on what is valid, stored or returned.
const WORDS: [&str; 4] = ["description", "example", "externalDocs", "title"];

const FREE: &str = "x-kubernetes-preserve-unknown-fields";

/// Keywords that are compared one by one; a change of any other keyword is a break.
const KNOWN: &str = "\
    additionalProperties default enum exclusiveMaximum exclusiveMinimum format items maxItems maxLength \
    maxProperties maximum minItems minLength minProperties minimum nullable pattern properties required \
    type x-kubernetes-list-map-keys x-kubernetes-list-type x-kubernetes-map-type \
    x-kubernetes-preserve-unknown-fields x-kubernetes-validations";

const LIST_TYPE: &str = "x-kubernetes-list-type";
const LIST_KEYS: &str = "x-kubernetes-list-map-keys";
const MAP_TYPE: &str = "x-kubernetes-map-type";

/// What changed between two states of the schema of a field, or of a version if the path is empty.
pub(super) fn node(path: &str, old: &Value, new: &Value, changes: &mut CrdChanges<'_>) {
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
    changes.switch(path, both(FREE), ["unknown-fields"; 2]);
    changes.switch(path, both("nullable"), ["null"; 2]);
    bounds(path, old, new, changes);
    words(path, old, new, changes);
    rules(path, old, new, changes);
    merge(path, old, new, changes);
    others(path, old, new, changes);
    fields(path, old, new, changes);
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

fn bounds(path: &str, old: &Value, new: &Value, changes: &mut CrdChanges<'_>) {
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
        if is_tighter {
            changes.breaks(path, key, reason + ": values beyond it are refused")
        } else {
            changes.safe(path, key, reason)
        }
    }
}

/// Pattern, format and enumerated values.
fn words(path: &str, old: &Value, new: &Value, changes: &mut CrdChanges<'_>) {
    match [old, new].map(|it| it.get("pattern")) {
        [was, Some(is)] if was != Some(is) => {
            let reason =
                format!("the pattern is now {is}: values that do not match it are refused");
            changes.breaks(path, "pattern", reason);
        }
        [Some(was), None] => {
            let reason = format!("the pattern {was} is removed");
            changes.safe(path, "pattern-removed", reason);
        }
        _ => {}
    }
    let (was, is) = (text_of(old, "format"), text_of(new, "format"));
    if was != is {
        let is_wider = matches!(
            (was, is),
            (_, "") | ("int32", "int64") | ("float", "double")
        );
        let reason = if is_wider {
            format!("the format `{was}` is widened or removed")
        } else {
            format!("the format is now `{is}`: values in any other are refused")
        };
        changes.add(!is_wider, path, "format", reason);
    }
    let are_free = [old, new].map(|it| it.get("enum").is_none());
    changes.switch(path, are_free, ["values"; 2]);
    let both = [old, new].map(|it| list_of(it, "enum"));
    if both.iter().all(|values| !values.is_empty()) {
        changes.members(path, both, "value", "refused");
    }
}

/// The parts of a rule that say whether a value is valid.
fn rule(rule: &Value) -> (&str, bool) {
    (text_of(rule, "rule"), is_true(rule, "optionalOldSelf"))
}

fn rules(path: &str, old: &Value, new: &Value, changes: &mut CrdChanges<'_>) {
    let pointer = "x-kubernetes-validations";
    let (was, is) = (list_of(old, pointer), list_of(new, pointer));
    let has = |rules: &[Value], it: &Value| rules.iter().any(|other| rule(other) == rule(it));
    for it in is.iter().filter(|it| !has(was, it)) {
        // On one line, however it was written.
        let words = text_of(it, "rule").split_whitespace();
        let text = words.collect::<Vec<_>>().join(" ");
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
    for it in was.iter().filter(|it| has(is, it) && !is.contains(it)) {
        let reason = format!("the rule `{}` has another message", text_of(it, "rule"));
        changes.safe(path, "rule-message", reason);
    }
}

/// How server-side apply merges a list or a map.
fn merge(path: &str, old: &Value, new: &Value, changes: &mut CrdChanges<'_>) {
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
fn others(path: &str, old: &Value, new: &Value, changes: &mut CrdChanges<'_>) {
    let empty = Map::new();
    let [was, is] = [old, new].map(|it| it.as_object().unwrap_or(&empty));
    let is_known = |key: &str| WORDS.contains(&key) || is_among(KNOWN, key);
    for (key, value) in is.iter().filter(|(key, _)| !is_known(key)) {
        if was.get(key) != Some(value) {
            let reason = format!("`{key}` is now {value}: objects that do not match are refused");
            changes.breaks(path, format!("keyword {key}"), reason);
        }
    }
    let removed = was.keys().filter(|key| !is.contains_key(*key));
    for key in removed.filter(|key| !is_known(key)) {
        let what = format!("keyword {key}");
        if key == "x-kubernetes-embedded-resource" {
            let reason = "it is no longer an embedded object: parts of it are not kept";
            changes.breaks(path, what, reason);
        } else {
            changes.safe(path, what, format!("`{key}` is removed"));
        }
    }
}

fn field<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    schema.get("properties")?.get(name)
}

/// The fields of an object: removed, new, required, with another default.
fn fields(path: &str, old: &Value, new: &Value, changes: &mut CrdChanges<'_>) {
    for (name, _) in fields_of(old).filter(|(name, _)| field(new, name).is_none()) {
        removed(&path_of(path, name), name, [old, new], changes);
    }
    let unnamed = texts_of(new, "required").filter(|name| field(new, name).is_none());
    for name in unnamed.filter(|name| !requires(old, name)) {
        changes.plain(true, &path_of(path, name), "required");
    }
    for (name, is) in fields_of(new) {
        let below = path_of(path, name);
        let was_required = requires(old, name);
        let is_newly_required = requires(new, name) && !was_required;
        match field(old, name) {
            Some(was) => {
                default(&below, [was, is], was_required, changes);
                node(&below, was, is, changes);
            }
            None if is_true(old, FREE) => changes.plain(true, &below, "field-added"),
            None if is_newly_required => {}
            None => changes.plain(false, &below, "field-added"),
        }
        if is_newly_required {
            changes.plain(is.get("default").is_none(), &below, "required");
        } else if was_required && !requires(new, name) {
            changes.plain(false, &below, "optional");
        }
    }
}

fn removed(path: &str, name: &str, [old, new]: [&Value; 2], changes: &mut CrdChanges<'_>) {
    let is_lost = !is_true(new, FREE);
    let mut others = fields_of(new).filter(|(other, _)| field(old, other).is_none());
    let renamed = others.find(|(_, it)| field(old, name).is_some_and(|was| alike(was, it)));
    if let Some((other, _)) = renamed.filter(|_| is_lost) {
        let reason = format!(
            "{}; `{other}` is like it: if that is its new name in Rust, `#[serde(rename = \"{name}\")]` \
             keeps the old name in objects",
            meaning("field-removed", is_lost)
        );
        changes.breaks(path, "field-removed", reason);
    } else {
        changes.plain(is_lost, path, "field-removed");
    }
}

fn default(path: &str, was_is: [&Value; 2], was_required: bool, changes: &mut CrdChanges<'_>) {
    let [was, is] = was_is.map(|field| field.get("default"));
    let is_safe = was.is_none() && was_required;
    let reason = match (was, is) {
        _ if was == is => return,
        (_, Some(is)) if is_safe => {
            format!("the default is {is}, and the field always had a value")
        }
        (_, Some(is)) => format!(
            "the default is now {is}: objects that do not set the field change their meaning"
        ),
        (Some(was), None) => {
            format!("the default {was} is removed: a field that is not set no longer gets a value")
        }
        (None, None) => return,
    };
    changes.add(!is_safe, path, "default", reason);
}

/// Whether two fields differ only in their descriptions.
fn alike(one: &Value, other: &Value) -> bool {
    let bare = |schema: &Value| {
        let mut copy = schema.clone();
        if let Some(keywords) = copy.as_object_mut() {
            keywords.retain(|key, _| !WORDS.contains(&key.as_str()));
        }
        copy
    };
    bare(one) == bare(other)
}
