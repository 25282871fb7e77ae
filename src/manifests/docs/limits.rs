//! The limits of one node of a schema, in sentences.

use serde_json::Value;

use super::codes;
use super::text::{code, given, inline};
use crate::error::join;
use crate::manifests::json::{is_true, list_of, text_of};
use crate::manifests::schema::OF_TIMES;

/// Bounds on counts: the keywords, and what they count, singular and plural.
const COUNTS: [(&str, &str, &str, &str); 3] = [
    ("minLength", "maxLength", "character", "characters"),
    ("minItems", "maxItems", "item", "items"),
    ("minProperties", "maxProperties", "entry", "entries"),
];

/// All requirements of a node, apart from its type, null and those of its fields and elements.
pub(super) fn of(schema: &Value) -> Vec<String> {
    let mut limits = Vec::new();
    let members = list_of(schema, "enum").iter();
    let values: Vec<String> = members.filter(|it| !it.is_null()).map(shown).collect();
    limits.extend(given(values.join(", ")).map(|values| format!("One of {values}.")));
    limits.extend(range(schema));
    let multiple = schema.get("multipleOf");
    limits.extend(multiple.map(|of| format!("A multiple of {of}.")));
    for (min, max, one, many) in COUNTS {
        // In a string these only keep lists out, which the type says already.
        if one == "item" && text_of(schema, "type") == "string" {
            continue;
        }
        let bound = |key: &str| schema.get(key).and_then(Value::as_u64);
        let least = bound(min).filter(|it| *it > 0);
        limits.extend(count(least, bound(max), one, many));
    }
    let pattern = given(text_of(schema, "pattern")).filter(|it| !OF_TIMES.contains(it));
    limits.extend(pattern.map(|it| format!("Matches {}.", code(it))));
    limits.extend(alternatives(schema));
    limits.extend(merge(schema));
    let keeps_all = is_true(schema, "x-kubernetes-preserve-unknown-fields");
    if keeps_all && text_of(schema, "type") == "object" {
        limits.push("May have any other fields.".to_owned());
    }
    if is_true(schema, "x-kubernetes-embedded-resource") {
        limits
            .push("An object of Kubernetes, with `apiVersion`, `kind` and `metadata`.".to_owned());
    }
    let example = schema.get("example").map(shown);
    limits.extend(example.map(|it| format!("For example {it}.")));
    let url = given(text_of(schema, "/externalDocs/url"));
    limits.extend(url.map(|url| format!("See {}.", inline(url))));
    limits.extend(list_of(schema, "x-kubernetes-validations").iter().map(rule));
    limits
}

/// A value; a non-empty string is shown without its quotes.
fn shown(value: &Value) -> String {
    match value.as_str().filter(|text| !text.is_empty()) {
        Some(text) => code(text),
        None => code(&value.to_string()),
    }
}

fn range(schema: &Value) -> Option<String> {
    let [min, max] = ["minimum", "maximum"].map(|key| schema.get(key));
    let [above, below] = ["exclusiveMinimum", "exclusiveMaximum"].map(|key| is_true(schema, key));
    if let (Some(min), Some(max), false) = (min, max, above || below) {
        return Some(format!("{min} to {max}."));
    }
    let lower = min.map(|min| format!("{} {min}", if above { "more than" } else { "at least" }));
    let upper = max.map(|max| format!("{} {max}", if below { "less than" } else { "at most" }));
    let bounds: Vec<String> = lower.into_iter().chain(upper).collect();
    let both = given(bounds.join(", "))?;
    Some(format!("{}{}.", both[..1].to_uppercase(), &both[1..]))
}

fn count(min: Option<u64>, max: Option<u64>, one: &str, many: &str) -> Option<String> {
    let noun = |count: u64| if count == 1 { one } else { many };
    Some(match (min, max) {
        (Some(min), Some(max)) if min == max => format!("Exactly {min} {}.", noun(min)),
        (Some(min), Some(max)) => format!("{min} to {max} {}.", noun(max)),
        (Some(min), None) => format!("At least {min} {}.", noun(min)),
        (None, Some(max)) => format!("At most {max} {}.", noun(max)),
        (None, None) => return None,
    })
}

fn alternatives(schema: &Value) -> Vec<String> {
    if is_true(schema, "x-kubernetes-int-or-string") {
        return Vec::new();
    }
    let quantified = [
        ("oneOf", "Exactly one of "),
        ("anyOf", "At least one of "),
        ("allOf", "All of "),
    ];
    let found = quantified.into_iter().filter_map(|(key, words)| {
        let members = given(join(list_of(schema, key), ", ", member))?;
        Some(format!("{words}{members}."))
    });
    let not = schema.get("not").map(member);
    found.chain(not.map(|it| format!("Not {it}."))).collect()
}

/// An alternative: the fields that it requires, or its whole schema.
fn member(member: &Value) -> String {
    let required = codes(member, "required");
    let wants_fields = member.as_object().is_some_and(|all| all.len() == 1) && !required.is_empty();
    if wants_fields {
        required.join(" and ")
    } else {
        code(&member.to_string())
    }
}

/// How the lists or maps of two writers are merged.
fn merge(schema: &Value) -> Option<String> {
    let kinds = ["x-kubernetes-list-type", "x-kubernetes-map-type"];
    match kinds.map(|key| text_of(schema, key)) {
        ["set", _] => Some("A set: no value appears twice.".to_owned()),
        ["map", _] => {
            let keys = codes(schema, "x-kubernetes-list-map-keys").join(" and ");
            Some(format!("No two items have the same {keys}."))
        }
        ["atomic", _] | [_, "atomic"] => {
            Some("Server-side apply replaces it as a whole.".to_owned())
        }
        _ => None,
    }
}

/// A CEL rule, and the API server's message for a value that breaks it.
fn rule(rule: &Value) -> String {
    let expression = text_of(rule, "rule");
    let bare: String = expression.split_whitespace().collect();
    let is_immutable = ["self==oldSelf", "oldSelf==self"].contains(&bare.as_str());
    let head = if is_immutable {
        "Immutable".to_owned()
    } else {
        format!("Rule {}", code(expression))
    };
    let message = text_of(rule, "message");
    let computed = text_of(rule, "messageExpression");
    match (message, computed) {
        ("", "") => format!("{head}."),
        ("", computed) => format!("{head}; the message is {}.", code(computed)),
        (message, _) => format!("{head}: {}", inline(message)),
    }
}
