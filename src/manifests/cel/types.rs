//! The types in an expression, as far as schemas tell them. Pure.
//!
//! Whatever is not known for certain has any type, and is left to the API server: so what is refused here either is
//! refused there too, or never does what its author means, such as a comparison of a number with a text.

mod created;
mod functions;
mod words;

use self::functions::named_function;
pub(crate) use self::words::is_field_of_object;
use self::words::{did_you_mean, must_be, no_list, shown, unfit};
use super::cost::{OPEN, unescape};
use super::{CelError, Expr, KNOWN, Literal, scopes};
use crate::error::join;
use crate::manifests::json::{Object, field_of, fields_of, object_of, text_of};
use crate::names::is_among;

/// What is known about the value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type<'a> {
    /// Any value.
    Any,
    Bool,
    Double,
    Int,
    Uint,
    Null,
    Text,
    List(Box<Type<'a>>),
    /// A map from texts.
    Map(Box<Type<'a>>),
    /// An object with the fields of this schema, and no others.
    Fields(&'a Object),
    /// What the policy computes: `variables`.
    Variables,
    /// An object that the expression creates, with the name of its type.
    Created(&'a str),
}

impl<'a> Type<'a> {
    /// The type of the values that a schema describes.
    pub(crate) fn of(schema: &'a Object) -> Self {
        if OPEN[1..].iter().any(|key| schema.contains_key(*key)) {
            return Self::Any;
        }
        match text_of(schema, "type") {
            "boolean" => Self::Bool,
            "integer" => Self::Int,
            // A date or a duration may be more than a string.
            "string" if !schema.contains_key("format") => Self::Text,
            "array" => Self::List(Box::new(inner(schema, "items"))),
            "object" if schema.contains_key(OPEN[0]) => Self::Map(Box::new(inner(schema, OPEN[0]))),
            "object" if schema.contains_key("properties") => Self::Fields(schema),
            _ => Self::Any,
        }
    }

    fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::Uint | Self::Double)
    }

    /// Whether a value of this type may also be one of the other.
    fn meets(&self, other: &Self) -> bool {
        let is_map = |it: &Self| matches!(it, Self::Map(_) | Self::Fields(_) | Self::Created(_));
        match (self, other) {
            (Self::Any | Self::Null, _) | (_, Self::Any | Self::Null) => true,
            (Self::List(a), Self::List(b)) | (Self::Map(a), Self::Map(b)) => a.meets(b),
            _ => {
                self == other
                    || self.is_number() && other.is_number()
                    || is_map(self) && is_map(other)
            }
        }
    }

    /// The type of a value that is one or the other.
    fn or(self, other: Self) -> Self {
        if self == other { self } else { Self::Any }
    }
}

fn inner<'a>(schema: &'a Object, key: &str) -> Type<'a> {
    object_of(schema, key).map_or(Type::Any, Type::of)
}

/// What an expression can use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment<'a> {
    pub(crate) names: Vec<(&'a str, Type<'a>)>,
    /// The fields of `variables`.
    pub(crate) variables: Vec<(&'a str, Type<'a>)>,
    /// The schema of the object that `Object{…}` is a part of, where an expression may create one: in mutations.
    pub(crate) creates: Option<&'a Object>,
}

/// Finds the type of an expression, or what is wrong with it.
pub(crate) fn check<'a>(
    expression: &'a Expr,
    environment: &Environment<'a>,
) -> Result<Type<'a>, CelError> {
    let mut checker = Checker {
        environment,
        bound: Vec::new(),
    };
    checker.of(expression)
}

struct Checker<'a, 'e> {
    environment: &'e Environment<'a>,
    /// The names that macros have bound, innermost last.
    bound: Vec<(&'a str, Type<'a>)>,
}

type Checked<'a> = Result<Type<'a>, CelError>;

impl<'a> Checker<'a, '_> {
    fn of(&mut self, expression: &'a Expr) -> Checked<'a> {
        match expression {
            Expr::Constant(literal) => Ok(match literal {
                Literal::Bool => Type::Bool,
                Literal::Double => Type::Double,
                Literal::Int => Type::Int,
                Literal::Null => Type::Null,
                Literal::Uint => Type::Uint,
                Literal::Unknown => Type::Any,
            }),
            Expr::Text(_) => Ok(Type::Text),
            Expr::Name(name, at) => self.name(name, *at),
            Expr::Field { of, name, at } => self.field(of, name, *at),
            Expr::List(items) => {
                let types: Result<Vec<_>, _> = items.iter().map(|item| self.of(item)).collect();
                let joined = types?.into_iter().reduce(Type::or);
                Ok(Type::List(Box::new(joined.unwrap_or(Type::Any))))
            }
            Expr::Call {
                function,
                arguments,
                at,
            } => self.call(function, arguments, *at),
            Expr::Message { name, fields, at } => self.created(name, fields, *at),
        }
    }

    fn name(&self, name: &str, at: usize) -> Checked<'a> {
        let mut names = self.bound.iter().rev().chain(&self.environment.names);
        if let Some((_, known)) = names.find(|(it, _)| *it == name) {
            return Ok(known.clone());
        }
        if is_among(KNOWN, name) {
            return Ok(Type::Any);
        }
        let names = || self.environment.names.iter().map(|(name, _)| *name);
        let declared = join(&names().collect::<Vec<_>>(), ", ", |name| {
            format!("`{name}`")
        });
        let close = did_you_mean(name, names());
        Err(CelError::new(
            at,
            format!("`{name}` is not declared{close}: an expression can use {declared}"),
        ))
    }

    fn field(&mut self, of: &'a Expr, name: &str, at: usize) -> Checked<'a> {
        let object = self.of(of)?;
        let missing = |names: Vec<&str>| {
            let close = did_you_mean(name, names.into_iter());
            CelError::new(at, format!("{} has no field `{name}`{close}", shown(of)))
        };
        match object {
            Type::Fields(schema) => match field_of(schema, &unescape(name)) {
                Some(field) => Ok(Type::of(field)),
                None => Err(missing(
                    fields_of(schema).map(|(it, _)| it.as_str()).collect(),
                )),
            },
            Type::Variables => {
                let variables = &self.environment.variables;
                let found = variables.iter().find(|(it, _)| *it == name);
                let names = || variables.iter().map(|(name, _)| *name).collect();
                found.map_or_else(|| Err(missing(names())), |(_, known)| Ok(known.clone()))
            }
            Type::Map(value) => Ok(*value),
            Type::Any | Type::Created(_) => Ok(Type::Any),
            Type::Null => {
                let other = match shown(of).as_str() {
                    "`object`" => ": with only `DELETE` in `operations`, the object is `oldObject`",
                    "`oldObject`" => ": with only `CREATE` in `operations`, there is no old object",
                    _ => "",
                };
                Err(CelError::new(at, format!("{} is null{other}", shown(of))))
            }
            Type::List(_) => Err(CelError::new(
                at,
                format!(
                    "{} is a list: write `[0]` for its first element, or `.all(x, …)` or `.exists(x, …)`",
                    shown(of)
                ),
            )),
            scalar => {
                let message = format!("{} is {scalar}, which has no field `{name}`", shown(of));
                Err(CelError::new(at, message))
            }
        }
    }

    fn call(&mut self, function: &'a str, arguments: &'a [Expr], at: usize) -> Checked<'a> {
        let [outside, names, inside] = scopes(function, arguments);
        match (function, outside, names) {
            ("has", [Expr::Field { of, name, at }], _) => {
                self.field(of, name, *at)?;
                Ok(Type::Bool)
            }
            ("has", ..) => Err(CelError::new(
                at,
                "`has` needs a field, such as `has(object.spec)`; for a key of a map, write `'key' in map`",
            )),
            (".bind", [value], [Expr::Name(name, _)]) => {
                let value = self.of(value)?;
                self.within(vec![(name, value)], inside)
            }
            (".optMap" | ".optFlatMap", [value], [Expr::Name(name, _)]) => {
                let value = self.of(value)?;
                self.within(vec![(name, value)], inside)
            }
            (_, [target], [Expr::Name(name, _)]) => {
                let list = self.of(target)?;
                let element = element(&list).ok_or_else(|| no_list(target, &list, at))?;
                self.comprehension(function, list, vec![(name, element)], inside)
            }
            (_, [target], [Expr::Name(first, _), Expr::Name(second, _)]) => {
                let list = self.of(target)?;
                let (key, value) = match &list {
                    Type::List(element) => (Type::Int, (**element).clone()),
                    Type::Map(value) => (Type::Text, (**value).clone()),
                    Type::Any | Type::Fields(_) | Type::Variables | Type::Created(_) => {
                        (Type::Any, Type::Any)
                    }
                    scalar => return Err(no_list(target, scalar, at)),
                };
                self.comprehension(function, list, vec![(first, key), (second, value)], inside)
            }
            _ => self.function(function, arguments, at),
        }
    }

    /// The type of the last of these expressions, with these names bound.
    fn within(&mut self, names: Vec<(&'a str, Type<'a>)>, inside: &'a [Expr]) -> Checked<'a> {
        let before = self.bound.len();
        self.bound.extend(names);
        let mut last = Ok(Type::Any);
        for expression in inside {
            last = self.of(expression);
            if last.is_err() {
                break;
            }
        }
        self.bound.truncate(before);
        last
    }

    fn comprehension(
        &mut self,
        function: &str,
        list: Type<'a>,
        names: Vec<(&'a str, Type<'a>)>,
        inside: &'a [Expr],
    ) -> Checked<'a> {
        let body = self.within(names, inside)?;
        match function {
            ".map" | ".transformList" => return Ok(Type::List(Box::new(body))),
            ".transformMap" | ".transformMapEntry" => return Ok(Type::Any),
            _ => {}
        }
        if let Some(step) = inside.last() {
            must_be(
                &Type::Bool,
                step,
                &body,
                &format!("in `{}`", &function[1..]),
            )?;
        }
        Ok(match function {
            ".filter" => list,
            _ => Type::Bool,
        })
    }

    /// A function or an operator.
    fn function(&mut self, function: &'a str, arguments: &'a [Expr], at: usize) -> Checked<'a> {
        let types: Result<Vec<_>, _> = arguments.iter().map(|it| self.of(it)).collect();
        let types = types?;
        match (function, &types[..], arguments) {
            ("&&" | "||", [left, right], [a, b]) => {
                let place = format!("beside `{function}`");
                must_be(&Type::Bool, a, left, &place)?;
                must_be(&Type::Bool, b, right, &place)?;
                Ok(Type::Bool)
            }
            ("!", [of], [a]) => {
                must_be(&Type::Bool, a, of, "after `!`")?;
                Ok(Type::Bool)
            }
            ("?:", [condition, then, otherwise], [a, ..]) => {
                must_be(&Type::Bool, a, condition, "before `?`")?;
                Ok(then.clone().or(otherwise.clone()))
            }
            (
                "==" | "!=" | "<" | "<=" | ">" | ">=" | "+" | "-" | "*" | "/" | "%",
                [left, right],
                _,
            ) => operation(function, left, right)
                .ok_or_else(|| unfit(function, arguments, left, right, at)),
            ("-", [of], [a]) if *of != Type::Any && !of.is_number() => Err(CelError::new(
                at,
                format!("{} is {of}, not a number", shown(a)),
            )),
            ("-", [of], _) => Ok(of.clone()),
            ("in", [left, right], [a, b]) => {
                let element = element(right).ok_or_else(|| no_list(b, right, at))?;
                let message = || {
                    let (a, b) = (shown(a), shown(b));
                    format!("{a} is {left}, but {b} has {element} in it")
                };
                if left.meets(&element) {
                    Ok(Type::Bool)
                } else {
                    Err(CelError::new(at, message()))
                }
            }
            ("[]", [of, index], [a, _]) => match of {
                Type::List(element) if index.meets(&Type::Int) => Ok((**element).clone()),
                Type::Map(value) if index.meets(&Type::Text) => Ok((**value).clone()),
                Type::Any | Type::Fields(_) | Type::Variables | Type::Created(_) => Ok(Type::Any),
                _ => Err(CelError::new(
                    at,
                    format!("{} is {of}, which {index} cannot index", shown(a)),
                )),
            },
            ("{}", entries, _) => {
                let values = entries.iter().skip(1).step_by(2).cloned();
                Ok(Type::Map(Box::new(
                    values.reduce(Type::or).unwrap_or(Type::Any),
                )))
            }
            _ => named_function(function, arguments, &types, at),
        }
    }
}

/// The type of the elements of a list, or of the keys of a map; none for a value that is neither.
fn element<'a>(of: &Type<'a>) -> Option<Type<'a>> {
    Some(match of {
        Type::List(element) => (**element).clone(),
        Type::Map(_) => Type::Text,
        Type::Any | Type::Fields(_) | Type::Variables | Type::Created(_) => Type::Any,
        _ => return None,
    })
}

/// The type of the result of an operator between two values; none if it cannot have such values.
fn operation<'a>(operator: &str, left: &Type<'a>, right: &Type<'a>) -> Option<Type<'a>> {
    let is_ordered =
        |it: &Type<'_>| matches!(it, Type::Any | Type::Bool | Type::Text) || it.is_number();
    let fits = match (operator, left, right) {
        ("==" | "!=", ..) => left.meets(right),
        ("<" | "<=" | ">" | ">=", ..) => is_ordered(left) && is_ordered(right) && left.meets(right),
        (_, Type::Any, _) | (_, _, Type::Any) => true,
        ("+", Type::Text, Type::Text) | ("+", Type::List(_), Type::List(_)) => true,
        _ => left == right && left.is_number(),
    };
    let is_sum = matches!(operator, "+" | "-" | "*" | "/" | "%");
    fits.then(|| {
        if is_sum {
            left.clone().or(right.clone())
        } else {
            Type::Bool
        }
    })
}
