//! CEL, the language of validation rules and match conditions, as far as kbr needs to understand it.
//!
//! Only definite errors are refused here: text that is not an expression, undeclared names, fields
//! that the schema does not have, rules that cost more than the API server allows, and in policies
//! values of a wrong type. Anything else is left to the API server. Pure: text in, a tree or a message out.

mod cost;
mod lexer;
mod parser;
mod sizes;
#[cfg(test)]
mod tests;
mod types;

pub(crate) use self::cost::{CRD_LIMIT, Estimate, LIMIT, estimate};
pub(crate) use self::parser::parse;
pub(crate) use self::sizes::most_elements;
pub(crate) use self::types::{Environment, Type, check, is_field_of_object};

use std::fmt;

use crate::names::is_among;

/// Names that Kubernetes declares for every expression: types, and prefixes of functions.
const KNOWN: &str = "\
    base64 bool bytes cel cidr double dyn format google int ip jsonpatch kubernetes list lists map math net \
    null_type optional optional_type sets string strings type uint regex semver quantity url";

/// An expression. Operators are calls of functions named like them, such as `&&` and `?:`, and so are maps: of `{}`
/// with each key, followed by its value. A function after its first argument has its dot: `a.f(b)` calls `.f`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expr {
    Constant(Literal),
    /// A string or bytes, with its length.
    Text(u64),
    /// A name, and its position.
    Name(String, usize),
    Field {
        of: Box<Expr>,
        name: String,
        at: usize,
    },
    Call {
        function: String,
        arguments: Vec<Expr>,
        at: usize,
    },
    List(Vec<Expr>),
    /// A new object: `Object.spec{replicas: 1}`.
    Message {
        name: String,
        fields: Vec<(String, usize, Expr)>,
        at: usize,
    },
}

/// The type of a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Literal {
    Bool,
    Double,
    Int,
    Null,
    Uint,
    /// Of an expression that is too long to be parsed.
    Unknown,
}

/// What is wrong with an expression, and where: in characters from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CelError {
    pub(crate) at: usize,
    pub(crate) message: String,
}

impl CelError {
    fn new(at: usize, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { at, message }
    }
}

impl fmt::Display for CelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at character {}", self.message, self.at)
    }
}

impl Expr {
    fn call(function: &str, arguments: Vec<Self>, at: usize) -> Self {
        Self::Call {
            function: function.to_owned(),
            arguments,
            at,
        }
    }
}

/// The arguments of a call outside the scope of the names that it binds, these names, and the arguments in their
/// scope. Only `cel.bind` and macros over the elements of a list or the keys of a map bind names.
fn scopes<'a>(function: &str, arguments: &'a [Expr]) -> [&'a [Expr]; 3] {
    let is_name = |at: usize| matches!(arguments.get(at), Some(Expr::Name(..)));
    let is_of_cel = matches!(arguments, [Expr::Name(name, _), ..] if name == "cel");
    match (function, arguments.len()) {
        (".bind", 4) if is_of_cel && is_name(1) => {
            [&arguments[2..3], &arguments[1..2], &arguments[3..]]
        }
        (".all" | ".exists" | ".exists_one" | ".existsOne", 4)
        | (".transformList" | ".transformMap" | ".transformMapEntry", 4 | 5)
            if is_name(1) && is_name(2) =>
        {
            [&arguments[..1], &arguments[1..3], &arguments[3..]]
        }
        (".all" | ".exists" | ".exists_one" | ".existsOne" | ".filter", 3)
        | (".map", 3 | 4)
        | (".optMap" | ".optFlatMap", 3)
            if is_name(1) =>
        {
            [&arguments[..1], &arguments[1..2], &arguments[2..]]
        }
        _ => [arguments, &[], &[]],
    }
}

/// The names that an expression uses and neither it nor Kubernetes declares, in order of appearance.
pub(crate) fn free_names(expression: &Expr) -> Vec<&str> {
    let mut names = Vec::new();
    collect(expression, &mut Vec::new(), &mut names);
    names
}

fn collect<'a>(expression: &'a Expr, bound: &mut Vec<&'a str>, names: &mut Vec<&'a str>) {
    let [outside, declared, inside]: [&'a [Expr]; 3] = match expression {
        Expr::Constant(_) | Expr::Text(_) => return,
        Expr::Name(name, _) => {
            let is_bound = bound.contains(&name.as_str()) || is_among(KNOWN, name);
            if !is_bound && !names.contains(&name.as_str()) {
                names.push(name);
            }
            return;
        }
        Expr::Field { of, .. } => return collect(of, bound, names),
        Expr::List(parts) => [parts, &[], &[]],
        Expr::Message { fields, .. } => {
            let values = fields.iter().map(|(.., value)| value);
            return values.for_each(|value| collect(value, bound, names));
        }
        Expr::Call {
            function,
            arguments,
            ..
        } => scopes(function, arguments),
    };
    outside.iter().for_each(|part| collect(part, bound, names));
    let before = bound.len();
    bound.extend(declared.iter().filter_map(|name| match name {
        Expr::Name(name, _) => Some(name.as_str()),
        _ => None,
    }));
    inside.iter().for_each(|part| collect(part, bound, names));
    bound.truncate(before);
}
