//! Types of Kubernetes inside the types of a user.

use serde_json::{Value, json};

use super::{CRON_JOB, field, finish, shape, structural_schema, walk};

#[test]
fn a_quantity_has_its_pattern_and_the_users_description() {
    let pattern = concat!(
        r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))",
        r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
    );
    assert_eq!(
        field("v1::Foreign", "quantity"),
        json!({
            "anyOf": [{ "type": "integer" }, { "type": "string" }],
            "description": "How much, in the user's words.",
            "pattern": pattern,
            "x-kubernetes-int-or-string": true,
        })
    );
    // `#[serde(default)]` writes `""`, which the pattern does not match.
    assert_eq!(field("v1::Nulls", "plainQuantity").get("default"), None);
}

#[test]
fn int_or_string_and_times_are_described() {
    assert_eq!(
        field("v1::Foreign", "maybePort"),
        json!({
            "anyOf": [{ "type": "integer" }, { "type": "string" }],
            "description": "The user's words on the port.",
            "maximum": 2_147_483_647,
            "minimum": -2_147_483_648_i64,
            "x-kubernetes-int-or-string": true,
        })
    );
    let time = field("v1::Foreign", "time");
    assert_eq!(
        (&time["format"], &time["type"]),
        (&json!("date-time"), &json!("string"))
    );
    let pattern = time["pattern"].as_str().expect("a pattern");
    assert!(pattern.contains("T[0-9:]"), "{pattern}");
    assert_eq!(field("v1::Foreign", "microTime"), time);
}

#[test]
fn an_embedded_object_keeps_what_a_user_writes() {
    let strings = json!({ "additionalProperties": { "type": "string" }, "type": "object" });
    assert_eq!(
        field("v1::Foreign", "metadata"),
        json!({
            "properties": {
                "annotations": strings,
                "finalizers": {
                    "items": { "type": "string" },
                    "type": "array",
                    "x-kubernetes-list-type": "set",
                },
                "labels": strings,
                "name": { "type": "string" },
                "namespace": { "type": "string" },
            },
            "type": "object",
        })
    );
    assert_eq!(
        field("v1::Foreign", "raw"),
        json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
    );
}

/// The schema of a field of the pods of a CronJob.
fn of_pod(pointer: &str) -> Value {
    let schema = finish(CRON_JOB, "v1::CronJob").expect("the tutorial's type is fine");
    let mut node = schema;
    let pod = "spec.jobTemplate.spec.template.spec.";
    for name in (pod.to_owned() + pointer).split('.') {
        node = match name {
            "[]" => node["items"].take(),
            name => node["properties"][name].take(),
        };
    }
    node
}

#[test]
fn lists_and_maps_of_kubernetes_merge_as_in_its_own_objects() {
    let containers = of_pod("containers");
    assert_eq!(containers["x-kubernetes-list-type"], json!("map"));
    assert_eq!(containers["x-kubernetes-list-map-keys"], json!(["name"]));
    let ports = of_pod("containers.[].ports");
    assert_eq!(
        ports["x-kubernetes-list-map-keys"],
        json!(["containerPort", "protocol"])
    );
    assert_eq!(
        of_pod("containers.[].ports.[].protocol"),
        json!({ "default": "TCP", "type": "string" })
    );
    let command = of_pod("containers.[].command");
    assert_eq!(command["x-kubernetes-list-type"], json!("atomic"));
    assert_eq!(command.get("x-kubernetes-list-map-keys"), None);
    assert_eq!(
        of_pod("nodeSelector"),
        json!({
            "additionalProperties": { "type": "string" },
            "type": "object",
            "x-kubernetes-map-type": "atomic",
        })
    );
}

#[test]
fn a_field_with_a_default_is_not_required() {
    assert_eq!(
        of_pod("imagePullSecrets"),
        json!({
            "items": {
                "properties": { "name": { "default": "", "type": "string" } },
                "type": "object",
                "x-kubernetes-map-type": "atomic",
            },
            "type": "array",
            "x-kubernetes-list-map-keys": ["name"],
            "x-kubernetes-list-type": "map",
        })
    );
}

#[test]
fn the_metadata_of_an_embedded_object_is_not_required() {
    let metadata = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    let claim = "io.k8s.api.core.v1.PersistentVolumeClaim";
    let root = json!({
        "$defs": {
            metadata: { "type": "object" },
            claim: {
                "properties": { "metadata": { "$ref": format!("#/$defs/{metadata}") } },
                "required": ["metadata"],
                "type": "object",
            },
        },
        "properties": { "claim": { "$ref": format!("#/$defs/{claim}") } },
        "type": "object",
    });
    let schema = structural_schema(&root, &root).expect("it is structural");
    assert_eq!(schema["properties"]["claim"].get("required"), None);
}

#[test]
fn a_list_whose_key_may_be_missing_does_not_merge() {
    let account = "io.k8s.api.core.v1.ServiceAccount";
    let reference = json!({ "properties": { "name": { "type": "string" } }, "type": "object" });
    let root = json!({
        "$defs": { account: {
            "properties": {
                "secrets": { "items": reference, "type": "array" },
                "imagePullSecrets": {
                    "items": {
                        "properties": { "name": { "type": "string" } },
                        "required": ["name"],
                        "type": "object",
                    },
                    "type": "array",
                },
            },
            "type": "object",
        } },
        "properties": { "account": { "$ref": format!("#/$defs/{account}") } },
        "type": "object",
    });
    let schema = structural_schema(&root, &root).expect("it is structural");
    let lists = &schema["properties"]["account"]["properties"];
    assert_eq!(lists["secrets"].get("x-kubernetes-list-type"), None);
    assert_eq!(lists["secrets"].get("x-kubernetes-list-map-keys"), None);
    assert_eq!(
        lists["imagePullSecrets"]["x-kubernetes-list-type"],
        json!("atomic")
    );
}

#[test]
fn conditions_have_limits_and_merge_by_type() {
    let list = field("v1::Foreign", "conditions");
    assert_eq!(list["description"], json!("The user's conditions."));
    assert_eq!(list["x-kubernetes-list-type"], json!("map"));
    assert_eq!(list["x-kubernetes-list-map-keys"], json!(["type"]));
    let properties = &list["items"]["properties"];
    assert_eq!(
        properties["status"],
        json!({ "enum": ["True", "False", "Unknown"], "type": "string" })
    );
    assert_eq!(
        properties["observedGeneration"],
        json!({ "format": "int64", "minimum": 0, "type": "integer" })
    );
    assert_eq!(
        properties["message"],
        json!({ "maxLength": 32768, "type": "string" })
    );
    assert_eq!(properties["reason"]["maxLength"], json!(1024));
    assert_eq!(properties["type"]["maxLength"], json!(316));
}

#[test]
fn the_list_type_of_the_user_wins() {
    let list = field("v1::Foreign", "atomicConditions");
    assert_eq!(list["x-kubernetes-list-type"], json!("atomic"));
    assert_eq!(list.get("x-kubernetes-list-map-keys"), None);
}

#[test]
fn only_the_users_descriptions_are_kept() {
    let schema = finish(CRON_JOB, "v1::CronJob").expect("the tutorial's type is fine");
    let mut described = Vec::new();
    walk(&schema, "", &mut |path, schema| {
        if schema.get("description").is_some() {
            described.push(path.to_owned());
        }
    });
    assert_eq!(
        described,
        [
            "",
            ".spec",
            ".spec.concurrencyPolicy",
            ".spec.failedJobsHistoryLimit",
            ".spec.jobTemplate",
            ".spec.schedule",
            ".spec.startingDeadlineSeconds",
            ".spec.successfulJobsHistoryLimit",
            ".spec.suspend",
            ".status",
            ".status.active",
            ".status.conditions",
            ".status.lastScheduleTime",
        ]
    );
    assert_eq!(
        schema["description"],
        json!("The desired state of a CronJob.")
    );
    assert_eq!(schema.get("title"), None);
}

#[test]
fn the_description_of_the_kind_takes_precedence_over_that_of_its_spec() {
    assert_eq!(
        shape("v1::Bare")["description"],
        json!("The user's words on the kind.")
    );
    assert_eq!(shape("v1::Nulls").get("description"), None);
}
