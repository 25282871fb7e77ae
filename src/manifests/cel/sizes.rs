//! How large a value can be, as the API server estimates it from the schema. Pure.

use serde_json::Value;

use crate::manifests::json::{Object, field_of, object_of, text_of, texts_of};

/// Maximum size of a request, in bytes.
const REQUEST: u64 = 3 * 1024 * 1024;

pub(super) fn is_type(schema: &Object, kind: &str) -> bool {
    text_of(schema, "type") == kind
}

/// The keyword that would bound the length of a value, if it is missing.
pub(super) fn missing_bound(schema: &Object) -> Option<&'static str> {
    let keyword = match schema.get("type")?.as_str()? {
        "array" => "maxItems",
        "string" if schema.contains_key("enum") => return None,
        "string" => "maxLength",
        "object" if schema.contains_key("additionalProperties") => "maxProperties",
        _ => return None,
    };
    (!schema.contains_key(keyword)).then_some(keyword)
}

fn bound(schema: &Object, keyword: &str) -> Option<u64> {
    schema.get(keyword).and_then(Value::as_u64)
}

/// Maximum number of characters, items or entries that a request can hold in this node.
pub(super) fn size_of(schema: &Object) -> Option<u64> {
    match schema.get("type")?.as_str()? {
        "array" => Some(bound(schema, "maxItems").unwrap_or_else(|| {
            let item = object_of(schema, "items");
            (REQUEST - 2) / (item.map_or(1, least_bytes) + 1)
        })),
        "object" => {
            let value = schema.get("additionalProperties")?.as_object()?;
            let most = || (REQUEST - 2) / (least_bytes(value) + 6);
            Some(bound(schema, "maxProperties").unwrap_or_else(most))
        }
        "string" => Some(match text_of(schema, "format") {
            "byte" => bound(schema, "maxLength").unwrap_or(REQUEST - 2),
            // Values of these formats are not strings in CEL.
            "date" | "date-time" | "duration" => return None,
            _ => text_size(schema),
        }),
        _ => None,
    }
}

fn text_size(schema: &Object) -> u64 {
    let longest = || {
        let values = schema.get("enum")?.as_array()?.iter();
        let lengths = values.filter_map(|value| u64::try_from(value.as_str()?.len()).ok());
        lengths.max()
    };
    // A character takes up to four bytes.
    let bytes = bound(schema, "maxLength").map(|most| most.saturating_mul(4));
    bytes.or_else(longest).unwrap_or(REQUEST - 2)
}

/// Minimum size of a value as JSON, in bytes.
fn least_bytes(schema: &Object) -> u64 {
    match text_of(schema, "type") {
        "boolean" => 4,
        "string" | "array" => 2,
        "object" => {
            let of_field = |name: &str| {
                let schema = field_of(schema, name)?;
                let length = u64::try_from(name.len()).ok()?;
                (!schema.contains_key("default")).then(|| length + 4 + least_bytes(schema))
            };
            2 + texts_of(schema, "required")
                .filter_map(of_field)
                .sum::<u64>()
        }
        _ => 1,
    }
}

/// How often a rule of this node may be evaluated in one request if no list or map around it is bounded.
pub fn most_elements(schema: &Object) -> u64 {
    REQUEST / (least_bytes(schema) + 1)
}
