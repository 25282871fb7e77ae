//! One way to write a CRD, of the many that mean the same to an API server.

use serde_json::{Value, json};

use crate::manifests::json::{Object, is_true, text_of, visit_schemas};
use crate::names::is_among;

const EITHER: &str = "x-kubernetes-int-or-string";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";

/// Keywords that are the same as absent if they are false.
const FLAGS: [&str; 6] = [
    "exclusiveMaximum",
    "exclusiveMinimum",
    "nullable",
    "uniqueItems",
    EITHER,
    EMBEDDED,
];

/// Keywords that limit values of one type only. kbr itself writes those of lists beside `type: string`, for the cost of rules.
const OF_TYPES: [(&str, &[&str]); 2] = [
    ("array", &["maxItems", "minItems"]),
    ("object", &["maxProperties", "minProperties"]),
];

/// The formats that API servers check; they ignore others. Source: `strfmt` in kube-openapi, and the numbers in its validation.
const FORMATS: &str = "bsonobjectid byte cidr creditcard date date-time datetime double duration email float \
    hexcolor hostname int32 int64 ipv4 ipv6 isbn isbn10 isbn13 k8s-long-name k8s-short-name mac password rgbcolor ssn uri \
    uuid uuid3 uuid4 uuid5";

/// The CRD with what the API server adds to it, and without what has no effect.
pub(super) fn crd(crd: &Value) -> Value {
    let mut crd = crd.clone();
    let kind = text_of(&crd, "/spec/names/kind").to_owned();
    if let Some(names) = crd
        .pointer_mut("/spec/names")
        .and_then(Value::as_object_mut)
    {
        for (name, default) in [
            ("listKind", format!("{kind}List")),
            ("singular", kind.to_lowercase()),
        ] {
            names.entry(name).or_insert_with(|| default.into());
        }
    }
    let versions = crd
        .pointer_mut("/spec/versions")
        .and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten() {
        let columns = version.get_mut("additionalPrinterColumns");
        for column in columns.and_then(Value::as_array_mut).into_iter().flatten() {
            let column = column.as_object_mut();
            if let Some(column) = column.filter(|it| it.get("priority") == Some(&json!(0))) {
                column.shift_remove("priority");
            }
        }
        let schema = version.pointer_mut("/schema/openAPIV3Schema");
        if let Some(schema) = schema.and_then(Value::as_object_mut) {
            is_object(schema);
            let required = schema.get_mut("required").and_then(Value::as_array_mut);
            if let Some(required) = required {
                required.retain(|name| OF_OBJECTS.iter().all(|(of_all, _)| name != of_all));
            }
            visit_schemas(schema, &mut node);
        }
    }
    crd
}

/// The fields that every Kubernetes object has, whatever its schema lists.
const OF_OBJECTS: [(&str, &str); 3] = [
    ("apiVersion", "string"),
    ("kind", "string"),
    ("metadata", "object"),
];

fn is_object(schema: &mut Object) {
    let fields = schema.entry("properties").or_insert_with(|| json!({}));
    if let Some(fields) = fields.as_object_mut() {
        for (name, kind) in OF_OBJECTS {
            fields
                .entry(name)
                .or_insert_with(|| json!({ "type": kind }));
        }
    }
}

/// In an embedded object they need not be listed.
fn is_embedded(schema: &mut Object) {
    let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
    if let Some(fields) = fields {
        for (name, kind) in OF_OBJECTS {
            let is_plain = fields.get(name).is_some_and(|field| {
                let mut keywords = field.as_object().into_iter().flatten();
                keywords.all(|(key, value)| key == "description" || key == "type" && value == kind)
            });
            if is_plain {
                fields.shift_remove(name);
            }
        }
    }
}

fn node(schema: &mut Object) {
    schema.retain(|key, value| !(FLAGS.contains(&key.as_str()) && *value == false));
    if schema.get("format").is_some() && !is_among(FORMATS, text_of(schema, "format")) {
        schema.shift_remove("format");
    }
    if let Some(values) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        // The API server refuses null beside listed values, whether they have it or not.
        values.retain(|value| !value.is_null());
        schema.shift_remove("nullable");
    }
    let kind = text_of(schema, "type").to_owned();
    for (limited, keywords) in OF_TYPES {
        if !kind.is_empty() && kind != limited {
            schema.retain(|key, _| !keywords.contains(&key.as_str()));
        }
    }
    if is_true(schema, EMBEDDED) {
        is_embedded(schema);
    }
    if is_true(schema, EITHER) {
        either(schema);
    }
}

/// An integer or a string may say so twice: in the two forms that structural schemas allow.
fn either(schema: &mut Object) {
    let says_it = |members: &Value| {
        let kinds = members.as_array().map(Vec::as_slice).unwrap_or_default();
        let is_kind = |kind: &str| kinds.contains(&json!({ "type": kind }));
        kinds.len() == 2 && is_kind("integer") && is_kind("string")
    };
    if schema.get("anyOf").is_some_and(says_it) {
        schema.shift_remove("anyOf");
    }
    if let Some(all) = schema.get_mut("allOf").and_then(Value::as_array_mut) {
        all.retain(|it| {
            let is_alone = it.as_object().is_some_and(|it| it.len() == 1);
            !(is_alone && it.get("anyOf").is_some_and(says_it))
        });
        if all.is_empty() {
            schema.shift_remove("allOf");
        }
    }
}
