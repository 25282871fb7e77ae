//! What Kubernetes' own types look like in a CRD, by the names of their definitions.
//!
//! The types whose JSON differs from their Go struct, and for which the API server's OpenAPI document
//! has little, are here, with their sources. The list and map types, keys and
//! defaults of all types come from that document, see [`facts`].

mod facts;

use serde_json::{Value, json};

use super::{Object, strings};

const CONDITION: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Condition";
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";

/// Whether a definition is one of Kubernetes' own, rather than of the user or of another crate.
pub(super) fn is_foreign(definition: &str) -> bool {
    definition.starts_with("io.k8s.")
}

/// Completes the finished schema of a type of Kubernetes.
///
/// Kubernetes does not require `metadata`; k8s-openapi marks it as required only because it always
/// writes it, and reads objects without it. The same is true of a field with a default.
pub(super) fn overlay(definition: &str, schema: &mut Object) {
    // The order is the one that the API server's check for structural schemas expects
    // (`intOrStringAnyOf` in apiextensions-apiserver's `schema/validation.go`).
    let int_or_string = json!([{ "type": "integer" }, { "type": "string" }]);
    let keywords = match definition {
        // Source: controller-gen's CRDs; the pattern is apimachinery's grammar in `resource/quantity.go`.
        QUANTITY => json!({
            "anyOf": int_or_string,
            "pattern": concat!(
                r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))",
                r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
            ),
            "x-kubernetes-int-or-string": true,
        }),
        // Source: controller-gen's CRDs; the bounds are those of `IntVal` in apimachinery's
        // `util/intstr/intstr.go`, an `int32`. No object with a larger number could ever be read, by Rust or by Go.
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString" => json!({
            "anyOf": int_or_string,
            "maximum": i32::MAX,
            "minimum": i32::MIN,
            "x-kubernetes-int-or-string": true,
        }),
        // Source: `MarshalJSON` of `meta/v1/time.go` and `micro_time.go`; both are RFC 3339 strings.
        "io.k8s.apimachinery.pkg.apis.meta.v1.Time"
        | "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime" => json!({
            "format": "date-time", "pattern": strings::TIME_OF_KUBERNETES, "type": "string",
        }),
        // Source: `runtime/types.go` and `meta/v1/types.go` of apimachinery, where both are raw JSON of an
        // object. Without the extension the API server would drop every field of it.
        "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1"
        | "io.k8s.apimachinery.pkg.runtime.RawExtension" => json!({
            "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        }),
        // Source: `MarshalJSON` of `JSON` in apiextensions' `v1/marshal.go`: raw JSON of any type.
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON" => {
            schema.remove("type");
            json!({ "x-kubernetes-preserve-unknown-fields": true })
        }
        "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" => {
            schema.clear();
            object_meta()
        }
        CONDITION => {
            condition(schema);
            Value::Null
        }
        _ => {
            make_optional(schema, "metadata");
            Value::Null
        }
    };
    if let Value::Object(keywords) = keywords {
        schema.extend(keywords);
    }
    facts::add(definition, schema);
    schema.sort_keys();
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

/// Sets how a list of a type of Kubernetes merges.
///
/// Source: `listType=map`, `listMapKey=type` on every `Conditions` field of Kubernetes' own types,
/// as its API conventions require ("Typical status properties").
pub(super) fn overlay_list(item: &str, list: &mut Object) {
    if item == CONDITION {
        set(list, "x-kubernetes-list-type", json!("map"));
        set(list, "x-kubernetes-list-map-keys", json!(["type"]));
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

/// Source: the markers on the fields of `Condition` in apimachinery's `meta/v1/types.go`.
fn condition(schema: &mut Object) {
    let kind = concat!(
        r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?",
        r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
    );
    let reason = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$";
    let limits = [
        ("message", json!({ "maxLength": 32768 })),
        ("observedGeneration", json!({ "minimum": 0 })),
        (
            "reason",
            json!({ "maxLength": 1024, "minLength": 1, "pattern": reason }),
        ),
        ("status", json!({ "enum": ["True", "False", "Unknown"] })),
        ("type", json!({ "maxLength": 316, "pattern": kind })),
    ];
    for (field, limits) in limits {
        if let (Some(field), Value::Object(limits)) = (field_mut(schema, field), limits) {
            field.extend(limits);
            field.sort_keys();
        }
    }
}

/// The part of an embedded `ObjectMeta` that a user writes, such as the labels of a pod template.
///
/// controller-gen writes only `type: object`, and the API server then drops all of its fields.
/// Source of the five fields: controller-gen's own remedy, `crd:generateEmbeddedObjectMeta=true`.
/// Fields that the server sets (`uid`, `managedFields`…) have no meaning in a template.
fn object_meta() -> Value {
    let strings = json!({ "additionalProperties": { "type": "string" }, "type": "object" });
    let names = json!({ "items": { "type": "string" }, "type": "array" });
    let name = json!({ "type": "string" });
    json!({
        "properties": {
            "annotations": strings, "finalizers": names, "labels": strings, "name": name, "namespace": name,
        },
        "type": "object",
    })
}

fn field_mut<'a>(schema: &'a mut Object, name: &str) -> Option<&'a mut Object> {
    let properties = schema.get_mut("properties")?;
    properties.get_mut(name)?.as_object_mut()
}

fn set(schema: &mut Object, key: &str, value: Value) {
    schema.insert(key.to_owned(), value);
}
