//! Whether a text is of a format, as the API server asks of each default.
//!
//! Source: `strfmt` in kube-openapi's `pkg/validation`, which the API server holds texts against. What a
//! hostname or an e-mail address is, for instance, is left to it.

use std::net::IpAddr;

use regex_lite::Regex;

const DATE_TIME: &str =
    r"(?i)^t([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](.[0-9]+)?(z|[-+][0-9]{2}:[0-9]{2})$";
const UUID: &str = "(?i)^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$";
const BASE64: &str = "^[A-Za-z0-9+/]+={0,2}$";

/// Whether the API server would refuse a text for its format.
pub(super) fn is_refused(text: &str, format: &str) -> bool {
    let is_fit = match format.replace('-', "").as_str() {
        "date" => is_date(text),
        "datetime" => is_date_time(text),
        // It may have zeros at the beginning of its numbers.
        "ipv4" => text.contains('.'),
        "ipv6" => text.contains(':') && text.parse::<IpAddr>().is_ok(),
        "uuid" => matches(UUID, text),
        "byte" => text.len() % 4 == 0 && matches(BASE64, text),
        "bsonobjectid" | "password" => true,
        // A format that is not known here is dropped, and no other takes an empty text.
        _ => !text.is_empty(),
    };
    !is_fit
}

fn matches(pattern: &str, text: &str) -> bool {
    Regex::new(pattern).is_ok_and(|regex| regex.is_match(text))
}

fn is_date(text: &str) -> bool {
    let parts: Option<Vec<u32>> = text.split('-').map(|part| part.parse().ok()).collect();
    let Some(&[year, month, day]) = parts.as_deref() else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    matches("^[0-9]{4}-[0-9]{2}-[0-9]{2}$", text) && (1..=days).contains(&day)
}

fn is_date_time(text: &str) -> bool {
    let halves = text.split_at_checked("2006-01-02".len());
    halves.is_some_and(|(date, time)| is_date(date) && matches(DATE_TIME, time))
}
