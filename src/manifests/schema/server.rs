//! What the API server would refuse in a structural schema: defaults, patterns, the keys of lists,
//! and rules.

mod rules;

use serde_json::{Map, Value};

use self::rules::Costliest;
use super::{Object, Reason, Refusal, value};
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
        let problems = [
            default(schema).map(|(below, reason)| (format!("{path}{below}"), reason)),
            wrong_pattern(schema).map(|reason| (path.to_owned(), reason)),
            merge(schema).map(|problem| (path.to_owned(), Reason::Merge { problem })),
        ];
        let problems = problems.into_iter().flatten();
        self.refusals
            .extend(problems.map(|(path, reason)| Refusal::new(&path, reason)));
        self.rules(schema, path, around);

        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in objects(properties) {
            let dot = if path.is_empty() { "" } else { "." };
            self.node(property, &format!("{path}{dot}{name}"), around);
        }
        for (key, step, bound) in [
            ("items", "[]", "maxItems"),
            ("additionalProperties", ".*", "maxProperties"),
        ] {
            if let Some(element) = schema.get(key).and_then(Value::as_object) {
                let around = around.inside(schema, path, bound);
                self.node(element, &format!("{path}{step}"), &around);
            }
        }
    }
}

impl Around {
    /// What is around an element of the list or map `schema`.
    fn inside(&self, schema: &Object, path: &str, bound: &'static str) -> Self {
        let mut inside = self.clone();
        let is_list = bound == "maxItems";
        let merges = schema
            .get("x-kubernetes-list-type")
            .is_some_and(|kind| kind == "map");
        inside.is_correlated &= !is_list || merges;
        let most = schema.get(bound).and_then(Value::as_u64);
        inside.times = inside
            .times
            .zip(most)
            .map(|(times, most)| times.saturating_mul(most));
        if most.is_none() {
            inside.unbounded.push((path.to_owned(), bound));
        }
        inside
    }
}

fn objects(properties: Option<&Map<String, Value>>) -> impl Iterator<Item = (&String, &Object)> {
    let all = properties.into_iter().flatten();
    all.filter_map(|(name, schema)| Some((name, schema.as_object()?)))
}

fn default(schema: &Object) -> Option<(String, Reason)> {
    let default = schema.get("default")?;
    let value::Misfit { path, problem } = value::check(default, schema).err()?;
    let value = default.to_string();
    let reason = match path.is_empty() {
        true => Reason::Default { value, problem },
        false => Reason::DefaultInside { problem },
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
    let kind = schema
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if schema.contains_key("x-kubernetes-map-type") && kind != "object" {
        return Some("merges as a map or struct, but is neither".to_owned());
    }
    let merge = schema.get("x-kubernetes-list-type")?.as_str()?;
    if kind != "array" {
        return Some("merges as a list, but is not one".to_owned());
    }
    let item = schema.get("items")?.as_object()?;
    match merge {
        "set" => set(item),
        "map" => {
            let keys = schema
                .get("x-kubernetes-list-map-keys")
                .and_then(Value::as_array);
            let mut keys = keys
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .peekable();
            if keys.peek().is_none() {
                return Some("merges by keys, but names none".to_owned());
            }
            keys.find_map(|key| list_key(item, key))
        }
        _ => None,
    }
}

fn set(item: &Object) -> Option<String> {
    let merge = |key: &str| item.get(key).and_then(Value::as_str);
    let problem = match item.get("type").and_then(Value::as_str) {
        _ if item.get("nullable") == Some(&Value::Bool(true)) => "may be null",
        Some("object") if merge("x-kubernetes-map-type") != Some("atomic") => {
            "are structs or maps that merge"
        }
        Some("array") if merge("x-kubernetes-list-type").is_some_and(|merge| merge != "atomic") => {
            "are lists that merge"
        }
        _ => return None,
    };
    Some(format!("merges as a set, and its elements {problem}"))
}

/// What keeps a field from being a key of a list.
fn list_key(item: &Object, key: &str) -> Option<String> {
    let of_key = |problem: &str| Some(format!("merges by the key `{key}`, which {problem}"));
    let property = item
        .get("properties")
        .and_then(|all| all.get(key)?.as_object());
    let Some(property) = property else {
        return of_key("its elements do not have");
    };
    if matches!(
        property.get("type").and_then(Value::as_str),
        Some("object" | "array")
    ) {
        return of_key("is not a string, number or boolean");
    }
    let required = item.get("required").and_then(Value::as_array);
    let is_required = required.is_some_and(|names| names.iter().any(|name| name == key));
    if !is_required && !property.contains_key("default") {
        return of_key("may be omitted and has no default");
    }
    None
}
