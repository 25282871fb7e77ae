//! Whether a value matches a finished schema, as the API server checks for each default.

use std::cmp::Ordering;

use serde_json::Value;

use super::{Object, format};
use crate::manifests::json::{fields_of, is_true, object_of, text_of, texts_of};

/// A value that does not match its schema.
pub(super) struct Misfit {
    /// Where, relative to the value.
    pub path: String,
    pub problem: String,
}

impl From<String> for Misfit {
    /// A problem of the value itself.
    fn from(problem: String) -> Self {
        let path = String::new();
        Self { path, problem }
    }
}

impl Misfit {
    /// The same, relative to the parent.
    fn below(mut self, step: &str) -> Self {
        self.path.insert_str(0, step);
        self
    }
}

/// Looks for what the API server would refuse in `value`.
pub(super) fn check(value: &Value, schema: &Object) -> Result<(), Misfit> {
    scalar(value, schema)?;
    match value {
        Value::Array(items) => {
            if let Some(of_item) = object_of(schema, "items") {
                let mut items = items.iter().map(|item| check(item, of_item));
                items.try_for_each(|it| it.map_err(|it| it.below("[]")))?;
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let of_field = schema.get("properties").and_then(|all| all.get(name));
                let of_field = of_field.or_else(|| schema.get("additionalProperties"));
                match of_field {
                    Some(Value::Object(schema)) => {
                        check(value, schema).map_err(|it| it.below(&format!(".{name}")))?;
                    }
                    None if !is_open(schema) => {
                        return Err(format!("has the unknown field `{name}`").into());
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
    Ok(alternatives(value, schema)?)
}

/// Whether unknown fields are kept.
fn is_open(schema: &Object) -> bool {
    schema.contains_key("x-kubernetes-preserve-unknown-fields")
        || schema.contains_key("x-kubernetes-embedded-resource")
}

/// Checks the value against the keywords of the node itself.
fn scalar(value: &Value, schema: &Object) -> Result<(), String> {
    if value.is_null() && is_true(schema, "nullable") {
        return Ok(());
    }
    if let Some(kind) = schema.get("type").and_then(Value::as_str) {
        let fits = match kind {
            "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
            "number" => value.is_number(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            _ => value.is_object(),
        };
        if !fits {
            return Err(format!("is not of type `{kind}`"));
        }
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array)
        && !values.contains(value)
    {
        let known: Vec<String> = values.iter().map(ToString::to_string).collect();
        return Err(format!("is not one of {}", known.join(", ")));
    }
    match value {
        Value::Number(number) => {
            let step = schema.get("multipleOf").and_then(Value::as_i64);
            if let (Some(number), Some(step)) = (number.as_i64(), step)
                && number.checked_rem(step).is_some_and(|rest| rest != 0)
            {
                return Err(format!("is not a multiple of {step}"));
            }
            range(number.as_f64().unwrap_or_default(), schema)
        }
        Value::String(text) => {
            lengths(text.chars().count(), schema, "Length", "characters")?;
            pattern(text, schema)?;
            match text_of(schema, "format") {
                of if !of.is_empty() && format::is_refused(text, of) => {
                    Err(format!("is not a valid `{of}`"))
                }
                _ => Ok(()),
            }
        }
        Value::Array(items) => lengths(items.len(), schema, "Items", "items"),
        Value::Object(fields) => {
            lengths(fields.len(), schema, "Properties", "entries")?;
            match texts_of(schema, "required").find(|name| !fields.contains_key(*name)) {
                Some(name) => Err(format!("lacks the required field `{name}`")),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn lengths(length: usize, schema: &Object, of: &str, unit: &str) -> Result<(), String> {
    let bound = |side: &str| {
        let bound = schema.get(&format!("{side}{of}"))?.as_u64()?;
        usize::try_from(bound).ok()
    };
    match (bound("min"), bound("max")) {
        (Some(1), _) if length == 0 => Err("is empty".to_owned()),
        (Some(least), _) if length < least => Err(format!("has fewer than {least} {unit}")),
        (_, Some(most)) if length > most => Err(format!("has more than {most} {unit}")),
        _ => Ok(()),
    }
}

fn range(number: f64, schema: &Object) -> Result<(), String> {
    for (key, exclusive, wrong, side) in [
        ("minimum", "exclusiveMinimum", Ordering::Less, "below"),
        ("maximum", "exclusiveMaximum", Ordering::Greater, "above"),
    ] {
        let Some(bound) = schema.get(key).and_then(Value::as_f64) else {
            continue;
        };
        match number.partial_cmp(&bound) {
            Some(Ordering::Equal) if is_true(schema, exclusive) => {
                return Err(format!("is {bound}, which is excluded"));
            }
            order if order == Some(wrong) => return Err(format!("is {side} {bound}")),
            _ => {}
        }
    }
    Ok(())
}

/// Checks the pattern. A pattern that is not understood here is left to the API server.
fn pattern(text: &str, schema: &Object) -> Result<(), String> {
    let Some(pattern) = schema.get("pattern").and_then(Value::as_str) else {
        return Ok(());
    };
    match regex_lite::Regex::new(pattern) {
        Ok(regex) if !regex.is_match(text) => Err(format!("does not match `{pattern}`")),
        _ => Ok(()),
    }
}

fn alternatives(value: &Value, schema: &Object) -> Result<(), String> {
    let fits = |member: &&Value| {
        let member = member.as_object();
        member.is_none_or(|member| is_fit(value, member))
    };
    for (key, wanted) in [("allOf", "all"), ("anyOf", "one"), ("oneOf", "exactly one")] {
        let Some(members) = schema.get(key).and_then(Value::as_array) else {
            continue;
        };
        let count = members.iter().filter(fits).count();
        let is_fine = match key {
            "allOf" => count == members.len(),
            "anyOf" => count > 0,
            _ => count == 1,
        };
        if !is_fine {
            return Err(format!("does not match {wanted} of its alternatives"));
        }
    }
    Ok(())
}

/// The same for a member of the alternatives, which need not list all fields.
fn is_fit(value: &Value, member: &Object) -> bool {
    scalar(value, member).is_ok()
        && alternatives(value, member).is_ok()
        && fields_of(member).all(|(name, schema)| match (value.get(name), schema) {
            (Some(value), Value::Object(schema)) => is_fit(value, schema),
            _ => true,
        })
        && !object_of(member, "not").is_some_and(|not| is_fit(value, not))
}
