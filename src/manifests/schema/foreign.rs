//! What Kubernetes' own types look like in a CRD, by the names of their definitions.
//!
//! The facts that k8s-openapi's schemas lack are in `sources.txt` and `kubernetes.txt`, one per line, as
//! `TYPE FACT`, `TYPE.FIELD FACT`, or `TYPE[] FACT` for lists of that type. A FACT is `schema JSON`, which
//! replaces what is known, `keywords JSON`, which adds to it, `list KIND KEY…`, `map KIND` or `default JSON`.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Object, strings};
use crate::manifests::json::{field_of, requires};

/// The facts from Kubernetes' sources, and then those that an API server publishes, which add to them.
const FACTS: [&str; 2] = [
    include_str!("foreign/sources.txt"),
    include_str!("foreign/kubernetes.txt"),
];

const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";

/// Source: `MarshalJSON` of `meta/v1/time.go` and `micro_time.go`; both are RFC 3339 strings.
const TIMES: [&str; 2] = [
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
];

/// Completes the finished schema of a type of Kubernetes, or of a list of it (`TYPE[]`).
///
/// Kubernetes does not require `metadata`; k8s-openapi marks it as required only because it always
/// writes it, and reads objects without it. The same is true of a field with a default.
pub(super) fn overlay(definition: &str, schema: &mut Object) {
    make_optional(schema, "metadata");
    if TIMES.contains(&definition) {
        set(schema, "pattern", json!(strings::TIME_OF_KUBERNETES));
    }
    let facts = FACTS.into_iter().flat_map(str::lines);
    let facts = facts.filter_map(|line| line.strip_prefix(definition)?.split_once(' '));
    for (path, fact) in facts {
        if path.is_empty() {
            add(schema, fact);
        } else if let Some(field) = path.strip_prefix('.') {
            add_to_field(schema, field, fact);
        }
    }
    schema.sort_keys();
}

/// A field that is missing in the schema belongs to another version of Kubernetes.
fn add_to_field(schema: &mut Object, field: &str, fact: &str) {
    let properties = schema.get_mut("properties");
    let property = properties.and_then(|all| all.get_mut(field)?.as_object_mut());
    let Some(property) = property else {
        return;
    };
    add(property, fact);
    property.sort_keys();
    if fact.starts_with("default ") {
        make_optional(schema, field);
    }
}

fn add(schema: &mut Object, fact: &str) {
    let Some((word, rest)) = fact.split_once(' ') else {
        return;
    };
    match word {
        "schema" => *schema = read(rest),
        "keywords" => schema.extend(read::<Object>(rest)),
        "default" => set(schema, "default", read(rest)),
        "map" => set(schema, "x-kubernetes-map-type", json!(rest)),
        "list" => {
            let mut words = rest.split(' ');
            let kind = words.next();
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

/// A value of the files, which a test holds to be JSON.
fn read<T: DeserializeOwned + Default>(json: &str) -> T {
    serde_json::from_str(json).unwrap_or_default()
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

fn make_optional(schema: &mut Object, field: &str) {
    let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) else {
        return;
    };
    required.retain(|name| name != field);
    if required.is_empty() {
        schema.remove("required");
    }
}

/// Drops the default that serde writes for `Quantity::default()`, an empty string.
///
/// It does not match the pattern, and the API server refuses an invalid default.
pub(super) fn drop_unfit_default(definition: &str, settings: &mut Object) {
    if definition == QUANTITY && settings.get("default") == Some(&json!("")) {
        settings.remove("default");
    }
}

fn set(schema: &mut Object, key: &str, value: Value) {
    schema.insert(key.to_owned(), value);
}
