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
    let keyword = match text_of(schema, "type") {
        "array" => "maxItems",
        "object" => "maxProperties",
        "string" if !schema.contains_key("enum") => "maxLength",
        _ => return None,
    };
    (!schema.contains_key(keyword)).then_some(keyword)
}

/// Maximum number of characters, items or entries that a request can hold in this node.
pub(super) fn size_of(schema: &Object) -> Option<u64> {
    let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
    let (bound, least) = match (text_of(schema, "type"), text_of(schema, "format")) {
        ("array", _) => {
            let item = object_of(schema, "items");
            (bound("maxItems"), item.map_or(1, least_bytes) + 1)
        }
        ("object", _) => {
            let value = object_of(schema, "additionalProperties")?;
            (bound("maxProperties"), least_bytes(value) + 6)
        }
        ("string", "byte") => (bound("maxLength"), 1),
        // Values of these formats are not strings in CEL.
        ("string", "date" | "date-time" | "duration") => return None,
        ("string", _) => {
            let values = texts_of(schema, "enum");
            let longest = || {
                values
                    .filter_map(|text| u64::try_from(text.len()).ok())
                    .max()
            };
            // A character takes up to four bytes.
            let bytes = bound("maxLength").map(|most| most.saturating_mul(4));
            (bytes.or_else(longest), 1)
        }
        _ => return None,
    };
    Some(bound.unwrap_or((REQUEST - 2) / least))
}

/// Minimum size of a value as JSON, in bytes.
fn least_bytes(schema: &Object) -> u64 {
    match text_of(schema, "type") {
        "boolean" => 4,
        "string" | "array" => 2,
        "object" => {
            let of_field = |name: &str| {
                let field = field_of(schema, name)?;
                let length = u64::try_from(name.len()).ok()?;
                (!field.contains_key("default")).then(|| length + 4 + least_bytes(field))
            };
            let required = texts_of(schema, "required");
            2 + required.filter_map(of_field).sum::<u64>()
        }
        _ => 1,
    }
}

/// How often a rule of this node may be evaluated in one request if no list or map around it is bounded.
pub(crate) fn most_elements(schema: &Object) -> u64 {
    REQUEST / (least_bytes(schema) + 1)
}
