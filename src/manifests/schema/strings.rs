//! What Rust types that are written as strings can read, by the formats that schemars gives them.
//!
//! The API server must accept nothing that the operator cannot read: one such object stops the watch
//! of its kind. It does not know these formats, or accepts more for them than Rust does. Pure.

use serde_json::json;

use super::Object;
use crate::manifests::json::text_of;

/// A number up to 255, without leading zeros.
const OCTET: &str = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";

/// A valid date with a four-digit year.
const DATE: &str = "([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])\
    |(0[469]|11)-(0[1-9]|[12][0-9]|30)\
    |02-(0[1-9]|1[0-9]|2[0-8]))\
    |([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)";

const HOUR_AND_MINUTE: &str = "([01][0-9]|2[0-3]):[0-5][0-9]";
const SECOND: &str = r":([0-5][0-9]|60)(\.[0-9]{1,9})?";

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
pub(crate) const OF_TIMES: [&str; 2] = [TIMESTAMP, TIME_OF_KUBERNETES];

/// Bounds a string whose format says how it is read, unless the user has bounded it, or has said with a `pattern` of null
/// that nothing bounds it.
pub(super) fn bound(schema: &mut Object) {
    let mut bounds = ["anyOf", "enum", "pattern"].into_iter();
    if text_of(schema, "type") != "string" || bounds.any(|key| schema.contains_key(key)) {
        return;
    }
    // `Ipv4Addr`. The format alone accepts `010.0.0.1` and `::ffff:10.0.0.1`.
    let ipv4 = format!(r"^({OCTET}\.){{3}}{OCTET}$");
    let (key, value) = match text_of(schema, "format") {
        "ip" => {
            let either = json!([{ "format": "ipv4", "pattern": ipv4 }, { "format": "ipv6" }]);
            ("anyOf", either)
        }
        "ipv4" => ("pattern", json!(ipv4)),
        "date-time" => ("pattern", json!(TIMESTAMP)),
        // `chrono::NaiveTime` and `jiff::civil::Time`.
        "partial-time" => {
            let time = format!("^{HOUR_AND_MINUTE}({SECOND})?$");
            ("pattern", json!(time))
        }
        // `chrono::NaiveDateTime` and `jiff::civil::DateTime`.
        "partial-date-time" => {
            let date_time = format!("^{DATE}T{HOUR_AND_MINUTE}{SECOND}$");
            ("pattern", json!(date_time))
        }
        _ => return,
    };
    schema.insert(key.to_owned(), value);
}
