//! What Rust types that are written as strings can read, by the formats that schemars gives them.
//!
//! The API server must accept nothing that the operator cannot read: one such object stops the watch
//! of its kind. It does not know these formats, or accepts more for them than Rust does. Pure.

use serde_json::json;

use super::Object;

/// A number up to 255, without leading zeros.
macro_rules! octet {
    () => {
        "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
    };
}

macro_rules! ipv4 {
    () => {
        concat!("(", octet!(), r"\.){3}", octet!())
    };
}

/// A valid date with a four-digit year.
macro_rules! date {
    () => {
        concat!(
            "([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])",
            "|(0[469]|11)-(0[1-9]|[12][0-9]|30)",
            "|02-(0[1-9]|1[0-9]|2[0-8]))",
            "|([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)",
        )
    };
}

macro_rules! hour_and_minute {
    () => {
        "([01][0-9]|2[0-3]):[0-5][0-9]"
    };
}

macro_rules! second {
    () => {
        r":([0-5][0-9]|60)(\.[0-9]{1,9})?"
    };
}

/// `Ipv4Addr`. The format alone accepts `010.0.0.1` and `::ffff:10.0.0.1`.
const IPV4: &str = concat!("^", ipv4!(), "$");

/// `chrono::NaiveTime` and `jiff::civil::Time`.
const TIME: &str = concat!("^", hour_and_minute!(), "(", second!(), ")?$");

/// `chrono::NaiveDateTime` and `jiff::civil::DateTime`.
const DATE_TIME: &str = concat!("^", date!(), "T", hour_and_minute!(), second!(), "$");

macro_rules! time_and_offset {
    () => {
        r"T[0-9:]{8}(\.[0-9]{1,9})?(Z|[-+]([01][0-9]|2[0-3]):[0-5][0-9])$"
    };
}

/// `chrono::DateTime` and `jiff::Timestamp`. The format checks the date and the time, but accepts
/// `00:00:00x5Z` and `00:00:00+99:99`.
const TIMESTAMP: &str = concat!("^[0-9-]{10}", time_and_offset!());

/// What k8s-openapi's `Time` can read: its range ends before the end of the year 9999.
pub(super) const TIME_OF_KUBERNETES: &str =
    concat!("^[0-9]*[0-8][0-9]*-[0-9-]{5}", time_and_offset!());

/// The patterns beside the format of a time, which tell a reader nothing more.
pub const OF_TIMES: [&str; 2] = [TIMESTAMP, TIME_OF_KUBERNETES];

/// Bounds a string whose format says how it is read, unless the user has bounded it.
pub(super) fn bound(schema: &mut Object) {
    let is_string = schema.get("type").is_some_and(|kind| kind == "string");
    let is_bounded = ["anyOf", "enum", "pattern"]
        .iter()
        .any(|key| schema.contains_key(*key));
    if !is_string || is_bounded {
        return;
    }
    let Some(format) = schema.get("format").and_then(|format| format.as_str()) else {
        return;
    };
    let (key, value) = match format {
        "ip" => (
            "anyOf",
            json!([
                { "format": "ipv4", "pattern": IPV4 },
                { "format": "ipv6" },
            ]),
        ),
        "ipv4" => ("pattern", json!(IPV4)),
        "date-time" => ("pattern", json!(TIMESTAMP)),
        "partial-time" => ("pattern", json!(TIME)),
        "partial-date-time" => ("pattern", json!(DATE_TIME)),
        _ => return,
    };
    schema.insert(key.to_owned(), value);
}
