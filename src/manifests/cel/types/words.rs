//! Expressions in messages. Pure.

use std::fmt;

use super::super::{CelError, Expr};
use super::Type;
use crate::manifests::code_marker::suggest;

impl fmt::Display for Type<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("a value"),
            Self::Bool => f.write_str("true or false"),
            Self::Double => f.write_str("a floating-point number"),
            Self::Int => f.write_str("an integer"),
            Self::Uint => f.write_str("an unsigned integer"),
            Self::Null => f.write_str("null"),
            Self::Text => f.write_str("a string"),
            Self::List(_) => f.write_str("a list"),
            Self::Map(_) => f.write_str("a map"),
            Self::Fields(_) | Self::Variables => f.write_str("an object"),
            Self::Created(name) => write!(f, "`{name}`"),
        }
    }
}

pub(super) fn must_be(
    wanted: &Type<'_>,
    expression: &Expr,
    found: &Type<'_>,
    place: &str,
) -> Result<(), CelError> {
    if matches!(found, Type::Any) || found == wanted {
        return Ok(());
    }
    let message = format!(
        "{} is {found}, but must be {wanted} {place}",
        shown(expression)
    );
    Err(CelError::new(position(expression), message))
}

/// Two values that an operator cannot connect.
pub(super) fn unfit(
    operator: &str,
    arguments: &[Expr],
    left: &Type<'_>,
    right: &Type<'_>,
    at: usize,
) -> CelError {
    let [a, b] = [0, 1].map(|index| arguments.get(index).map(shown).unwrap_or_default());
    let message = match operator {
        "==" | "!=" => format!("{a} is {left} and {b} is {right}: they are never equal"),
        _ => {
            format!("{a} is {left} and {b} is {right}: `{operator}` needs values of the same type")
        }
    };
    CelError::new(at, message)
}

pub(super) fn no_list(target: &Expr, found: &Type<'_>, at: usize) -> CelError {
    CelError::new(
        at,
        format!("{} is {found}, not a list or a map", shown(target)),
    )
}

/// Where an expression begins, or its operator is.
fn position(expression: &Expr) -> usize {
    match expression {
        Expr::Constant(_) | Expr::Text(_) => 1,
        Expr::List(items) => items.first().map_or(1, position),
        Expr::Field { of, .. } => position(of),
        Expr::Name(_, at) | Expr::Call { at, .. } | Expr::Message { at, .. } => *at,
    }
}

/// An expression in a sentence.
pub(super) fn shown(expression: &Expr) -> String {
    match expression {
        Expr::Constant(_) => "the constant".to_owned(),
        Expr::Text(_) => "the text".to_owned(),
        Expr::List(_) => "the list".to_owned(),
        Expr::Message { name, .. } => format!("`{name}`"),
        Expr::Call { function, .. } if function.starts_with('.') => {
            format!("the result of `{}`", &function[1..])
        }
        Expr::Call { function, .. } => format!("the result of `{function}`"),
        Expr::Name(..) | Expr::Field { .. } => match path(expression) {
            Some(path) => format!("`{path}`"),
            None => "the value".to_owned(),
        },
    }
}

/// A name with the fields behind it.
fn path(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Name(name, _) => Some(name.clone()),
        Expr::Field { of, name, .. } => Some(format!("{}.{name}", path(of)?)),
        _ => None,
    }
}

/// The known name that was probably meant, for the end of a sentence.
pub(super) fn did_you_mean<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> String {
    suggest(name, known).map_or_else(String::new, |question| format!(" ({question})"))
}

/// Whether an expression is only a field of an object that is reviewed, or of the parameters: the API server does not know
/// the type of one.
pub(crate) fn is_field_of_object(expression: &Expr) -> bool {
    match expression {
        Expr::Name(name, _) => matches!(name.as_str(), "object" | "oldObject" | "params"),
        Expr::Field { of, .. } => is_field_of_object(of),
        Expr::Call {
            function,
            arguments,
            ..
        } if function == "[]" => arguments.first().is_some_and(is_field_of_object),
        _ => false,
    }
}
