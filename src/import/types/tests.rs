//! The text of types, for CRDs with one construct each.

mod kubernetes;
mod odd;

use serde_json::{Value, json};

use super::*;
use crate::rust::tests::{assert_free_of_versions, modules_in_scope};

/// The import of a CRD with one version, whose `spec` has these fields.
fn of_fields(fields: &Value) -> Import {
    of_spec(&json!({ "type": "object", "properties": fields }))
}

fn of_spec(spec: &Value) -> Import {
    let schema = json!({ "type": "object", "required": ["spec"], "properties": { "spec": spec } });
    types(&[&crd("Foo", &[("v1", schema)])], &Hints::new())
}

fn crd(kind: &str, versions: &[(&str, Value)]) -> Value {
    let versions = versions.iter().enumerate().map(|(at, (name, schema))| {
        json!({
            "name": name, "served": true, "storage": at == 0, "schema": { "openAPIV3Schema": schema },
        })
    });
    json!({
        "metadata": { "name": "foos.example.com" },
        "spec": {
            "group": "example.com",
            "names": { "kind": kind, "plural": "foos", "singular": "foo" },
            "scope": "Namespaced",
            "versions": versions.collect::<Vec<_>>(),
        },
    })
}

#[track_caller]
fn assert_has(import: &Import, wanted: &[&str]) {
    let text = &import.kinds[0].types;
    for one in wanted {
        assert!(text.contains(one), "{one}\nis not in\n{text}");
    }
}

#[test]
fn scalars_have_the_words_of_the_markers() {
    let import = of_fields(&json!({
        "name": { "type": "string", "maxLength": 3, "minLength": 1, "pattern": "^a\\.b$" },
        "count": { "type": "integer", "format": "int32", "minimum": 1, "multipleOf": 5 },
        "big": { "type": "integer", "maximum": 5_000_000_000_i64 },
        "ratio": { "type": "number", "maximum": 1.5, "exclusiveMaximum": true },
        "mail": { "type": "string", "format": "email" },
        "since": { "type": "string", "format": "date-time" },
        "on": { "type": "boolean", "description": "Whether it is on.\n\nSecond." },
    }));
    assert_has(
        &import,
        &[
            r#"#[schemars(length(min = 1, max = 3), regex(pattern = r"^a\.b$"))]"#,
            "pub name: Option<String>,",
            r#"#[schemars(range(min = 1), extend("multipleOf" = 5))]"#,
            "pub count: Option<i32>,",
            r#"#[schemars(extend("maximum" = 5000000000_i64, "format" = null))]"#,
            r#"#[schemars(range(max = 1.5), extend("exclusiveMaximum" = true, "format" = null))]"#,
            r#"#[schemars(extend("format" = "email"))]"#,
            "    #[schemars(with = \"Option<meta::Time>\")]\n    #[serde(default, skip_serializing_if = \"Option::is_none\")]\n    pub since: Option<jiff::Timestamp>,",
            "    /// Whether it is on.\n    ///\n    /// Second.\n",
        ],
    );
}

#[test]
fn presence_null_and_defaults() {
    let import = of_spec(&json!({
        "type": "object",
        "required": ["needed", "null"],
        "properties": {
            "needed": { "type": "string" },
            "null": { "type": "string", "nullable": true },
            "maybe": { "type": "string", "nullable": true },
            "size": { "type": "integer", "format": "int32", "default": 3 },
            "mode": { "type": "string", "enum": ["Fast", "slow-er"], "default": "slow-er" },
            "names": { "type": "array", "items": { "type": "string" }, "default": ["a"] },
        },
    }));
    assert_has(
        &import,
        &[
            "    pub needed: String,",
            "    #[schemars(required, extend(\"nullable\" = true))]\n    pub null: Option<String>,",
            "    #[schemars(extend(\"nullable\" = true))]\n    #[serde(default, skip_serializing_if = \"Option::is_none\")]\n    pub maybe: Option<String>,",
            "    #[serde(default = \"FooSpec::default_size\")]\n    pub size: i32,",
            "    fn default_mode() -> FooMode {\n        FooMode::SlowEr\n    }",
            "    #[serde(rename = \"slow-er\")]\n    SlowEr,",
            "    #[schemars(extend(\"default\" = [\"a\"]))]\n    #[serde(default, skip_serializing_if = \"Option::is_none\")]\n    pub names: Option<Vec<String>>,",
            "impl Default for FooSpec {",
            "            size: Self::default_size(),",
        ],
    );
}

#[test]
fn lists_maps_and_what_is_between_them() {
    let import = of_fields(&json!({
        "words": { "type": "array", "maxItems": 2, "items": { "type": "string", "maxLength": 3 } },
        "ports": {
            "type": "array", "items": { "type": "object", "properties": { "port": { "type": "integer", "format": "int64" } } },
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"],
        },
        "labels": { "type": "object", "additionalProperties": { "type": "string" } },
        "limits": { "type": "object", "additionalProperties": { "type": "string", "maxLength": 3 } },
        "nulls": { "type": "array", "items": { "type": "boolean", "nullable": true } },
        "any": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
        "either": { "x-kubernetes-int-or-string": true, "anyOf": [{ "type": "integer" }, { "type": "string" }] },
        "open": { "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": { "a": { "type": "string" } } },
    }));
    assert_has(
        &import,
        &[
            "#[schemars(length(max = 2), inner(length(max = 3)))]",
            "pub ports: Option<Vec<FooPorts>>,",
            r#""x-kubernetes-list-map-keys" = ["port"]"#,
            "pub labels: Option<BTreeMap<String, String>>,",
            r#"extend("additionalProperties" = { "type": "string", "maxLength": 3 })"#,
            "pub nulls: Option<Vec<Option<bool>>>,",
            "pub any: Option<serde_json::Value>,",
            // Only of a CRD of controller-gen, it is known that these have 32 bits.
            "pub either: Option<serde_json::Value>,",
            "    #[schemars(skip)]\n    #[serde(flatten)]\n    pub other: BTreeMap<String, serde_json::Value>,",
        ],
    );
}

#[test]
fn names_are_free_and_valid() {
    let text = json!({ "type": "string" });
    let import = of_fields(&json!({
        "type": text, "podCIDR": text, "podCidr": text, "1st": text, "$ref": text, "self": text, "a-b": text,
        "mode": { "type": "string", "enum": ["", "a-b", "a_b", "Self", "1"] },
        "list": { "type": "object", "properties": { "a": text } },
        "status": { "type": "object", "properties": { "b": text } },
    }));
    assert_has(
        &import,
        &[
            "    #[serde(default, skip_serializing_if = \"Option::is_none\")]\n    pub type_: Option<String>,",
            "pub pod_cidr: Option<String>,",
            "pub pod_cidr_2: Option<String>,",
            "pub field_1st: Option<String>,",
            "pub ref_: Option<String>,",
            "pub self_: Option<String>,",
            "pub a_b: Option<String>,",
            "    Empty,",
            "    AB,",
            "    AB2,",
            "    Self_,",
            "    Value1,",
            // `FooList` and `FooStatus` are names of the kind.
            "pub struct FooList2 {",
            "pub struct FooStatus2 {",
        ],
    );
}

#[test]
fn a_description_stays_text() {
    let field = |text: &str| json!({ "type": "string", "description": text });
    let import = of_fields(&json!({
        "a": field("# Not a title"), "b": field("Such as:\n\n    let code;"), "c": field("Ends */ and {{ x }}"),
        "d": field("Turns \u{202e}around"),
    }));
    assert_has(
        &import,
        &[
            r##"description = "# Not a title""##,
            r#"description = "Such as:\n\n    let code;""#,
            "/// Ends */ and {{ x }}",
            r#"description = "Turns \u{202e}around""#,
        ],
    );
}

#[test]
fn equal_structs_are_one_across_versions() {
    let part = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let schema = |other: &Value| {
        json!({ "type": "object", "required": ["spec"], "properties": { "spec": {
            "type": "object", "properties": { "one": part, "two": part, "three": other },
        } } })
    };
    let other = json!({ "type": "object", "properties": { "a": { "type": "boolean" } } });
    let crd = crd("Foo", &[("v1beta1", schema(&other)), ("v1", schema(&part))]);
    let import = types(&[&crd], &Hints::new());
    let [beta, stable] = [0, 1].map(|at| &import.kinds[at].types);
    assert!(stable.contains("pub struct FooOne {"), "{stable}");
    assert!(stable.contains("pub three: Option<FooOne>,"), "{stable}");
    assert!(beta.contains("use super::super::v1;"), "{beta}");
    assert!(beta.contains("pub two: Option<v1::FooOne>,"), "{beta}");
    assert!(beta.contains("pub struct FooThree {"), "{beta}");
    assert!(!beta.contains("pub struct FooOne"), "{beta}");
}

#[test]
fn a_kind_is_as_its_crd_says() {
    let spec = json!({ "type": "object", "properties": { "replicas": { "type": "integer", "format": "int32" } } });
    let schema = json!({
        "type": "object",
        "description": "A Foo.",
        "properties": { "spec": spec, "operation": { "type": "string" }, "status": { "type": "object", "properties": {} } },
        "x-kubernetes-validations": [{ "rule": "has(self.spec)", "message": "it needs a spec", "reason": "FieldValueRequired" }],
    });
    let mut crd = crd("Foo", &[("v1", schema)]);
    crd["metadata"]["annotations"] = json!({ "api-approved.kubernetes.io": "https://example.com", "controller-gen.kubebuilder.io/version": "v1" });
    crd["spec"]["names"]["shortNames"] = json!(["fo"]);
    let version = &mut crd["spec"]["versions"][0];
    version["deprecated"] = json!(true);
    version["served"] = json!(false);
    version["subresources"] = json!({ "status": {} });
    version["additionalPrinterColumns"] =
        json!([{ "name": "R", "type": "integer", "jsonPath": ".spec.replicas", "priority": 1 }]);
    let import = types(&[&crd], &Hints::new());
    assert!(import.kinds[0].is_approved);
    assert_has(
        &import,
        &[
            "    shortname = \"fo\",\n    namespaced,\n    no_spec,\n    status = \"FooStatus\",\n    doc = \"A Foo.\",",
            "    served = false,\n    deprecated,\n    annotation(\"api-approved.kubernetes.io\", \"https://example.com\"),",
            "        json_path = \".spec.replicas\",\n        priority = 1\n    )\n)]",
            r#"#[kube(validation = Rule::new("has(self.spec)").message("it needs a spec").reason(Reason::FieldValueRequired))]"#,
            "pub struct FooBody {",
            "    pub spec: Option<FooSpec>,",
            "    pub operation: Option<String>,",
            "pub struct FooStatus {}",
        ],
    );
    assert!(!import.kinds[0].types.contains("controller-gen"));
}

#[test]
fn go_gives_names_and_an_order() {
    use crate::import::hints::{GoField, GoPackage, GoType};
    let field = |json: &str, type_name: &str| GoField {
        json: json.to_owned(),
        type_name: type_name.to_owned(),
        ..GoField::default()
    };
    let declared = |fields: Vec<GoField>| GoType {
        fields,
        ..GoType::default()
    };
    let package = GoPackage {
        types: [
            ("Foo".to_owned(), declared(vec![field("spec", "FooSpec")])),
            (
                "FooSpec".to_owned(),
                declared(vec![field("", "Inlined"), field("a", "")]),
            ),
            ("Inlined".to_owned(), declared(vec![field("z", "Zone")])),
            ("Zone".to_owned(), declared(vec![field("name", "")])),
        ]
        .into(),
    };
    let hints = [(("example.com".to_owned(), "v1".to_owned()), package)].into();
    let schema = json!({ "type": "object", "required": ["spec"], "properties": { "spec": {
        "type": "object", "properties": {
            "a": { "type": "string" },
            "z": { "type": "object", "properties": { "name": { "type": "string" } } },
        },
    } } });
    let import = types(&[&crd("Foo", &[("v1", schema)])], &hints);
    assert_has(&import, &["pub z: Option<Zone>,", "pub struct Zone {"]);
    let text = &import.kinds[0].types;
    assert!(text.find("pub z:") < text.find("pub a:"), "{text}");
}

#[test]
fn a_version_has_no_module_that_imported_types_use() {
    let fields = json!({
        "any": { "x-kubernetes-preserve-unknown-fields": true },
        "since": { "type": "string", "format": "date-time" },
        "level": { "type": "string", "default": "info" },
    });
    let mut modules = modules_in_scope(&of_fields(&fields).kinds[0].types);
    for known in ["kube", "schemars", "serde"] {
        assert!(modules.contains(known), "{known} in {modules:?}");
    }
    modules.extend(render::MODULES.iter().map(|(name, _)| (*name).to_owned()));
    assert_free_of_versions(&modules);
}
