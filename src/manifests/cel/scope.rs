//! The names that an expression uses but does not declare itself. Pure.

use super::{Expr, scopes};
use crate::names::is_among;

/// Names that Kubernetes declares for every expression: types, and prefixes of functions.
const KNOWN: &str = "\
    base64 bool bytes cel cidr double dyn format google int ip kubernetes list lists map math net \
    null_type optional optional_type sets string strings type uint regex semver quantity url";

/// Whether a name is declared in every expression.
pub fn is_declared(name: &str) -> bool {
    is_among(KNOWN, name)
}

/// The names that an expression uses and does not bind, in order of appearance.
pub fn free_names(expression: &Expr) -> Vec<&str> {
    let mut names = Vec::new();
    collect(expression, &mut Vec::new(), &mut names);
    names
}

fn collect<'a>(expression: &'a Expr, bound: &mut Vec<&'a str>, names: &mut Vec<&'a str>) {
    let [outside, declared, inside]: [&'a [Expr]; 3] = match expression {
        Expr::Constant | Expr::Text(_) => return,
        Expr::Name(name) => {
            if !bound.contains(&name.as_str()) && !names.contains(&name.as_str()) {
                names.push(name);
            }
            return;
        }
        Expr::Field { of, .. } => return collect(of, bound, names),
        Expr::List(parts) | Expr::Map(parts) => [parts, &[], &[]],
        Expr::Call {
            function,
            is_method,
            arguments,
        } => scopes(function, *is_method, arguments),
    };
    outside.iter().for_each(|part| collect(part, bound, names));
    let before = bound.len();
    bound.extend(declared.iter().filter_map(|name| match name {
        Expr::Name(name) => Some(name.as_str()),
        _ => None,
    }));
    inside.iter().for_each(|part| collect(part, bound, names));
    bound.truncate(before);
}
