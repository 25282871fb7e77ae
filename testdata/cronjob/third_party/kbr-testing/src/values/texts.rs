// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Strings with a length, a pattern or a format.

use k8s_openapi::jiff::Timestamp;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::string::string_regex;
use serde_json::Value;

use super::limit;

pub(super) fn string(schema: &Value) -> BoxedStrategy<Value> {
    let least = limit(schema, "minLength", 0);
    let most = limit(schema, "maxLength", usize::MAX).min(least.saturating_add(6));
    let text = match (schema["pattern"].as_str(), schema["format"].as_str()) {
        // The pattern that kbr writes next to it does not limit months and days.
        (_, Some("date-time")) => Some(times()),
        (Some(pattern), _) => matching(pattern),
        (None, Some(format)) => of_format(format),
        (None, None) => None,
    };
    let Some(text) = text else {
        let character = prop_oneof![6 => "[a-z0-9]", 1 => "[A-Z ._/~%*@\"\\\\é✓-]"];
        let text = vec(character, least..=most.max(least));
        return text.prop_map(|text| Value::String(text.concat())).boxed();
    };
    let most = limit(schema, "maxLength", usize::MAX);
    text.prop_filter("minLength and maxLength", move |text| {
        (least..=most).contains(&text.chars().count())
    })
    .prop_map(Value::String)
    .boxed()
}

/// Strings that match a pattern, if they can be generated from it.
fn matching(pattern: &str) -> Option<BoxedStrategy<String>> {
    let pattern = pattern.strip_prefix('^').unwrap_or(pattern);
    let pattern = match pattern.strip_suffix('$') {
        Some(start) if !start.ends_with('\\') => start,
        _ => pattern,
    };
    // In the API server, these classes are ASCII only.
    let pattern = pattern
        .replace("\\d", "[0-9]")
        .replace("\\w", "[0-9A-Za-z_]")
        .replace("\\s", "[ \\t]");
    string_regex(&pattern).ok().map(Strategy::boxed)
}

fn of_format(format: &str) -> Option<BoxedStrategy<String>> {
    let examples: &'static [&'static str] = match format {
        "date" => {
            let dates = times().prop_map(|time| time.chars().take(10).collect());
            return Some(dates.boxed());
        }
        "byte" => &["", "AA==", "aGVsbG8=", "/+8="],
        "duration" => &["0s", "5s", "1h30m", "100ms"],
        "email" => &["a@example.com"],
        "hostname" => &["a", "a.example.com"],
        "ipv4" | "ip" => &["127.0.0.1", "10.0.0.255"],
        "ipv6" => &["::1", "fd00::a:1"],
        "cidr" => &["10.0.0.0/8", "fd00::/16"],
        "mac" => &["00:00:5e:00:53:01"],
        "uri" => &["https://example.com/a?b=c"],
        "uuid" | "uuid4" => &["5a4e6e30-7b1c-4d3f-8b1e-0a5d6c3b2a19"],
        _ => return None,
    };
    Some(select(examples).prop_map(str::to_owned).boxed())
}

fn times() -> BoxedStrategy<String> {
    let zones = select(&["Z", "Z", "Z", ".5Z", ".123456Z", "+02:00"][..]);
    (0..4_000_000_000_i64, zones)
        .prop_map(|(second, zone)| {
            let time = Timestamp::from_second(second).unwrap_or_default();
            time.to_string().replace('Z', zone)
        })
        .boxed()
}
