//! CEL, the language of validation rules and match conditions, as far as kbr needs to understand it.
//!
//! Only definite errors are refused here: text that is not an expression, undeclared names, fields
//! that the schema does not have, and rules that cost more than the API server allows. Types and
//! functions are left to the API server. Pure: text in, a tree or a message out.

mod cost;
mod lexer;
mod parser;
mod scope;
mod sizes;
#[cfg(test)]
mod tests;

pub use self::cost::{CRD_LIMIT, Estimate, LIMIT, estimate};
pub use self::parser::parse;
pub use self::scope::{free_names, is_declared};
pub use self::sizes::most_elements;

/// An expression. Operators are calls of functions named like them, such as `&&` and `?:`.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A number, `true`, `false` or `null`.
    Constant,
    /// A string or bytes, with its length.
    Text(usize),
    Name(String),
    Field {
        of: Box<Expr>,
        name: String,
        /// Whether it is written `.?`, so that a missing field is not an error.
        is_optional: bool,
    },
    Call {
        target: Option<Box<Expr>>,
        function: String,
        arguments: Vec<Expr>,
    },
    List(Vec<Expr>),
    Map(Vec<(Expr, Expr)>),
}

impl Expr {
    fn call(function: &str, arguments: Vec<Self>) -> Self {
        Self::Call {
            target: None,
            function: function.to_owned(),
            arguments,
        }
    }
}

/// How many names a macro binds to the elements of a list or the keys of a map.
fn macro_names(function: &str, arguments: &[Expr]) -> usize {
    let is_name = |at: usize| matches!(arguments.get(at), Some(Expr::Name(_)));
    match (function, arguments.len()) {
        ("all" | "exists" | "exists_one" | "existsOne", 3)
        | ("transformList" | "transformMap" | "transformMapEntry", 3 | 4)
            if is_name(0) && is_name(1) =>
        {
            2
        }
        ("all" | "exists" | "exists_one" | "existsOne" | "filter", 2)
        | ("map", 2 | 3)
        | ("optMap" | "optFlatMap", 2)
            if is_name(0) =>
        {
            1
        }
        _ => 0,
    }
}
