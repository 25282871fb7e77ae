//! Facts about Kubernetes' own types that an API server publishes and k8s-openapi's schemas lack.
//!
//! The facts are in `kubernetes.txt`, one per line, as `TYPE FACT` or `TYPE.FIELD FACT`. A FACT is
//! `list KIND KEY…`, `map KIND` or `default JSON`. Pure.

use serde_json::json;

use super::super::Object;
use super::{field_mut, make_optional, set};
use crate::manifests::json::{field_of, requires};

const FACTS: &str = include_str!("kubernetes.txt");

/// Adds the facts about a type to its finished schema.
///
/// A field that is missing in the schema belongs to another version of Kubernetes.
pub(super) fn add(definition: &str, schema: &mut Object) {
    let lines = FACTS.lines();
    let facts = lines.filter_map(|line| line.strip_prefix(definition)?.split_once(' '));
    for (path, fact) in facts {
        if path.is_empty() {
            add_merging(schema, fact);
        } else if let Some(field) = path.strip_prefix('.') {
            add_to_field(schema, field, fact);
        }
    }
}

fn add_to_field(schema: &mut Object, field: &str, fact: &str) {
    let Some(property) = field_mut(schema, field) else {
        return;
    };
    let default = fact.strip_prefix("default ");
    if let Some(default) = default.and_then(|json| serde_json::from_str(json).ok()) {
        set(property, "default", default);
        property.sort_keys();
        make_optional(schema, field);
    } else {
        add_merging(property, fact);
        property.sort_keys();
    }
}

fn add_merging(schema: &mut Object, fact: &str) {
    let mut words = fact.split(' ');
    match (words.next(), words.next()) {
        (Some("map"), Some(kind)) => set(schema, "x-kubernetes-map-type", json!(kind)),
        (Some("list"), Some(kind)) => {
            let keys: Vec<&str> = words.collect();
            if !keys.iter().all(|key| is_key(schema, key)) {
                return;
            }
            set(schema, "x-kubernetes-list-type", json!(kind));
            if !keys.is_empty() {
                set(schema, "x-kubernetes-list-map-keys", json!(keys));
            }
        }
        _ => {}
    }
}

/// Whether a CRD may use this field as a key of a list: it must never be missing.
///
/// A few of Kubernetes' own lists have keys that may be missing, such as the `secrets` of a
/// ServiceAccount.
fn is_key(list: &Object, key: &str) -> bool {
    let has_default = |field: &Object| field.contains_key("default");
    let items = list.get("items");
    items.is_some_and(|it| requires(it, key) || field_of(it, key).is_some_and(has_default))
}
