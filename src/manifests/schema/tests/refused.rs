//! What is refused, where, and with which message.

use serde_json::{Value, json};

use super::{Reason, finish, structural_schema};

const REFUSED: &str = include_str!("../../../../tests/data/crdgen/refused.json");

/// Path and reason of each refusal.
fn refused(name: &str) -> Vec<String> {
    let refusals = finish(REFUSED, name).expect_err("the shape is refused");
    refusals.iter().map(ToString::to_string).collect()
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases is long and plain")]
fn every_odd_shape_is_refused_at_its_field() {
    let cases: [(&str, &[&str]); 14] = [
        (
            "Tuple",
            &["`spec.pair` is a tuple", "`spec.list[]` is a tuple"],
        ),
        (
            "Scalar",
            &[
                "`spec.value` is an untagged",
                "`spec.inner.deep.*[]` is an untagged",
            ],
        ),
        (
            "AnyValue",
            &[
                "`spec.value` takes",
                "`spec.maybe` takes",
                "`spec.list[]` takes",
            ],
        ),
        (
            "Recursive",
            &["`spec.root.children[]` contains itself (`Tree`)"],
        ),
        (
            "FlatStrings",
            &["`spec` holds named fields and a flattened map"],
        ),
        (
            "Tagged",
            &[
                "`spec.shape` is an enum with the tag `kind`",
                "`spec.list[]` is an enum",
            ],
        ),
        ("Mixed", &["`spec.mixed` is an enum that mixes"]),
        (
            "Conflict",
            &["`spec.either` has variants that give the field `x`"],
        ),
        ("Keys", &["`spec.byNumber` is a map whose keys"]),
        ("Unit", &["`spec.unit` is always null"]),
        (
            "SchemaInSpec",
            &["`spec.schema.additionalItems` contains itself (`io.k8s."],
        ),
        (
            "Untagged",
            &[
                "`spec.a` is an unt",
                "`spec.b` is an unt",
                "`spec.c.Two` is a tuple",
            ],
        ),
        (
            "Panics",
            &[
                "`spec.strict` denies unknown fields",
                "`spec.worded` has variants",
            ],
        ),
        (
            "Many",
            &[
                "`spec.pair` ",
                "`spec.value` ",
                "`spec.shape` ",
                "`spec.scalar` ",
            ],
        ),
    ];
    for (name, beginnings) in cases {
        // Without `preserve_order` in the user's crate, crdgen prints fields sorted by name.
        let mut refusals = refused(&format!("v1::{name}"));
        let mut beginnings = beginnings.to_vec();
        refusals.sort_unstable();
        beginnings.sort_unstable();
        assert_eq!(refusals.len(), beginnings.len(), "{refusals:?}");
        for (refusal, beginning) in refusals.iter().zip(beginnings) {
            assert!(refusal.starts_with(beginning), "{refusal}");
        }
    }
}

#[test]
fn a_refusal_says_what_to_write() {
    let refusals = finish(REFUSED, "v1::Mixed").expect_err("it is refused");
    let [refusal] = refusals.as_slice() else {
        panic!("one refusal is expected, not {refusals:?}");
    };
    assert_eq!(
        refusal.to_string(),
        "`spec.mixed` is an enum that mixes variants with and without content"
    );
    assert_eq!(
        refusal.reason.help(),
        "give every variant a body: `Never {}` instead of `Never`"
    );
}

#[test]
fn a_rule_may_point_at_the_name() {
    let root = |path: &str| {
        let rule = json!({ "rule": "self.metadata.name.size() < 9", "fieldPath": path });
        let root = json!({ "type": "object", "x-kubernetes-validations": [rule] });
        let schema = structural_schema(&root, &root);
        schema.map(|mut schema| schema["properties"]["metadata"].take())
    };
    let name = json!({ "properties": { "name": { "type": "string" } }, "type": "object" });
    assert_eq!(root(".metadata.name"), Ok(name));
    assert_eq!(root(".metadata"), Ok(json!({ "type": "object" })));
    let refusals = root(".metadata.labels").expect_err("it is not a field");
    assert!(
        refusals[0]
            .to_string()
            .contains("names the field `.metadata.labels`")
    );
}

#[test]
fn a_misspelt_keyword_is_refused() {
    let field = |keyword: &str| {
        let field = json!({ "type": "string", keyword: true });
        let root = json!({ "properties": { "field": field }, "type": "object" });
        structural_schema(&root, &root)
    };
    for (keyword, expected) in [
        ("maxlength", "maxLength"),
        ("x-kubernetes-maptype", "x-kubernetes-map-type"),
        (
            "x-kubernetes-preserve-unknown",
            "x-kubernetes-preserve-unknown-fields",
        ),
        ("multipleof", "multipleOf"),
        ("externaldocs", "externalDocs"),
    ] {
        let refusals = field(keyword).expect_err(keyword);
        let (keyword, nearest) = (keyword.to_owned(), expected.to_owned());
        assert_eq!(refusals[0].reason, Reason::Keyword { keyword, nearest });
    }
    // Keywords that schemars writes, and keywords for other programs.
    for keyword in [
        "additionalItems",
        "const",
        "contains",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
        "deprecated",
        "else",
        "examples",
        "id",
        "if",
        "maxContains",
        "minContains",
        "propertyNames",
        "readOnly",
        "then",
        "uniqueItems",
        "writeOnly",
        "x-docs",
    ] {
        field(keyword).expect(keyword);
    }
}

#[test]
fn floating_point_numbers_are_refused_unless_they_are_meant() {
    let double = json!({ "type": "number", "format": "double" });
    let checked = |field: &Value| {
        let root = json!({
            "type": "object",
            "properties": { "a": field },
            "$defs": {
                "Ratio": double,
                "Inner": { "type": "object", "properties": { "x": double } },
            },
        });
        structural_schema(&root, &root)
    };
    for (field, path) in [
        (double.clone(), "a"),
        (json!({ "type": "number", "format": "float" }), "a"),
        (
            json!({ "type": ["number", "null"], "format": "double" }),
            "a",
        ),
        (json!({ "type": "array", "items": double }), "a[]"),
        (
            json!({ "type": "object", "additionalProperties": { "type": "array", "items": double } }),
            "a.*[]",
        ),
        (json!({ "$ref": "#/$defs/Ratio" }), "a"),
        (
            json!({ "anyOf": [{ "$ref": "#/$defs/Ratio" }, { "type": "null" }] }),
            "a",
        ),
        (
            json!({ "type": "array", "items": { "$ref": "#/$defs/Inner" } }),
            "a[].x",
        ),
    ] {
        let refusals = checked(&field).expect_err("not meant");
        let found: Vec<_> = refusals
            .iter()
            .map(|it| (it.path.as_str(), &it.reason))
            .collect();
        assert_eq!(found, [(path, &Reason::Float)], "{field}");
        let mut meant = field.clone();
        meant["x-kbr-float"] = json!(false);
        assert!(checked(&meant).is_err(), "{meant}");
        meant["x-kbr-float"] = json!(true);
        let schema = checked(&meant).expect("meant");
        assert!(!schema.to_string().contains("x-kbr"), "{schema}");
    }
    for field in [
        json!({ "type": "number" }),
        json!({ "type": "number", "format": null }),
        json!({ "type": "string", "format": "double" }),
    ] {
        checked(&field).expect("not from `f32` or `f64`");
    }
}
