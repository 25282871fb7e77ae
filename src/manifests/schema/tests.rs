//! The finishing pass on the output of crdgen for real types, one kind for each family of shapes.
//!
//! In the fixtures under `tests/data/crdgen` the descriptions of Kubernetes' types are shortened, and
//! the definitions of those types are omitted from `serialize`, where nothing uses them.

mod foreign;
mod refused;
mod said;
mod server;

use serde_json::{Value, json};

use super::{Reason, Refusal};

const SHAPES: &str = include_str!("../../../tests/data/crdgen/shapes.json");
const CRON_JOB: &str = include_str!("../../../tests/data/crdgen/cronjob.json");

fn structural_schema(serialize: &Value, deserialize: &Value) -> Result<Value, Vec<Refusal>> {
    super::structural_schema(serialize, deserialize).map(|structural| structural.schema)
}

fn finish(fixture: &str, name: &str) -> Result<Value, Vec<Refusal>> {
    let entries: Vec<Value> = serde_json::from_str(fixture).expect("fixtures are JSON");
    let entry = entries.iter().find(|entry| entry["type"] == name);
    let entry = entry.expect("the fixture has the type");
    structural_schema(&entry["serialize"], &entry["deserialize"])
}

fn shape(name: &str) -> Value {
    finish(SHAPES, name).expect("the shape is fine")
}

/// The schema of a field of the spec.
fn field(name: &str, field: &str) -> Value {
    shape(name)["properties"]["spec"]["properties"][field].clone()
}

/// Calls `visit` on each schema with its path.
fn walk(schema: &Value, path: &str, visit: &mut impl FnMut(&str, &Value)) {
    visit(path, schema);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        walk(property, &format!("{path}.{name}"), visit);
    }
    for key in ["items", "additionalProperties"] {
        if schema[key].is_object() {
            walk(&schema[key], &format!("{path}[]"), visit);
        }
    }
}

#[test]
fn an_unsigned_number_has_bounds_and_no_format() {
    assert_eq!(
        field("v1::Numbers", "tiny"),
        json!({ "maximum": 255, "minimum": 0, "type": "integer" })
    );
    assert_eq!(
        field("v1::Numbers", "medium"),
        json!({ "maximum": 4_294_967_295_u32, "minimum": 0, "type": "integer" })
    );
    assert_eq!(
        field("v1::Numbers", "size"),
        json!({ "minimum": 0, "type": "integer" })
    );
}

#[test]
fn a_known_format_stays() {
    assert_eq!(
        field("v1::Numbers", "int"),
        json!({ "format": "int32", "type": "integer" })
    );
    assert_eq!(
        field("v1::Numbers", "double"),
        json!({ "format": "double", "type": "number" })
    );
}

/// What the bounds accept is tried on the API server, in `tests/schemas/crds/strings.rs`.
#[test]
fn a_format_that_the_api_server_reads_differently_is_bounded() {
    let ip = field("v1::Numbers", "ip");
    assert_eq!(ip["type"], json!("string"));
    assert_eq!(ip.get("format"), None);
    let v4 = field("v1::Numbers", "v4");
    assert_eq!(
        ip["anyOf"],
        json!([
            { "format": "ipv4", "pattern": v4["pattern"] },
            { "format": "ipv6" },
        ])
    );
}

#[test]
fn the_bounds_of_the_user_stay() {
    let bounded = [
        json!({ "format": "ipv4", "pattern": "^10[.]", "type": "string" }),
        json!({ "enum": ["10.0.0.1"], "format": "ipv4", "type": "string" }),
    ];
    let root = json!({
        "properties": { "a": bounded[0], "b": bounded[1] },
        "type": "object",
    });
    let schema = structural_schema(&root, &root).expect("it is structural");
    for (name, mut bounded) in ["a", "b"].into_iter().zip(bounded) {
        bounded["minItems"] = json!(1);
        bounded["maxItems"] = json!(0);
        assert_eq!(schema["properties"][name], bounded);
    }
}

/// The API server alone accepts any list there, as tried in `tests/schemas/crds/strings.rs`.
#[test]
fn a_list_is_refused_in_place_of_a_string_with_a_format() {
    for (field, is_bounded) in [
        (json!({ "type": "string", "format": "uuid" }), true),
        (json!({ "type": "string", "format": "of-its-own" }), false),
        (json!({ "type": "string" }), false),
        (json!({ "type": "integer", "format": "int32" }), false),
    ] {
        let root = json!({ "type": "object", "properties": { "field": field } });
        let schema = structural_schema(&root, &root).expect("it is structural");
        let bounds =
            ["minItems", "maxItems"].map(|key| schema["properties"]["field"].get(key).cloned());
        let expected = if is_bounded {
            [Some(json!(1)), Some(json!(0))]
        } else {
            [None, None]
        };
        assert_eq!(bounds, expected, "{field}");
    }
}

#[test]
fn an_integral_bound_of_a_float_is_an_integer() {
    let percent = field("v1::Numbers", "percent").to_string();
    assert_eq!(
        percent,
        r#"{"format":"double","maximum":100,"minimum":0.5,"type":"number"}"#
    );
}

#[test]
fn an_option_that_is_omitted_when_empty_is_not_null() {
    assert_eq!(field("v1::Nulls", "never"), json!({ "type": "string" }));
    assert_eq!(
        field("v1::Nulls", "defaulted"),
        json!({ "enum": ["Slow", "Fast"], "type": "string" })
    );
    for name in ["neverStruct", "quantity", "plainQuantity"] {
        assert_eq!(field("v1::Nulls", name).get("nullable"), None, "{name}");
    }
}

#[test]
fn an_option_that_is_always_written_may_be_null() {
    assert_eq!(
        field("v1::Nulls", "always"),
        json!({ "nullable": true, "type": "string" })
    );
    assert_eq!(
        // The API server refuses null beside an `enum`, and drops it here.
        field("v1::Nulls", "alwaysMode"),
        json!({ "enum": ["Slow", "Fast"], "type": "string" })
    );
    for name in ["alwaysStruct", "alwaysQuantity", "list"] {
        assert_eq!(field("v1::Nulls", name)["nullable"], json!(true), "{name}");
    }
}

#[test]
fn an_element_may_be_null_if_its_type_is_an_option() {
    assert_eq!(
        field("v1::Nulls", "elements")["items"],
        json!({ "nullable": true, "type": "string" })
    );
    assert_eq!(
        field("v1::Nulls", "values")["additionalProperties"]["nullable"],
        json!(true)
    );
}

#[test]
fn a_null_default_is_dropped_and_another_kept() {
    assert_eq!(
        field("v1::Corners", "nothing"),
        json!({ "nullable": true, "type": "string" })
    );
    assert_eq!(
        field("v1::Corners", "defaults")["properties"]["count"],
        json!({ "default": 0, "format": "int32", "type": "integer" })
    );
}

#[test]
fn a_template_is_structural_to_its_leaves() {
    let schema = finish(CRON_JOB, "v1::CronJob").expect("the tutorial's type is fine");
    let mut nodes = 0;
    walk(&schema, "", &mut |path, schema| {
        nodes += 1;
        let free = schema.get("x-kubernetes-int-or-string").is_some();
        assert!(free || schema["type"].is_string(), "{path} has no type");
        assert_eq!(schema.get("$ref"), None, "{path}");
        assert_eq!(schema.get("nullable"), None, "{path}");
        assert_eq!(schema.get("x-kbr-part"), None, "{path}");
    });
    assert_eq!(nodes, 1343);
}

#[test]
fn enums_become_values_or_alternatives() {
    assert_eq!(
        finish(CRON_JOB, "v1::CronJob").expect("fine")["properties"]["spec"]["properties"]["concurrencyPolicy"],
        json!({
            "default": "Allow",
            "description": "What to do with concurrent runs.",
            "enum": ["Allow", "Forbid", "Replace"],
            "type": "string",
        })
    );
    assert_eq!(
        field("v1::Enums", "structs"),
        json!({
            "anyOf": [{ "required": ["a"] }, { "required": ["b"] }],
            "properties": {
                "a": { "type": "string" },
                "b": { "format": "int32", "type": "integer" },
            },
            "type": "object",
        })
    );
}

#[test]
fn the_description_of_a_variant_moves_to_its_field() {
    let data = field("v1::Enums", "data");
    assert_eq!(
        data["oneOf"],
        json!([{ "required": ["recreate"] }, { "required": ["rolling"] }])
    );
    let rolling = &data["properties"]["rolling"];
    assert_eq!(rolling["description"], json!("One after the other."));
    // `Written` looks into the variants: one `Option` is always written, one is not.
    assert_eq!(rolling["properties"]["maxSurge"]["nullable"], json!(true));
    assert_eq!(rolling["properties"]["pause"].get("nullable"), None);
}

#[test]
fn flattened_enums_restrict_the_struct() {
    let spec = shape("v1::TwoFlat")["properties"]["spec"].clone();
    assert_eq!(
        spec["anyOf"],
        json!([{ "required": ["a"] }, { "required": ["b"] }])
    );
    assert_eq!(
        spec["oneOf"],
        json!([{ "required": ["one"] }, { "required": ["two"] }])
    );
    let names: Vec<_> = spec["properties"]
        .as_object()
        .expect("fields")
        .keys()
        .collect();
    assert_eq!(names, ["a", "b", "one", "two"]);
}

#[test]
fn maps_of_json_values_keep_them() {
    let anything = json!({ "x-kubernetes-preserve-unknown-fields": true });
    assert_eq!(
        field("v1::Maps", "anything"),
        json!({ "additionalProperties": anything, "type": "object" })
    );
    assert_eq!(field("v1::Maps", "free"), anything);
    assert_eq!(field("v1::Maps", "empty"), json!({ "type": "object" }));
    let open = &shape("v1::Open")["properties"]["spec"];
    assert_eq!(open["x-kubernetes-preserve-unknown-fields"], json!(true));
}

#[test]
fn rules_and_merge_strategies_pass_through() {
    assert_eq!(
        shape("v1::Rules")["x-kubernetes-validations"],
        json!([{ "rule": "self.metadata.name == 'one'" }])
    );
    let inners = field("v1::Rules", "inners");
    assert_eq!(inners["x-kubernetes-list-type"], json!("map"));
    assert_eq!(inners["x-kubernetes-list-map-keys"], json!(["name"]));
    // kube writes `x-kubernetes-struct-type` here, which no API server knows.
    assert_eq!(
        field("v1::Rules", "inner")["x-kubernetes-map-type"],
        json!("atomic")
    );
}

#[test]
fn a_hand_written_schema_may_use_int_or_string() {
    let port = json!({
        "anyOf": [{ "type": "integer" }, { "type": "string" }],
        "maximum": 65535,
        "x-kubernetes-int-or-string": true,
    });
    let root = json!({ "properties": { "port": port }, "type": "object" });
    let schema = structural_schema(&root, &root).expect("it is structural");
    assert_eq!(schema["properties"]["port"], port);
}

#[test]
fn null_in_a_variant_belongs_to_the_whole_field() {
    let variants = json!([
        { "anyOf": [{ "$ref": "#/$defs/Named%20Thing" }, { "type": "null" }] },
        { "properties": { "b": { "type": "string" } }, "type": "object" },
    ]);
    let named = json!({ "properties": { "a": { "type": "string" } }, "type": "object" });
    let root = json!({
        "$defs": { "Named Thing": named },
        "properties": { "either": { "anyOf": variants } },
        "required": ["either"],
        "type": "object",
    });
    let schema = structural_schema(&root, &root).expect("it is structural");
    assert_eq!(
        schema["properties"]["either"],
        json!({
            "anyOf": [{}, {}],
            "nullable": true,
            "properties": { "a": { "type": "string" }, "b": { "type": "string" } },
            "type": "object",
        })
    );
}

#[test]
fn an_exclusive_bound_is_a_flag() {
    let root = |exclusive: Value| {
        let half = json!({
            "exclusiveMinimum": exclusive, "maximum": 1.0, "minimum": 0.0, "type": "number",
        });
        json!({ "properties": { "half": half }, "type": "object" })
    };
    let flag = root(json!(true));
    let schema = structural_schema(&flag, &flag).expect("it is structural");
    assert_eq!(
        schema["properties"]["half"].to_string(),
        r#"{"exclusiveMinimum":true,"maximum":1,"minimum":0,"type":"number"}"#
    );
    // kube's `crd()` panics on it.
    let number = root(json!(0));
    let refusals = structural_schema(&number, &number).expect_err("it is a number");
    assert_eq!(refusals[0].reason, Reason::ExclusiveNumber);
}

#[test]
fn a_set_of_scalars_is_a_set() {
    assert_eq!(
        field("v1::Maps", "set"),
        json!({ "items": { "type": "string" }, "type": "array", "x-kubernetes-list-type": "set" })
    );
    let of = |items: Value| json!({ "items": items, "type": "array", "uniqueItems": true });
    let inner = json!({ "properties": { "a": { "type": "string" } }, "type": "object" });
    let mut atomic = of(json!({ "type": "string" }));
    atomic["x-kubernetes-list-type"] = json!("atomic");
    for (set, expected) in [
        (of(inner), None),
        (of(json!({ "type": ["string", "null"] })), None),
        (atomic, Some("atomic")),
    ] {
        let root = json!({ "properties": { "set": set }, "required": ["set"], "type": "object" });
        let schema = structural_schema(&root, &root).expect("it is structural");
        let found = schema["properties"]["set"].get("x-kubernetes-list-type");
        assert_eq!(found.and_then(Value::as_str), expected, "{root}");
    }
}

#[test]
fn a_heading_alone_is_the_description() {
    let spec = |field: Value| {
        let root = json!({ "properties": { "field": field }, "type": "object" });
        let schema = structural_schema(&root, &root).expect("it is structural");
        schema["properties"]["field"].clone()
    };
    let heading = json!({ "title": "How long", "type": "string" });
    assert_eq!(
        spec(heading),
        json!({ "description": "How long", "title": "How long", "type": "string" })
    );
    let both = json!({ "description": "In words.", "title": "How long", "type": "string" });
    assert_eq!(spec(both.clone()), both);
}
