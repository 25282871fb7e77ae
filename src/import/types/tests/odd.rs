//! What nobody would write by hand, and some generators do.

use serde_json::{Value, json};

use super::{assert_has, conversion, crd, of_fields, types};
use crate::import::hints::Hints;

#[test]
fn null_is_one_thing_and_absence_another_only_with_a_default() {
    let import = of_fields(&json!({
        "text": { "type": "string", "nullable": true },
        "preset": { "type": "string", "nullable": true, "default": "a" },
        "color": { "type": "string", "enum": ["red", null], "nullable": true },
        "part": { "type": "object", "nullable": true, "properties": { "a": { "type": "string" } } },
    }));
    assert_has(
        &import,
        &[
            "    #[schemars(extend(\"nullable\" = true))]\n    #[serde(default, skip_serializing_if = \"Option::is_none\")]\n    pub text: Option<String>,",
            // Null is stored, so it is written.
            "    #[serde(default)]\n    pub preset: Option<String>,",
            // Beside listed values, an API server refuses null.
            "    #[serde(default, skip_serializing_if = \"Option::is_none\")]\n    pub color: Option<FooColor>,",
            "    #[schemars(extend(\"nullable\" = true))]\n    #[serde(default, skip_serializing_if = \"Option::is_none\")]\n    pub part: Option<FooPart>,",
        ],
    );
    assert!(!import.kinds[0].types.contains("Null"));
}

#[test]
fn formats_are_as_wide_as_api_servers_read_them() {
    let import = of_fields(&json!({
        "time": { "type": "string", "format": "date-time", "maxLength": 30 },
        "times": { "type": "object", "additionalProperties": { "type": "string", "format": "date-time" } },
        "address": { "type": "string", "format": "ipv4" },
        "other": { "type": "string", "format": "ip" },
        "small": { "type": "integer", "format": "uint32" },
        "float": { "type": "number", "format": "float" },
    }));
    assert_has(
        &import,
        &[
            r#"#[schemars(length(max = 30), extend("pattern" = null, "format" = "date-time"))]"#,
            r#"#[schemars(with = "Option<BTreeMap<String, meta::Time>>")]"#,
            "pub times: Option<BTreeMap<String, jiff::Timestamp>>,",
            r#"#[schemars(extend("pattern" = null, "format" = "ipv4"))]"#,
            "    #[serde(default, skip_serializing_if = \"Option::is_none\")]\n    pub other: Option<String>,",
            r#"#[schemars(extend("format" = null))]"#,
            r#"#[schemars(extend("format" = "float", "x-kbr-float" = true))]"#,
        ],
    );
}

#[test]
fn floats_and_odd_names_are_said_to_be_meant() {
    let double = json!({ "type": "number", "format": "double" });
    let object = json!({ "type": "object", "properties": { "deep": double } });
    let import = of_fields(&json!({
        "plain": { "type": "number" },
        "ratio": double,
        "list": { "type": "array", "items": double },
        "map": { "type": "object", "additionalProperties": { "type": "array", "items": double } },
        "inner": object,
        "odd": { "type": "array", "items": { "type": "object", "properties": { "x": double }, "minProperties": 1 } },
        "max_size": { "type": "string" },
    }));
    let text = &import.kinds[0].types;
    let above = |field: &str| {
        let at = text.find(&format!("    pub {field}:")).expect(field);
        let before = text[..at].rsplit_once(',').map_or("", |(before, _)| before);
        text[before.rfind("pub ").unwrap_or(0)..at].contains("\"x-kbr-float\" = true")
    };
    for (field, is_float) in [
        ("plain", false),
        ("ratio", true),
        ("list", true),
        ("map", true),
        ("inner", false),
        ("deep", true),
        ("max_size", false),
    ] {
        assert_eq!(above(field), is_float, "{field}: {text}");
    }
    assert!(text.contains(r#"rename = "max_size""#), "{text}");
}

#[test]
fn an_integer_or_a_string_may_have_64_bits_unless_go_wrote_it() {
    let either = json!({ "x-kubernetes-int-or-string": true, "anyOf": [{ "type": "integer" }, { "type": "string" }] });
    let narrow = json!({ "x-kubernetes-int-or-string": true, "minimum": 0, "maximum": 65535 });
    let import = of_fields(&json!({ "either": either, "narrow": narrow }));
    assert_has(
        &import,
        &[
            "pub either: Option<serde_json::Value>,",
            "pub narrow: Option<intstr::IntOrString>,",
        ],
    );
    assert!(
        import
            .warnings
            .iter()
            .any(|it| it.contains("Foo spec.either")),
        "{:?}",
        import.warnings
    );
    let schema = json!({ "type": "object", "required": ["spec"], "properties": { "spec": {
        "type": "object", "properties": { "either": either },
    } } });
    let mut of_go = crd("Foo", &[("v1", schema)]);
    of_go["metadata"]["annotations"] =
        json!({ "controller-gen.kubebuilder.io/version": "v0.18.0" });
    let import = types(&[&of_go], &Hints::new());
    assert_has(&import, &["pub either: Option<intstr::IntOrString>,"]);
}

#[test]
fn a_status_may_have_no_schema_or_be_null() {
    for (status, expected) in [
        (Value::Null, "pub struct FooStatus {}"),
        (
            json!({ "type": "object", "nullable": true }),
            "#[schemars(extend(\"nullable\" = true))]\npub struct FooStatus {}",
        ),
    ] {
        let mut schema = json!({ "type": "object", "required": ["spec"], "properties": { "spec": { "type": "object" } } });
        if !status.is_null() {
            schema["properties"]["status"] = status;
        }
        let mut crd = crd("Foo", &[("v1", schema)]);
        crd["spec"]["versions"][0]["subresources"] = json!({ "status": {} });
        assert_has(
            &types(&[&crd], &Hints::new()),
            &["status = \"FooStatus\"", expected],
        );
    }
}

#[test]
fn what_kube_cannot_say_about_a_kind_is_told() {
    let schema = json!({
        "type": "object",
        "required": ["spec"],
        "properties": {
            "metadata": { "type": "object", "properties": { "name": { "type": "string", "maxLength": 9 } } },
            "spec": { "type": "object" },
        },
        "x-kubernetes-validations": [{ "rule": "true", "message": "no", "messageExpression": "'never'" }],
    });
    let mut crd = crd("Foo", &[("v1", schema.clone()), ("v2", schema)]);
    crd["spec"]["names"]["listKind"] = json!("Foos");
    crd["spec"]["conversion"] = json!({ "strategy": "Webhook" });
    let import = types(&[&crd], &Hints::new());
    assert_has(
        &import,
        &[
            r#"#[kube(validation = Rule::new("true").message(Message::Expression("'never'".to_owned())))]"#,
        ],
    );
    let told = import.warnings.join("\n");
    for part in [
        "example.com/v2 Foo: what the schema says about `metadata` is lost",
        "the rule `true` of the whole object keeps its messageExpression",
        "the list of example.com Foo was called Foos, and will be FooList",
    ] {
        assert!(told.contains(part), "{part}\nis not in\n{told}");
    }
    assert_eq!(
        conversion(&crd).as_deref(),
        Some("--kind Foo --version v1 --conversion --spoke v2")
    );
    let versions = crd["spec"]["versions"].as_array_mut();
    versions.expect("versions").truncate(1);
    assert_eq!(conversion(&crd), None, "one version is never converted");
}

#[test]
fn a_description_may_be_long_and_have_anything_in_it() {
    let long = "It ends */ here, {{ and }} there: \"quoted\" and `code`, \\ and #.\n".repeat(1600);
    assert!(long.len() > 100_000);
    let import = of_fields(&json!({ "a": { "type": "string", "description": long } }));
    let text = &import.kinds[0].types;
    assert_eq!(
        text.matches("/// It ends */ here, {{ and }} there").count(),
        1600
    );
}

/// The largest that an API server stores; larger ones are refused when they are read.
#[test]
fn a_schema_of_a_megabyte_is_imported() {
    let field = |at: usize| {
        let part = json!({ "type": "object", "properties": { "a": { "type": "integer", "maximum": at } } });
        (
            format!("field{at}"),
            json!({ "type": "array", "items": part, "description": "A part. ".repeat(20) }),
        )
    };
    let fields: Value = (0..4000).map(field).collect();
    assert!(fields.to_string().len() > 1_000_000);
    let import = of_fields(&fields);
    let text = &import.kinds[0].types;
    assert_eq!(text.matches("\npub struct ").count(), 4001);
}

#[test]
fn names_stay_when_a_crd_grows() {
    let part =
        |name: &str| json!({ "type": "object", "properties": { (name): { "type": "string" } } });
    let before = json!({ "b": part("one"), "list": { "type": "array", "items": part("two") } });
    let mut after = before.clone();
    after["a"] = part("three");
    after["b"]["properties"]["inner"] = part("four");
    after["c"] = json!({ "type": "object", "properties": { "a": part("five"), "b": part("six") } });
    let names = |fields: &Value| {
        let text = of_fields(fields).kinds.remove(0).types;
        let names = text
            .lines()
            .filter_map(|line| line.strip_prefix("pub struct "));
        names
            .map(|line| line.split(' ').next().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    let (before, after) = (names(&before), names(&after));
    assert_eq!(before, ["FooSpec", "FooB", "FooList2"]);
    for name in &before {
        assert!(after.contains(name), "{name} is not in {after:?}");
    }
}

/// Whichever comes first.
#[test]
fn kinds_may_have_the_same_status() {
    let schema = json!({
        "type": "object",
        "required": ["spec"],
        "properties": {
            "spec": { "type": "object" },
            "status": { "type": "object", "properties": { "phase": { "type": "string" } } },
        },
    });
    let of = |kind: &str| {
        let mut crd = crd(kind, &[("v1", schema.clone())]);
        crd["spec"]["versions"][0]["subresources"] = json!({ "status": {} });
        crd
    };
    let import = types(&[&of("FooClaim"), &of("Foo")], &Hints::new());
    assert_has(&import, &["pub type FooClaimStatus = super::FooStatus;"]);
    let text = &import.kinds[1].types;
    assert!(text.contains("pub struct FooStatus {"), "{text}");
}
