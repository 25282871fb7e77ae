//! What remains to do once a node is structural: formats, bounds, null, order, and unknown keywords.

use serde_json::{Number, Value, json};

use super::{Object, Reason};
use crate::manifests::json::{is_true, text_of};
use crate::names::is_among;

/// The keywords of a CRD's schema, as the fields of Kubernetes' `JSONSchemaProps`.
///
/// Anything else would be refused by a strict client and dropped by a lenient one. `uniqueItems`
/// is missing because a CRD may not set it; `$ref`, `id` and the like because there are no references.
const KEYWORDS: &str = "\
    additionalProperties allOf anyOf default description enum example exclusiveMaximum exclusiveMinimum \
    externalDocs format items maxItems maxLength maxProperties maximum minItems minLength minProperties \
    minimum multipleOf not nullable oneOf pattern patternProperties properties required title type \
    x-kubernetes-embedded-resource x-kubernetes-int-or-string x-kubernetes-list-map-keys \
    x-kubernetes-list-type x-kubernetes-map-type x-kubernetes-preserve-unknown-fields \
    x-kubernetes-validations";

/// The formats of strings that API servers know, without dashes, as they compare them.
///
/// apiextensions-apiserver, `pkg/apiserver/validation/formats.go`: those of version 1.0, and the two of
/// 1.34, which an older API server accepts with a warning.
const STRING_FORMATS: &str = "\
    bsonobjectid byte cidr creditcard date datetime duration email hexcolor hostname ipv4 ipv6 isbn \
    isbn10 isbn13 k8slongname k8sshortname mac password rgbcolor ssn uri uuid uuid3 uuid4 uuid5";

/// Keywords of JSON Schema that a user's type may have and a CRD does not. They are omitted, and are
/// not typing errors. The last one is kube's, see [`tidy_maps`].
const OMITTED: &str =
    "const contains else examples id if then uniqueItems x-kubernetes-struct-type";

/// A keyword that the user misspelt in `extend(…)`, which would otherwise be omitted as well.
pub(super) fn misspelt(schema: &Object) -> Option<Reason> {
    let is_known = |keyword: &str| is_among(KEYWORDS, keyword) || is_among(OMITTED, keyword);
    let mut unknown = schema.keys().filter(|keyword| !is_known(keyword));
    unknown.find_map(|keyword| {
        let distance = |known: &&str| strsim::damerau_levenshtein(keyword, known);
        let nearest = KEYWORDS.split(' ').min_by_key(distance)?;
        let is_near = distance(&nearest) <= 2 || keyword.starts_with("x-kubernetes-");
        is_near.then(|| Reason::Keyword {
            keyword: keyword.clone(),
            nearest: nearest.to_owned(),
        })
    })
}

/// Tidies the keywords of one node. Its fields are tidy already.
pub(super) fn tidy(schema: &mut Object) {
    tidy_maps(schema);
    tidy_sets(schema);
    tidy_formats(schema);
    tidy_bounds(schema);
    for key in ["oneOf", "anyOf", "allOf"] {
        let list = schema.get_mut(key).and_then(Value::as_array_mut);
        let members = list.into_iter().flatten();
        members
            .filter_map(Value::as_object_mut)
            .for_each(tidy_member);
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        *text = lines.join("\n");
    }
    if let Some(title) = schema.get("title").cloned() {
        // A doc comment that is a heading. `kubectl explain` shows no titles.
        schema.entry("description").or_insert(title);
    }
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.sort_keys();
    }
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.sort_by(|left, right| left.as_str().cmp(&right.as_str()));
        required.dedup();
    }
    // Absent and null are the same `None`. A `format` of null removes the one that the type implies, and a `pattern` of
    // null the one that kbr would add beside a format.
    let is_none = |key: &str, value: &Value| {
        matches!(key, "default" | "format" | "pattern") && value.is_null()
    };
    schema.retain(|key, value| is_among(KEYWORDS, key) && !is_none(key, value));
}

/// An alternative may only restrict what the node itself describes.
fn tidy_member(member: &mut Object) {
    tidy(member);
    member.retain(|key, _| {
        let describes = ["default", "description", "nullable", "title"];
        !describes.contains(&key.as_str()) && !key.starts_with("x-kubernetes-")
    });
    member.sort_keys();
}

fn tidy_maps(schema: &mut Object) {
    // `deny_unknown_fields`: the API server drops unknown fields anyway.
    schema.retain(|key, value| key != "additionalProperties" || *value != false);
    if let Some(values @ Value::Bool(true)) = schema.get_mut("additionalProperties") {
        // A map of JSON values, as controller-gen writes it. A bare `true` would empty the values.
        *values = json!({ "x-kubernetes-preserve-unknown-fields": true });
    }
    // kube's `StructMerge` writes a keyword that CRDs do not have: they use one for maps and structs.
    if let Some(merge) = schema.remove("x-kubernetes-struct-type") {
        schema.insert("x-kubernetes-map-type".to_owned(), merge);
    }
}

/// Makes a Rust set a Kubernetes set, where Kubernetes has sets. A CRD may not set `uniqueItems`.
fn tidy_sets(schema: &mut Object) {
    let is_scalar = schema.get("items").is_some_and(|item| {
        let is_scalar = matches!(text_of(item, "type"), "string" | "integer" | "boolean");
        is_scalar && item.get("nullable").is_none()
    });
    if is_true(schema, "uniqueItems") && is_scalar {
        let merge = schema.entry("x-kubernetes-list-type");
        merge.or_insert(json!("set"));
    }
}

/// Drops formats for which the API server would warn. The bounds beside them are kept.
fn tidy_formats(schema: &mut Object) {
    let Some(format) = schema.get("format").and_then(Value::as_str) else {
        return;
    };
    let known = match schema.get("type").and_then(Value::as_str) {
        Some("integer") => matches!(format, "int32" | "int64"),
        Some("number") => matches!(format, "float" | "double"),
        // An alternative of a string may omit the type.
        Some("string") | None => is_among(STRING_FORMATS, &format.replace('-', "")),
        _ => false,
    };
    if !known {
        // schemars bounds the smaller integers. A value beyond `u32` would stop the operator's watch.
        if format == "uint32" {
            schema.entry("maximum").or_insert(u32::MAX.into());
        }
        schema.remove("format");
    } else if text_of(schema, "type") == "string" {
        // Refuses lists: if a string has a format, the API server also accepts a list in its place, which no
        // operator can read. Values other than lists have no items to count.
        //
        // Source: `typeValidator.Validate` in kube-openapi's `pkg/validation/validate/type.go`, which accepts a
        // slice if there is a format.
        schema.insert("minItems".to_owned(), 1.into());
        schema.insert("maxItems".to_owned(), 0.into());
    }
}

fn tidy_bounds(schema: &mut Object) {
    for key in ["minimum", "maximum", "multipleOf"] {
        if let Some(Value::Number(number)) = schema.get_mut(key)
            && let Some(integer) = integral(number)
        {
            *number = integer.into();
        }
    }
}

/// The integer that a bound written as a float represents.
fn integral(number: &Number) -> Option<i64> {
    /// Up to here floats represent every integer exactly.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let float = number.as_f64().filter(|_| number.is_f64())?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is integral and in range"
    )]
    (float.fract() == 0.0 && float.abs() <= EXACT).then_some(float as i64)
}

/// Allows null only where it is written, since null differs from an omitted field.
///
/// Beside an `enum` the API server refuses null, whether it is listed or not: it compares a value only
/// with listed values that are not nil (`basicCommonValidator.Validate` in kube-openapi). If a field is
/// not nullable, the API server drops null, so an operator may write it.
pub(super) fn settle_null(schema: &mut Object, optional: bool, may_be_null: bool) {
    let nullable = schema.remove("nullable").is_some() || optional;
    if let Some(values) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        values.retain(|value| !value.is_null());
        return;
    }
    if nullable && may_be_null {
        schema.insert("nullable".to_owned(), true.into());
    }
}
