//! The names that an expression uses but does not declare itself. Pure.

use super::{Expr, macro_names};
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
    match expression {
        Expr::Constant | Expr::Text(_) => {}
        Expr::Name(name) => {
            if !bound.contains(&name.as_str()) && !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        Expr::Field { of, .. } => collect(of, bound, names),
        Expr::List(items) => items.iter().for_each(|item| collect(item, bound, names)),
        Expr::Map(entries) => {
            for (key, value) in entries {
                collect(key, bound, names);
                collect(value, bound, names);
            }
        }
        Expr::Call {
            target,
            function,
            arguments,
        } => {
            if let (Some(Expr::Name(cel)), "bind", [Expr::Name(name), value, body]) =
                (target.as_deref(), function.as_str(), arguments.as_slice())
                && cel == "cel"
            {
                collect(value, bound, names);
                bound.push(name);
                collect(body, bound, names);
                bound.pop();
                return;
            }
            if let Some(target) = target {
                collect(target, bound, names);
            }
            let count = match target {
                Some(_) => macro_names(function, arguments),
                None => 0,
            };
            let (declared, rest) = arguments.split_at(count);
            let before = bound.len();
            bound.extend(declared.iter().filter_map(|name| match name {
                Expr::Name(name) => Some(name.as_str()),
                _ => None,
            }));
            rest.iter()
                .for_each(|argument| collect(argument, bound, names));
            bound.truncate(before);
        }
    }
}
