//! Label selectors, in the syntax of `kubectl -l`.
//!
//! `app=web` and `app==web` require a value, `tier in (a,b)` and `tier notin (a,b)` one of several
//! or none of them, `tier!=a` is short for the latter, `legacy` and `!legacy` test for the key.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use serde_json::{Value, json};

use crate::names::dns::{LABEL_MAX, is_subdomain};

/// One requirement on an object's labels.
enum Requirement<'t> {
    Equals(&'t str, &'t str),
    Expression(LabelSelectorRequirement),
}

/// A LabelSelector, or why the text is not one.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let (mut labels, mut expressions) = (BTreeMap::new(), Vec::new());
    for part in split(text)? {
        match requirement(part.trim())? {
            Requirement::Equals(key, value) => {
                if labels.insert(key.to_owned(), value.to_owned()).is_some() {
                    return Err(format!("`{key}` is given two values"));
                }
            }
            Requirement::Expression(expression) => expressions.push(expression),
        }
    }
    Ok(json!(LabelSelector {
        match_expressions: Some(expressions).filter(|list| !list.is_empty()),
        match_labels: Some(labels).filter(|map| !map.is_empty()),
    }))
}

/// The parts between commas, ignoring commas in parentheses.
fn split(text: &str) -> Result<Vec<&str>, String> {
    let (mut depth, mut is_matched) = (0, true);
    let parts = text.split(|c: char| {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        is_matched &= matches!(depth, 0 | 1);
        c == ',' && depth == 0
    });
    let parts: Vec<&str> = parts.collect();
    match is_matched && depth == 0 {
        true => Ok(parts),
        false => Err("its parentheses do not match".to_owned()),
    }
}

fn requirement(part: &str) -> Result<Requirement<'_>, String> {
    if part.is_empty() {
        return Err("there is nothing before or after a comma".to_owned());
    }
    if part.contains(['<', '>']) {
        return Err(format!(
            "`{part}` is a comparison, which only selectors of nodes can have"
        ));
    }
    if let Some(key) = part.strip_prefix('!') {
        return expression(key, "DoesNotExist", Vec::new());
    }
    if let Some((key, value)) = part.split_once("!=") {
        return expression(key, "NotIn", vec![value]);
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return Ok(Requirement::Equals(check_key(key)?, check_value(value)?));
    }
    let Some((key, rest)) = part.split_once(char::is_whitespace) else {
        return expression(part, "Exists", Vec::new());
    };
    let rest = rest.trim_start();
    for (word, operator) in [("in", "In"), ("notin", "NotIn")] {
        let values = rest.strip_prefix(word).map(str::trim);
        let values = values.and_then(|list| list.strip_prefix('(')?.strip_suffix(')'));
        if let Some(values) = values {
            return expression(key, operator, values.split(',').collect());
        }
    }
    Err(format!("`{part}` is not a requirement"))
}

fn expression<'t>(key: &str, operator: &str, values: Vec<&str>) -> Result<Requirement<'t>, String> {
    let values: Vec<String> = values
        .into_iter()
        .map(|value| check_value(value).map(str::to_owned))
        .collect::<Result<_, _>>()?;
    Ok(Requirement::Expression(LabelSelectorRequirement {
        key: check_key(key)?.to_owned(),
        operator: operator.to_owned(),
        values: Some(values).filter(|values| !values.is_empty()),
    }))
}

fn check_key(key: &str) -> Result<&str, String> {
    let key = key.trim();
    let valid = is_qualified_name(key).then_some(key);
    valid.ok_or_else(|| format!("`{key}` cannot be a label's key"))
}

fn check_value(value: &str) -> Result<&str, String> {
    let value = value.trim();
    let valid = is_label_value(value).then_some(value);
    valid.ok_or_else(|| format!("`{value}` cannot be a label's value"))
}

/// A label's key, or another qualified name: a name, optionally with a subdomain and `/` before it.
pub(super) fn is_qualified_name(text: &str) -> bool {
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
        #[test]
        fn no_text_causes_a_panic(text in "[a-z=!,() üA/.<]{0,20}") {
            let _ = parse(&text);
        }
    }
}
