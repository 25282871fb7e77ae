//! Whether a text is of a format, as the API server asks of each default.
//!
//! Source: go-openapi's strfmt, `default.go`, `date.go` and `time.go`, which the API server holds texts
//! against. What is not here is left to it.

use std::net::IpAddr;

/// Whether the API server would refuse a text for its format.
pub(super) fn is_refused(text: &str, format: &str) -> bool {
    let is_fit = match format.replace('-', "").as_str() {
        "date" => is_date(text),
        "datetime" => is_date_time(text),
        "ipv4" => is_ip(text, '.'),
        "ipv6" => is_ip(text, ':'),
        "uuid" => is_uuid(text),
        "byte" => is_base64(text),
        // None of the others takes nothing at all.
        "cidr" | "creditcard" | "duration" | "email" | "hexcolor" | "hostname" | "isbn" | "isbn10"
        | "isbn13" | "mac" | "rgbcolor" | "ssn" | "uri" | "uuid3" | "uuid4" | "uuid5" => {
            !text.is_empty()
        }
        _ => true,
    };
    !is_fit
}

/// The numbers of a text that is made of digits and, between them, of `separator`.
fn numbers<const N: usize>(text: &str, separator: char, digits: [usize; N]) -> Option<[u32; N]> {
    let mut numbers = [0; N];
    let mut parts = text.split(separator);
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let part = parts.next()?;
        let is_number = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
        *number = is_number.then(|| part.parse().ok())??;
    }
    parts.next().is_none().then_some(numbers)
}

fn is_date(text: &str) -> bool {
    let Some([year, month, day]) = numbers(text, '-', [4, 2, 2]) else {
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
    (1..=days).contains(&day)
}

fn is_date_time(text: &str) -> bool {
    let Some((date, rest)) = text.split_once(['T', 't']) else {
        return false;
    };
    let (Some(time), Some(rest)) = (rest.get(..8), rest.get(8..)) else {
        return false;
    };
    let time = numbers(time, ':', [2, 2, 2]);
    let is_time =
        time.is_some_and(|[hour, minute, second]| hour < 24 && minute < 60 && second < 60);
    let zone = match rest.strip_prefix('.') {
        Some(rest) => rest.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => rest,
    };
    let offset = zone.strip_prefix(['+', '-']);
    let is_offset = offset.is_some_and(|offset| numbers(offset, ':', [2, 2]).is_some());
    is_date(date) && is_time && (is_offset || matches!(zone, "Z" | "z"))
}

fn is_ip(text: &str, separator: char) -> bool {
    text.contains(separator) && text.parse::<IpAddr>().is_ok()
}

fn is_uuid(text: &str) -> bool {
    let digits = text.bytes().filter(|byte| *byte != b'-');
    let mut digits = digits.inspect(|_| {});
    let count = digits.by_ref().filter(u8::is_ascii_hexdigit).count();
    count == 32 && text.len() <= 36
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    text.len().is_multiple_of(4) && text.len() - body.len() <= 2 && body.bytes().all(is_letter)
}
