//! Whether an object is the same after Rust has read and written it.
//!
//! What may differ is listed here, and in the guide's chapter about imports. Nothing else may.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value};

/// The object without what may differ. `given` is the schema under which it is stored, `own` the one of the Rust type.
pub fn canonical(value: &Value, given: &Value, own: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter_map(|(name, value)| {
                let [below, own_below] = [given, own].map(|schema| of_field(schema, name));
                if is_absent(value, below, own_below) {
                    return None;
                }
                let value = match name.as_str() {
                    "lastTransitionTime" | "timeAdded" => whole_seconds(value),
                    _ => canonical(value, below, own_below),
                };
                Some((name.clone(), value))
            });
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Value::Array(items) => {
            let items = items
                .iter()
                .map(|item| canonical(item, &given["items"], &own["items"]));
            items.collect()
        }
        // The same time, written with another offset or with zeros at its end.
        Value::String(text) if given["format"] == "date-time" => {
            match text.parse::<DateTime<Utc>>() {
                Ok(time) => time.to_rfc3339_opts(SecondsFormat::AutoSi, true).into(),
                Err(_) => value.clone(),
            }
        }
        // A quantity is read as a string, which means the same.
        Value::Number(number) if is_quantity(own) => number.to_string().into(),
        _ => value.clone(),
    }
}

fn of_field<'a>(schema: &'a Value, name: &str) -> &'a Value {
    match &schema["properties"][name] {
        Value::Null => &schema["additionalProperties"],
        field => field,
    }
}

/// Whether a field means the same as none.
fn is_absent(value: &Value, given: &Value, own: &Value) -> bool {
    let zero = |value: &Value| {
        let empty = value.as_object().is_some_and(Map::is_empty);
        empty || *value == "" || *value == 0 || *value == false
    };
    match value {
        // In Rust, both are `None`. With a default, only null is.
        Value::Null => given["nullable"] == true && given["default"].is_null(),
        Value::Array(items) if items.is_empty() => {
            // A list of conditions.
            own["items"]["properties"]["lastTransitionTime"].is_object()
        }
        // A default of Kubernetes' own types, which Go has without one.
        value => given["default"].is_null() && own["default"] == *value && zero(value),
    }
}

/// Kubernetes' own types, here conditions and taints, have no fractions of a second.
fn whole_seconds(value: &Value) -> Value {
    let time = value
        .as_str()
        .and_then(|text| text.parse::<DateTime<Utc>>().ok());
    time.map_or_else(
        || value.clone(),
        |time| time.to_rfc3339_opts(SecondsFormat::Secs, true).into(),
    )
}

fn is_quantity(schema: &Value) -> bool {
    let pattern = schema["pattern"].as_str().unwrap_or_default();
    schema["x-kubernetes-int-or-string"] == true && pattern.contains("KMGTPE")
}
