//! What the API server would refuse in a structural schema: defaults, patterns, the keys of lists,
//! and rules.

mod rules;

use serde_json::Value;

use self::rules::Costliest;
use super::{Object, Reason, Refusal, value};
use crate::manifests::json::{
    ELEMENTS, field_of, fields_of, is_true, object_of, path_of, requires, text_of, texts_of,
};
use crate::manifests::{cel, pattern};

/// Checks a finished schema, in the order of its fields.
pub(super) fn check(root: &Object) -> Vec<Refusal> {
    let mut check = Check::default();
    let around = Around {
        is_correlated: true,
        times: Some(1),
        unbounded: Vec::new(),
    };
    check.node(root, "", &around);
    check.refusals.extend(check.costs.refusal());
    check.refusals
}

#[derive(Default)]
struct Check {
    refusals: Vec<Refusal>,
    costs: Costliest,
}

/// How the lists and maps around a node affect its rules.
#[derive(Clone)]
struct Around {
    /// Whether the API server can find the old value of the same element.
    is_correlated: bool,
    /// How many elements a request may have, if all lists and maps are bounded.
    times: Option<u64>,
    /// The lists and maps that are not bounded, with the keyword that would bound them.
    unbounded: Vec<(String, &'static str)>,
}

impl Check {
    fn node(&mut self, schema: &Object, path: &str, around: &Around) {
        let found = [
            default(schema).map(|(below, reason)| (format!("{path}{below}"), reason)),
            wrong_pattern(schema).map(|reason| (path.to_owned(), reason)),
            merge(schema).map(|problem| (path.to_owned(), Reason::Merge { problem })),
        ];
        let problems = found.into_iter().flatten();
        self.refusals
            .extend(problems.map(|(path, reason)| Refusal::new(&path, reason)));
        self.rules(schema, path, around);

        for (name, property) in fields_of(schema) {
            if let Some(property) = property.as_object() {
                self.node(property, &path_of(path, name), around);
            }
        }
        for ((key, step), bound) in ELEMENTS.into_iter().zip(["maxItems", "maxProperties"]) {
            if let Some(element) = object_of(schema, key) {
                let inside = around.inside(schema, path, bound);
                self.node(element, &format!("{path}{step}"), &inside);
            }
        }
    }
}

impl Around {
    /// What is around an element of the list or map `schema`.
    fn inside(&self, schema: &Object, path: &str, bound: &'static str) -> Self {
        let mut inside = self.clone();
        let is_list = bound == "maxItems";
        inside.is_correlated &= !is_list || text_of(schema, "x-kubernetes-list-type") == "map";
        let most = schema.get(bound).and_then(Value::as_u64);
        let times = inside.times.zip(most);
        inside.times = times.map(|(times, most)| times.saturating_mul(most));
        if most.is_none() {
            inside.unbounded.push((path.to_owned(), bound));
        }
        inside
    }
}

fn default(schema: &Object) -> Option<(String, Reason)> {
    let default = schema.get("default")?;
    let (path, problem) = value::check(default, schema).err()?;
    let value = default.to_string();
    let reason = if path.is_empty() {
        Reason::Default { value, problem }
    } else {
        Reason::DefaultInside { problem }
    };
    Some((path, reason))
}

fn wrong_pattern(schema: &Object) -> Option<Reason> {
    let pattern = schema.get("pattern")?.as_str()?.to_owned();
    let problem = pattern::check(&pattern).err()?;
    Some(Reason::Pattern { pattern, problem })
}

/// Why a list or map cannot merge as it says.
fn merge(schema: &Object) -> Option<String> {
    let kind = text_of(schema, "type");
    if schema.contains_key("x-kubernetes-map-type") && kind != "object" {
        return Some("merges as a map or struct, but is neither".to_owned());
    }
    let merge = schema.get("x-kubernetes-list-type")?.as_str()?;
    if kind != "array" {
        return Some("merges as a list, but is not one".to_owned());
    }
    let item = object_of(schema, "items")?;
    match merge {
        "set" => set(item),
        "map" => {
            let mut keys = texts_of(schema, "x-kubernetes-list-map-keys").peekable();
            if keys.peek().is_none() {
                return Some("merges by keys, but names none".to_owned());
            }
            keys.find_map(|key| list_key(item, key))
        }
        _ => None,
    }
}

fn set(item: &Object) -> Option<String> {
    let list_type = text_of(item, "x-kubernetes-list-type");
    let problem = match text_of(item, "type") {
        _ if is_true(item, "nullable") => "may be null",
        "object" if text_of(item, "x-kubernetes-map-type") != "atomic" => {
            "are structs or maps that merge"
        }
        "array" if !["", "atomic"].contains(&list_type) => "are lists that merge",
        _ => return None,
    };
    Some(format!("merges as a set, and its elements {problem}"))
}

/// What keeps a field from being a key of a list.
fn list_key(item: &Object, key: &str) -> Option<String> {
    let of_key = |problem: &str| Some(format!("merges by the key `{key}`, which {problem}"));
    let Some(property) = field_of(item, key) else {
        return of_key("its elements do not have");
    };
    if matches!(text_of(property, "type"), "object" | "array") {
        return of_key("is not a string, number or boolean");
    }
    if !requires(item, key) && !property.contains_key("default") {
        return of_key("may be omitted and has no default");
    }
    None
}
