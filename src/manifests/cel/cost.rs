//! The maximum cost of a rule, as the API server estimates it, and the fields that it uses. Pure.
//!
//! The API server multiplies the cost of each step of a rule by the length of the longest list, map
//! or string that a request could hold there, and refuses rules over a limit. This is the same
//! estimate, after cel-go's `checker/cost.go` and apiserver's `cel/common/schemas.go`, except that
//! anything unknown costs nothing: a rule over the limit here is also over it on the API server.

use std::num::Saturating;

use super::sizes::{is_type, missing_bound, size_of};
use super::{Expr, scopes};
use crate::manifests::json::{Object, field_of, object_of};

/// The cost limit of one rule, over all its evaluations for one object.
pub(crate) const LIMIT: u64 = 10_000_000;

/// The cost limit of all rules of one version.
pub(crate) const CRD_LIMIT: u64 = 100_000_000;

/// The cost of reading a character, and one of a regular expression, in hundredths.
const CHARACTER: u64 = 10;
const OF_PATTERN: u64 = 25;

/// The length of the results of `string(…)` and `format`, which have no bound for the API server.
const ENDLESS: Option<u64> = Some(u64::MAX);

/// Keywords of a node that may have fields that the schema does not list.
pub(super) const OPEN: [&str; 4] = [
    "additionalProperties",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
];

/// The cost of one evaluation of a rule, and the reason for it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Estimate {
    pub(crate) cost: u64,
    /// The fields, relative to the rule's own, that have no bound and make the rule costly, each
    /// with the keyword that would bound it.
    pub(crate) unbounded: Vec<(String, &'static str)>,
}

/// Estimates the cost of a rule on the node `schema`, or returns the field it uses that does not exist.
pub(crate) fn estimate(
    expression: &Expr,
    schema: &Object,
    is_old_optional: bool,
) -> Result<Estimate, String> {
    let node = child(schema, &Known::default(), "");
    let old = Known {
        schema: node.schema.filter(|_| !is_old_optional),
        ..node.clone()
    };
    let mut estimator = Estimator {
        names: vec![("self", node), ("oldSelf", old)],
        unbounded: Vec::new(),
        missing: None,
    };
    let cost = estimator.of(expression).cost.0;
    let unbounded = estimator.unbounded;
    estimator
        .missing
        .map_or(Ok(Estimate { cost, unbounded }), Err)
}

/// What is known about the value of an expression.
#[derive(Clone, Default)]
struct Known<'a> {
    schema: Option<&'a Object>,
    /// Path of its schema, relative to that of the rule.
    path: String,
    /// Maximum number of characters, items or entries.
    size: Option<u64>,
    cost: Saturating<u64>,
}

impl Known<'_> {
    fn costing(cost: Saturating<u64>) -> Self {
        Self {
            cost,
            ..Self::default()
        }
    }
}

struct Estimator<'a> {
    names: Vec<(&'a str, Known<'a>)>,
    unbounded: Vec<(String, &'static str)>,
    /// The first field that does not exist.
    missing: Option<String>,
}

impl<'a> Estimator<'a> {
    fn of(&mut self, expression: &'a Expr) -> Known<'a> {
        match expression {
            Expr::Constant(_) => Known::default(),
            Expr::Text(length) => Known {
                size: Some(*length),
                ..Known::default()
            },
            Expr::Name(name, _) => {
                let bound = self.names.iter().rev().find(|(it, _)| it == name);
                let known = bound.map(|(_, it)| it.clone()).unwrap_or_default();
                let cost = Saturating(1);
                Known { cost, ..known }
            }
            Expr::Field { of, name, .. } => {
                let object = self.of(of);
                self.field(&object, name)
            }
            Expr::List(items) => Known {
                size: u64::try_from(items.len()).ok(),
                cost: self.sum(items) + Saturating(10),
                ..Known::default()
            },
            Expr::Call {
                function,
                arguments,
                ..
            } => self.call(function, arguments),
            // No rule of a CRD can create one.
            Expr::Message { .. } => Known::default(),
        }
    }

    fn sum(&mut self, expressions: &'a [Expr]) -> Saturating<u64> {
        expressions.iter().map(|one| self.of(one).cost).sum()
    }

    fn call(&mut self, function: &'a str, arguments: &'a [Expr]) -> Known<'a> {
        let [outside, names, inside] = scopes(function, arguments);
        match (function, outside, names, inside) {
            (".bind", [value], [Expr::Name(name, _)], [body]) => {
                let bound = self.of(value);
                let cost = bound.cost;
                self.names.push((name, bound));
                let mut result = self.of(body);
                self.names.pop();
                result.cost += cost;
                result
            }
            (_, [target], [Expr::Name(name, _)], steps) => {
                let list = self.of(target);
                self.loop_over(&list, name, function, steps)
            }
            (_, [target], [_, _], _) => Known::costing(self.of(target).cost),
            ("has", [Expr::Field { of, name, .. }], ..) => {
                let object = self.of(of);
                self.field(&object, name);
                Known::costing(object.cost)
            }
            ("?:", [condition, then, otherwise], ..) => {
                let [condition, then, otherwise] =
                    [condition, then, otherwise].map(|part| self.of(part).cost);
                Known::costing(condition + then.max(otherwise))
            }
            ("[]", [of, index], ..) => {
                let container = self.of(of);
                let cost = container.cost + self.of(index).cost + Saturating(1);
                let schema = container.schema.and_then(element);
                let of_element = schema.map(|it| child(it, &container, "[]"));
                let known = of_element.unwrap_or_default();
                Known { cost, ..known }
            }
            _ => self.function(function, arguments),
        }
    }

    /// A function or an operator; some of them read characters or items.
    fn function(&mut self, function: &str, arguments: &'a [Expr]) -> Known<'a> {
        let all: Vec<Known<'a>> = arguments.iter().map(|argument| self.of(argument)).collect();
        let before: Saturating<u64> = all.iter().map(|known| known.cost).sum();
        let own = match (function.trim_start_matches('.'), all.as_slice()) {
            ("contains", [of, part]) if may_be(of, "string") => {
                self.read(part, CHARACTER) * self.read(of, CHARACTER)
            }
            ("matches" | "find" | "findAll", [of, pattern, ..]) => {
                self.read(pattern, OF_PATTERN) * self.read(of, CHARACTER)
            }
            ("startsWith" | "endsWith", [_, part]) => self.read(part, CHARACTER),
            (
                "lowerAscii" | "upperAscii" | "trim" | "substring" | "replace" | "split",
                [of, ..],
            ) if may_be(of, "string") => self.read(of, CHARACTER),
            ("url" | "isURL", [of]) if may_be(of, "string") && of.size != ENDLESS => {
                self.read(of, CHARACTER)
            }
            ("+", [left, right]) if left.size == ENDLESS || right.size == ENDLESS => {
                Saturating(u64::MAX)
            }
            ("in", [_, list]) if may_be(list, "array") => self.read(list, 100),
            // The shorter one is read.
            ("==" | "!=", [left, right]) if may_be(left, "string") && may_be(right, "string") => {
                let shorter = if left.size <= right.size { left } else { right };
                self.read(shorter, CHARACTER)
            }
            // A number in the schema has no length.
            ("==" | "!=", [left, right]) if left.schema.or(right.schema).is_some() => Saturating(0),
            ("&&" | "||", _) => Saturating(0),
            ("{}", _) => Saturating(30),
            _ => Saturating(1),
        };
        let cost = before + own;
        let has_endless_result = matches!(function, "string" | ".format");
        let size = ENDLESS.filter(|_| has_endless_result || cost.0 == u64::MAX);
        Known {
            size,
            cost,
            ..Known::default()
        }
    }

    /// A macro that evaluates its steps for each element.
    fn loop_over(
        &mut self,
        target: &Known<'a>,
        name: &'a str,
        function: &str,
        steps: &'a [Expr],
    ) -> Known<'a> {
        let is_optional = function.starts_with(".opt");
        let listed = target.schema.and_then(|schema| object_of(schema, "items"));
        let items = listed.filter(|_| !is_optional);
        let of_element = items.map(|items| child(items, target, "[]"));
        self.names.push((name, of_element.unwrap_or_default()));
        let step_costs = self.sum(steps);
        self.names.pop();
        let each = match function {
            ".all" => 3,
            ".exists" => 4,
            ".exists_one" | ".existsOne" => 2,
            _ => 12,
        };
        let times = if is_optional {
            Saturating(1)
        } else {
            self.read(target, 100)
        };
        Known {
            schema: target.schema.filter(|_| function == ".filter"),
            path: target.path.clone(),
            size: target
                .size
                .filter(|_| matches!(function, ".filter" | ".map")),
            cost: target.cost + (step_costs + Saturating(each)) * times,
        }
    }

    /// The cost of reading a whole value: `per` hundredths for each of its parts.
    fn read(&mut self, known: &Known<'_>, per: u64) -> Saturating<u64> {
        let Some(size) = known.size else {
            return Saturating(0);
        };
        if let Some(keyword) = known.schema.and_then(missing_bound) {
            let entry = (known.path.clone(), keyword);
            if !self.unbounded.contains(&entry) {
                self.unbounded.push(entry);
            }
        }
        Saturating(size.saturating_mul(per).div_ceil(100))
    }

    /// The field `name` of a value; it must be in the schema if the schema lists the fields.
    fn field(&mut self, of: &Known<'a>, name: &str) -> Known<'a> {
        let is_open = |schema: &Object| OPEN.iter().any(|key| schema.contains_key(*key));
        let plain = unescape(name);
        let known = match of.schema {
            None => None,
            Some(schema) if !is_type(schema, "object") || is_open(schema) => {
                object_of(schema, "additionalProperties").map(|value| child(value, of, ".*"))
            }
            Some(schema) => {
                let field = field_of(schema, &plain);
                if field.is_none() && !of.path.ends_with(".metadata") {
                    self.missing.get_or_insert(plain.clone());
                }
                field.map(|schema| child(schema, of, &format!(".{plain}")))
            }
        };
        Known {
            cost: of.cost + Saturating(1),
            ..known.unwrap_or_default()
        }
    }
}

fn may_be(known: &Known<'_>, kind: &str) -> bool {
    known.schema.is_none_or(|schema| is_type(schema, kind))
}

fn child<'a>(schema: &'a Object, of: &Known<'a>, step: &str) -> Known<'a> {
    Known {
        schema: Some(schema),
        path: format!("{}{step}", of.path),
        size: size_of(schema),
        cost: Saturating(1),
    }
}

fn element(schema: &Object) -> Option<&Object> {
    let of_map = || schema.get("additionalProperties");
    schema.get("items").or_else(of_map)?.as_object()
}

/// The JSON name of a field whose name Kubernetes escapes in CEL because it is not an identifier.
pub(super) fn unescape(name: &str) -> String {
    let reserved = name.strip_prefix("__").and_then(|it| it.strip_suffix("__"));
    if let Some(word) = reserved
        && !word.is_empty()
        && word.bytes().all(|byte| byte.is_ascii_lowercase())
        && !matches!(word, "underscores" | "dot" | "dash" | "slash")
    {
        return word.to_owned();
    }
    [
        ("__dot__", "."),
        ("__dash__", "-"),
        ("__slash__", "/"),
        ("__underscores__", "__"),
    ]
    .into_iter()
    .fold(name.to_owned(), |name, (from, to)| name.replace(from, to))
}
