//! `matchConditions`: expressions in CEL, each with a name, all of which a request must meet.
//!
//! An expression is the API server's to judge; it is only looked at that there is one.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::code_marker::MarkerError;
use super::arguments::Arguments;
use super::syntax;

const NAME: &str = "matchConditions";

/// How many conditions the API server takes.
const MOST: usize = 64;

pub(super) fn parse(arguments: &Arguments) -> Result<Option<Value>, MarkerError> {
    let Some(texts) = arguments.texts(NAME) else {
        return Ok(None);
    };
    if texts.len() > MOST {
        return Err(arguments.error(
            format!("`{NAME}` has more than {MOST} conditions"),
            "put several into one, with `&&` between them",
        ));
    }
    let mut names = BTreeSet::new();
    let mut conditions = Vec::new();
    for text in texts {
        let (name, expression) = split(arguments, text)?;
        if !names.insert(name) {
            return Err(arguments.error(
                format!("`{NAME}` has two conditions `{name}`"),
                "give one of them another name",
            ));
        }
        conditions.push(json!({"expression": expression, "name": name}));
    }
    Ok(Some(json!(conditions)))
}

fn split<'t>(arguments: &Arguments, text: &'t str) -> Result<(&'t str, &'t str), MarkerError> {
    let (name, expression) = text.split_once(':').unwrap_or((text, ""));
    let (name, expression) = (name.trim(), expression.trim());
    if syntax::is_qualified_name(name) && !expression.is_empty() {
        return Ok((name, expression));
    }
    Err(arguments.error(
        format!("`{text}` is no condition: it must be a name, `:`, and an expression"),
        format!("write it like `{NAME}={{\"not-leases: request.resource.resource != 'leases'\"}}`"),
    ))
}
