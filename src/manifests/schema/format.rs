//! Whether a text matches a format, as the API server checks for each default.
//!
//! Source: `strfmt` in kube-openapi's `pkg/validation`, with which the API server checks texts. Hostnames
//! and e-mail addresses, for instance, are left to the API server.

use core::net::IpAddr;

use k8s_openapi::jiff::civil::Date;
use regex_lite::Regex;

const DATE_TIME: &str =
    r"(?i)^t([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](.[0-9]+)?(z|[-+][0-9]{2}:[0-9]{2})$";
const UUID: &str = "(?i)^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$";
const BASE64: &str = "^[A-Za-z0-9+/]+={0,2}$";

/// Whether the API server would refuse a text because of its format.
pub(super) fn is_refused(text: &str, format: &str) -> bool {
    let is_fit = match format.replace('-', "").as_str() {
        "date" => is_date(text),
        "datetime" => is_date_time(text),
        // Its numbers may have leading zeros.
        "ipv4" => text.contains('.'),
        "ipv6" => text.contains(':') && text.parse::<IpAddr>().is_ok(),
        "uuid" => matches(UUID, text),
        "byte" => text.len().is_multiple_of(4) && matches(BASE64, text),
        "bsonobjectid" | "password" => true,
        // An unknown format is dropped, and no other format accepts an empty text.
        _ => !text.is_empty(),
    };
    !is_fit
}

fn matches(pattern: &str, text: &str) -> bool {
    Regex::new(pattern).is_ok_and(|regex| regex.is_match(text))
}

fn is_date(text: &str) -> bool {
    matches("^[0-9]{4}-[0-9]{2}-[0-9]{2}$", text) && text.parse::<Date>().is_ok()
}

fn is_date_time(text: &str) -> bool {
    let halves = text.split_at_checked("2006-01-02".len());
    halves.is_some_and(|(date, time)| is_date(date) && matches(DATE_TIME, time))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each was tried as a default in a CRD on a kube-apiserver 1.36.
    #[test]
    fn a_text_is_refused_if_the_api_server_refuses_it() {
        let cases: [(&str, &[&str], &[&str]); 9] = [
            (
                "date",
                &["2024-02-29", "0000-01-01"],
                &["", "2023-02-29", "2024-2-9", "+024-01-01"],
            ),
            (
                "date-time",
                &[
                    "2024-02-29T23:59:59Z",
                    "2024-02-29t00:00:00.5z",
                    "2024-02-29T00:00:00-99:99",
                    "2024-02-29T00:00:00x5Z",
                ],
                &[
                    "",
                    "not-a-date",
                    "2024-02-30T00:00:00Z",
                    "2024-02-29T24:00:00Z",
                    "2024-02-29T00:00:00",
                ],
            ),
            ("ipv4", &["10.0.0.1", "010.0.0.1"], &["", "localhost"]),
            (
                "ipv6",
                &["::1", "::ffff:1.2.3.4"],
                &["", "10.0.0.1", "::1%eth0"],
            ),
            (
                "uuid",
                &[
                    "00000000-0000-4000-8000-00000000000A",
                    "00000000000040008000000000000000",
                ],
                &["", "00000000-0000-4000-8000"],
            ),
            (
                "byte",
                &["YWJj", "YQ==", "YWI="],
                &["", "YWJ", "Y===", "a b="],
            ),
            ("duration", &["1h"], &[""]),
            ("email", &["a@example.com"], &[""]),
            ("password", &["", "x"], &[]),
        ];
        for (format, accepted, refused) in cases {
            for text in accepted {
                assert!(!is_refused(text, format), "{format}: {text:?}");
            }
            for text in refused {
                assert!(is_refused(text, format), "{format}: {text:?}");
            }
        }
    }
}
