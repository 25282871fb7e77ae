//! Which schemas are types of Kubernetes.

use serde_json::{Value, json};

use super::super::kubernetes::{Kubernetes, later};

#[test]
fn types_of_kubernetes_are_recognised() {
    let kubernetes = Kubernetes::new();
    let selector = json!({
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "matchLabels": { "type": "object", "additionalProperties": { "type": "string" } },
            "matchExpressions": {
                "type": "array",
                "x-kubernetes-list-type": "atomic",
                "items": {
                    "type": "object",
                    "required": ["operator", "key"],
                    "properties": {
                        "key": { "type": "string", "description": "of an earlier Kubernetes" },
                        "operator": { "type": "string" },
                        "values": { "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "atomic" },
                    },
                },
            },
        },
    });
    assert_eq!(
        kubernetes.find(&selector).as_deref(),
        Some("meta::LabelSelector")
    );
    let mut other = selector.clone();
    other["properties"]["matchLabels"]["additionalProperties"]["maxLength"] = json!(63);
    assert_eq!(kubernetes.find(&other), None);
    let by_chance = json!({ "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] });
    assert_eq!(kubernetes.find(&by_chance), None);
    let quantity = json!({
        "anyOf": [{ "type": "integer" }, { "type": "string" }],
        "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
        "x-kubernetes-int-or-string": true,
    });
    assert_eq!(
        kubernetes.find(&quantity).as_deref(),
        Some("resource::Quantity")
    );
}

/// The schema that `kbr manifests` would write for a type, without descriptions.
fn schema_of(kubernetes: &Kubernetes, path: &str) -> Value {
    kubernetes.schema(path).expect(path).clone()
}

#[test]
fn every_field_that_was_added_exists_and_is_optional() {
    let kubernetes = Kubernetes::new();
    for (path, fields) in later() {
        let schema = schema_of(&kubernetes, path);
        for field in fields {
            assert!(schema["properties"].get(field).is_some(), "{path}.{field}");
            let mut required = schema["required"].as_array().into_iter().flatten();
            assert!(
                required.all(|name| name != field),
                "{path}.{field} is required"
            );
        }
    }
}

#[test]
fn a_crd_may_lack_what_a_later_kubernetes_added_and_nothing_else() {
    let kubernetes = Kubernetes::new();
    let whole = schema_of(&kubernetes, "corev1::PodSpec");
    let without = |pointer: &str, field: &str| {
        let mut schema = whole.clone();
        let fields = schema
            .pointer_mut(pointer)
            .and_then(Value::as_object_mut)
            .expect(pointer);
        assert!(fields.shift_remove(field).is_some(), "{field}");
        schema
    };
    assert_eq!(kubernetes.find(&whole).as_deref(), Some("corev1::PodSpec"));
    let container = "/properties/containers/items/properties";
    for (pointer, field) in [("/properties", "hostUsers"), (container, "resizePolicy")] {
        let found = kubernetes.find(&without(pointer, field));
        assert_eq!(found.as_deref(), Some("corev1::PodSpec"), "{field}");
    }
    for (pointer, field) in [("/properties", "hostNetwork"), (container, "lifecycle")] {
        let schema = without(pointer, field);
        assert_eq!(kubernetes.find(&schema), None, "{field}");
        let (path, difference) = kubernetes.nearly(&schema).expect("it is nearly one");
        assert_eq!(path, "corev1::PodSpec");
        assert!(difference.ends_with(&format!(".{field}")), "{difference}");
    }
}

#[test]
fn whatever_limits_other_values_is_no_type_of_kubernetes() {
    let kubernetes = Kubernetes::new();
    let whole = schema_of(&kubernetes, "corev1::Container");
    for (pointer, value) in [
        ("/properties/name/maxLength", json!(63)),
        ("/properties/name/nullable", json!(true)),
        ("/properties/name/default", json!("a")),
        ("/properties/imagePullPolicy/enum", json!(["Always"])),
        ("/properties/command/x-kubernetes-list-type", json!("set")),
        (
            "/properties/resources/x-kubernetes-preserve-unknown-fields",
            json!(true),
        ),
        ("/properties/own", json!({ "type": "string" })),
        ("/required", json!(["name", "image"])),
        (
            "/x-kubernetes-validations",
            json!([{ "rule": "has(self.image)" }]),
        ),
    ] {
        let mut schema = whole.clone();
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        let parent = schema
            .pointer_mut(parent)
            .and_then(Value::as_object_mut)
            .expect(pointer);
        parent.insert(key.to_owned(), value);
        assert_eq!(kubernetes.find(&schema), None, "{pointer}");
    }
    // The metadata of a template may lack fields, but not have others.
    let mut template = schema_of(&kubernetes, "corev1::PodTemplateSpec");
    let metadata = |keywords: Value| {
        let mut template = template.clone();
        template["properties"]["metadata"] = keywords;
        kubernetes.find(&template)
    };
    let found = Some("corev1::PodTemplateSpec".to_owned());
    assert_eq!(metadata(json!({ "type": "object" })), found);
    assert_eq!(
        metadata(json!({ "type": "object", "properties": { "name": { "type": "string" } } })),
        found
    );
    for other in [
        json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }),
        json!({ "type": "object", "properties": { "uid": { "type": "string" } } }),
        json!({ "type": "object", "properties": { "name": { "type": "string", "maxLength": 9 } } }),
    ] {
        assert_eq!(metadata(other.clone()), None, "{other}");
    }
    // What belongs to the field is not the type's.
    template["default"] = json!({});
    template["nullable"] = json!(true);
    assert_eq!(kubernetes.find(&template), found);
}

#[test]
fn of_two_types_it_is_the_one_without_more_fields() {
    let kubernetes = Kubernetes::new();
    let local = schema_of(&kubernetes, "corev1::TypedLocalObjectReference");
    assert_eq!(
        kubernetes.find(&local).as_deref(),
        Some("corev1::TypedLocalObjectReference")
    );
    let mut resources = schema_of(&kubernetes, "corev1::ResourceRequirements");
    resources["properties"]
        .as_object_mut()
        .expect("fields")
        .shift_remove("claims");
    resources["properties"]["limits"]["description"] = json!(
        "Limits describes the maximum amount of compute resources allowed. More info: https://kubernetes.io"
    );
    assert_eq!(
        kubernetes.find(&resources).as_deref(),
        Some("corev1::ResourceRequirements")
    );
}
