//! What narrows the requests that a rule matches: label selectors, and conditions in CEL.
//!
//! `app=web` and `app==web` require a value, `tier in (a,b)` and `tier notin (a,b)` one of several
//! or none of them, `tier!=a` is short for the latter, `legacy` and `!legacy` test for the key.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use serde_json::{Value, json};

use super::super::cel;
use super::super::code_marker::{CodeMarker, MarkerError};
use crate::names::dns::{LABEL_MAX, is_subdomain};
use crate::names::is_among;

const NAME: &str = "matchConditions";

/// The variables of a condition.
const DECLARED: &str = "object oldObject request authorizer namespaceObject";

/// Maximum number of conditions that the API server accepts.
const MOST: usize = 64;

/// `matchConditions`: named CEL expressions, all of which a request must meet.
pub(super) fn conditions(marker: &CodeMarker) -> Result<Option<Vec<Value>>, MarkerError> {
    let Some(texts) = marker.texts(NAME) else {
        return Ok(None);
    };
    marker.ensure(
        texts.len() <= MOST,
        format!("`{NAME}` has more than {MOST} conditions"),
        "put several into one, with `&&` between them",
    )?;
    let mut names = BTreeSet::new();
    let mut conditions = Vec::new();
    for text in texts {
        let (name, expression) = text.split_once(':').unwrap_or((text.as_str(), ""));
        let (name, expression) = (name.trim(), expression.trim());
        marker.ensure(
            is_qualified_name(name) && !expression.is_empty(),
            format!("`{text}` is not a condition: it must be a name, `:`, and an expression"),
            format!(
                "write it like `{NAME}={{\"not-leases: request.resource.resource != 'leases'\"}}`"
            ),
        )?;
        check(expression).map_err(|problem| {
            marker.error(
                format!("the condition `{name}` of `{NAME}` is not CEL: {problem}"),
                "see https://kubernetes.io/docs/reference/using-api/cel for the language",
            )
        })?;
        marker.ensure(
            names.insert(name),
            format!("`{NAME}` has two conditions `{name}`"),
            "give one of them another name",
        )?;
        conditions.push(json!({"expression": expression, "name": name}));
    }
    Ok(Some(conditions))
}

/// Checks the syntax of an expression, and that its names are declared.
fn check(expression: &str) -> Result<(), String> {
    let parsed = cel::parse(expression).map_err(|error| error.to_string())?;
    let mut names = cel::free_names(&parsed).into_iter();
    match names.find(|name| !is_among(DECLARED, name)) {
        Some(name) => Err(format!(
            "`{name}` is not declared; known are {}",
            DECLARED.replace(' ', ", ")
        )),
        None => Ok(()),
    }
}

/// A LabelSelector in the syntax of `kubectl -l`.
pub(super) fn selector(marker: &CodeMarker, name: &str) -> Result<Option<Value>, MarkerError> {
    let Some(text) = marker.one(name)? else {
        return Ok(None);
    };
    parse(text).map(Some).map_err(|why| {
        marker.error(
            format!("the selector `{text}` is not understood: {why}"),
            format!("write it like `{name}=\"app=web,!legacy,tier in (front,back)\"`"),
        )
    })
}

/// A LabelSelector, or why the text is not one.
fn parse(text: &str) -> Result<Value, String> {
    let mut selector = LabelSelector::default();
    for part in split(text)? {
        add(part.trim(), &mut selector)?;
    }
    Ok(json!(selector))
}

/// The parts between commas, ignoring commas in parentheses.
fn split(text: &str) -> Result<Vec<&str>, String> {
    let (mut depth, mut is_matched) = (0, true);
    let is_separator = |c: char| {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        is_matched &= matches!(depth, 0 | 1);
        c == ',' && depth == 0
    };
    let parts: Vec<&str> = text.split(is_separator).collect();
    if is_matched && depth == 0 {
        Ok(parts)
    } else {
        Err("its parentheses do not match".to_owned())
    }
}

/// Adds one requirement on an object's labels.
fn add(part: &str, selector: &mut LabelSelector) -> Result<(), String> {
    if part.is_empty() {
        return Err("there is nothing before or after a comma".to_owned());
    }
    if part.contains(['<', '>']) {
        return Err(format!(
            "`{part}` is a comparison, which only selectors of nodes can have"
        ));
    }
    let check_key = |key: &str| checked(key, is_qualified_name, "key");
    let check_value = |value: &str| checked(value, is_label_value, "value");
    let (key, operator, values) = if let Some(key) = part.strip_prefix('!') {
        (key, "DoesNotExist", Vec::new())
    } else if let Some((key, value)) = part.split_once("!=") {
        (key, "NotIn", vec![check_value(value)?])
    } else if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        let (key, value) = (check_key(key)?, check_value(value)?);
        let labels = selector.match_labels.get_or_insert_default();
        return match labels.insert(key.clone(), value) {
            Some(_) => Err(format!("`{key}` is given two values")),
            None => Ok(()),
        };
    } else if let Some((key, rest)) = part.split_once(char::is_whitespace) {
        let list = |word: &str| {
            let list = rest.trim_start().strip_prefix(word)?.trim();
            list.strip_prefix('(')?.strip_suffix(')')
        };
        let (operator, values) = match (list("in"), list("notin")) {
            (Some(values), _) => ("In", values),
            (_, Some(values)) => ("NotIn", values),
            _ => return Err(format!("`{part}` is not a requirement")),
        };
        let checked = values.split(',').map(check_value);
        (key, operator, checked.collect::<Result<_, _>>()?)
    } else {
        (part, "Exists", Vec::new())
    };
    let expressions = selector.match_expressions.get_or_insert_default();
    expressions.push(LabelSelectorRequirement {
        key: check_key(key)?,
        operator: operator.to_owned(),
        values: Some(values).filter(|values| !values.is_empty()),
    });
    Ok(())
}

/// A key or a value without the space around it.
fn checked(text: &str, is_valid: fn(&str) -> bool, what: &str) -> Result<String, String> {
    let word = text.trim();
    if is_valid(word) {
        Ok(word.to_owned())
    } else {
        Err(format!("`{word}` cannot be a label's {what}"))
    }
}

/// A label's key, or another qualified name: a name, optionally with a subdomain and `/` before it.
fn is_qualified_name(text: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && is_label_value(name);
    match text.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && is_name(name),
        None => is_name(text),
    }
}

/// A label's value, which may be empty.
fn is_label_value(text: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_outer = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    text.len() <= LABEL_MAX
        && text.chars().all(is_inner)
        && is_outer(text.chars().next())
        && is_outer(text.chars().next_back())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_form_of_kubectl_is_parsed() {
        for (text, expected) in [
            ("app=web", json!({"matchLabels": {"app": "web"}})),
            (
                " b == 2 , a=1",
                json!({"matchLabels": {"a": "1", "b": "2"}}),
            ),
            ("app=", json!({"matchLabels": {"app": ""}})),
            (
                "example.com/tier in (a, b)",
                json!({"matchExpressions": [{"key": "example.com/tier", "operator": "In", "values": ["a", "b"]}]}),
            ),
            (
                "tier notin(a),x!=y",
                json!({"matchExpressions": [
                    {"key": "tier", "operator": "NotIn", "values": ["a"]},
                    {"key": "x", "operator": "NotIn", "values": ["y"]},
                ]}),
            ),
            (
                "app=web,!legacy,on,tier in (a,)",
                json!({
                    "matchExpressions": [
                        {"key": "legacy", "operator": "DoesNotExist"},
                        {"key": "on", "operator": "Exists"},
                        {"key": "tier", "operator": "In", "values": ["a", ""]},
                    ],
                    "matchLabels": {"app": "web"},
                }),
            ),
        ] {
            let selector = parse(text).expect(text);
            assert_eq!(selector.to_string(), expected.to_string(), "{text}");
        }
    }

    #[test]
    fn invalid_selectors_are_refused() {
        for (text, why) in [
            ("app=web,", "there is nothing before or after a comma"),
            ("app=web,app=db", "`app` is given two values"),
            ("app in (a", "its parentheses do not match"),
            ("app)", "its parentheses do not match"),
            ("app in a", "`app in a` is not a requirement"),
            ("app inn (a)", "`app inn (a)` is not a requirement"),
            ("a b", "`a b` is not a requirement"),
            (
                "size>3",
                "`size>3` is a comparison, which only selectors of nodes can have",
            ),
            ("!", "`` cannot be a label's key"),
            ("-app", "`-app` cannot be a label's key"),
            ("!!app", "`!app` cannot be a label's key"),
            ("app=we b", "`we b` cannot be a label's value"),
            ("app=a=b", "`a=b` cannot be a label's value"),
            ("app in ((a))", "its parentheses do not match"),
        ] {
            assert_eq!(parse(text).expect_err(text), why);
        }
    }

    #[test]
    fn keys_and_values_are_those_of_kubernetes() {
        let long = "a".repeat(64);
        for (text, name, value) in [
            ("a", true, true),
            ("a.b", true, true),
            ("A_b", true, true),
            ("example.com/A_b", true, false),
            ("Example.com/a", false, false),
            ("/a", false, false),
            ("a/", false, false),
            ("a/b/c", false, false),
            ("", false, true),
            ("-a", false, false),
            ("a..b", true, true),
            (&long, false, false),
        ] {
            let found = (is_qualified_name(text), is_label_value(text));
            assert_eq!(found, (name, value), "{text}");
        }
    }

    proptest! {
        #![proptest_config(crate::fuzz::random::properties())]

        #[test]
        fn no_text_causes_a_panic(text in "[a-z=!,() üA/.<]{0,20}") {
            let _ = parse(&text);
        }
    }
}
