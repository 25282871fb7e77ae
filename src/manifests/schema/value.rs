//! Whether a value matches a finished schema, as the API server checks for each default.

use std::cmp::Ordering;

use regex_lite::Regex;
use serde_json::Value;

use super::{Object, format};
use crate::manifests::json::{fields_of, is_true, object_of, text_of, texts_of};

/// Looks for what the API server would refuse in `value`. The error is where, relative to the value, and what.
pub(super) fn check(value: &Value, schema: &Object) -> Result<(), (String, String)> {
    let here = |problem| (String::new(), problem);
    scalar(value, schema).map_err(here)?;
    let check_below = |value: &Value, schema: &Object, step: &str| {
        check(value, schema).map_err(|(path, problem)| (format!("{step}{path}"), problem))
    };
    match value {
        Value::Array(items) => {
            if let Some(of_item) = object_of(schema, "items") {
                for item in items {
                    check_below(item, of_item, "[]")?;
                }
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let of_field = schema.get("properties").and_then(|all| all.get(name));
                match of_field.or_else(|| schema.get("additionalProperties")) {
                    Some(Value::Object(schema)) => {
                        check_below(value, schema, &format!(".{name}"))?;
                    }
                    None if !is_open(schema) => {
                        return Err(here(format!("has the unknown field `{name}`")));
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
    alternatives(value, schema).map_err(here)
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
            // A pattern that is not understood here is left to the API server.
            let pattern = text_of(schema, "pattern");
            if Regex::new(pattern).is_ok_and(|regex| !regex.is_match(text)) {
                return Err(format!("does not match `{pattern}`"));
            }
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

fn alternatives(value: &Value, schema: &Object) -> Result<(), String> {
    let fits = |member: &&Value| member.as_object().is_none_or(|it| is_fit(value, it));
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
