//! `matchConditions`: named CEL expressions, all of which a request must meet.
//!
//! An expression is checked for its syntax and for undeclared names.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::names::is_among;

use super::super::cel;
use super::super::code_marker::{CodeMarker, MarkerError};
use super::selector;

const NAME: &str = "matchConditions";

/// The variables of a condition.
const DECLARED: &str = "object oldObject request authorizer namespaceObject";

/// Maximum number of conditions that the API server accepts.
const MOST: usize = 64;

pub(super) fn parse(marker: &CodeMarker) -> Result<Option<Vec<Value>>, MarkerError> {
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
            selector::is_qualified_name(name) && !expression.is_empty(),
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

fn check(expression: &str) -> Result<(), String> {
    let expression = cel::parse(expression)?;
    let mut names = cel::free_names(&expression).into_iter();
    match names.find(|name| !is_among(DECLARED, name)) {
        Some(name) => Err(format!(
            "`{name}` is not declared; known are {}",
            DECLARED.replace(' ', ", ")
        )),
        None => Ok(()),
    }
}
