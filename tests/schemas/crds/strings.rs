//! Rust types that are written as strings: the operator can read every value that the API server accepts.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use std::path::Path;

use chrono::{DateTime, NaiveDateTime, NaiveTime, Utc};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::core::Duration;
use kube::{CustomResource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::install;
use crate::support::REPOSITORY;
use crate::support::api_server::api_server;

#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(
    group = "crds.example.com",
    version = "v1",
    kind = "Reading",
    namespaced
)]
struct ReadingSpec {
    #[serde(default)]
    ip: Option<IpAddr>,
    #[serde(default)]
    v4: Option<Ipv4Addr>,
    #[serde(default)]
    v6: Option<Ipv6Addr>,
    // As schemars describes it with its feature for chrono.
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("format" = "partial-time"))]
    time: Option<NaiveTime>,
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("format" = "partial-date-time"))]
    date: Option<NaiveDateTime>,
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    moment: Option<DateTime<Utc>>,
    #[serde(default)]
    of_kubernetes: Option<Time>,
    #[serde(default)]
    port: Option<IntOrString>,
    // As in the guide.
    #[serde(default)]
    #[schemars(regex(pattern = DURATION))]
    pause: Option<Duration>,
    #[serde(default)]
    limits: Option<BTreeMap<Key, u16>>,
}

#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
enum Key {
    Cpu,
    Memory,
}

const DURATION: &str = r"^-?([0-9]{1,10}(\.[0-9]{1,9})?(ns|us|ms|s|m|h))+$";

const FIELDS: [&str; 10] = [
    "ip",
    "v4",
    "v6",
    "time",
    "date",
    "moment",
    "of_kubernetes",
    "port",
    "pause",
    "limits",
];

/// Values of a field, and whether the API server accepts them.
fn cases() -> Vec<(&'static str, Value, bool)> {
    let mut cases = Vec::new();
    let mut add = |field, taken, values: &[&str]| {
        let values = values.iter().map(|value| (field, json!(value), taken));
        cases.extend(values);
    };
    let v4 = ["0.0.0.0", "10.9.87.199", "255.255.255.255", "249.250.1.100"];
    let v6 = [
        "::",
        "::1",
        "FE80::a:0",
        "1:2:3:4:5:6:7:8",
        "::ffff:1.2.3.4",
    ];
    let no_v4 = [
        "1.2.3",
        "1.2.3.4.5",
        "256.1.1.1",
        "010.0.0.1",
        "1.2.3.04",
        "a.b.c.d",
    ];
    let no_v6 = [
        ":::",
        "::00001",
        "::ffff:01.2.3.4",
        "fe80::1%eth0",
        "1:2:3:4:5:6:7:8:9",
    ];
    add("ip", true, &[&v4[..], &v6].concat());
    add("ip", false, &[&no_v4[..], &no_v6].concat());
    add(
        "ip",
        false,
        &["", "localhost", "10.0.0.0/8", "1.2.3.4 ", "[::1]"],
    );
    add("v4", true, &v4);
    add("v4", false, &[&no_v4[..], &v6].concat());
    add("v6", true, &v6);
    add("v6", false, &[&no_v6[..], &v4].concat());
    let times = [
        "00:00:00",
        "23:59:59",
        "12:34",
        "23:59:60",
        "01:02:03.000000004",
    ];
    add("time", true, &times);
    let no_times = [
        "",
        "24:00:00",
        "12:60:00",
        "12:00:61",
        "1h",
        "12:00:00Z",
        "12:00:00.",
    ];
    add("time", false, &no_times);
    let dates = [
        "2024-02-29T00:00:00",
        "2000-02-29T23:59:59.5",
        "1999-12-31T12:00:00",
    ];
    add("date", true, &dates);
    let no_dates = [
        "2023-02-29T00:00:00",
        "1900-02-29T00:00:00",
        "2024-02-30T00:00:00",
        "2024-04-31T00:00:00",
        "2024-13-01T00:00:00",
        "2024-00-01T00:00:00",
        "2024-01-00T00:00:00",
        "2024-01-01",
        "2024-01-01T00:00",
        "2024-01-01T00:00:00Z",
    ];
    add("date", false, &no_dates);
    let moments = [
        "2024-02-29T12:00:00Z",
        "0000-01-01T00:00:00.123456789-23:59",
        "9998-12-31T23:59:59+00:00",
    ];
    let no_moments = [
        "",
        "now",
        "2024-02-30T00:00:00Z",
        "2024-01-01T00:00:00",
        "2024-01-01T24:00:00Z",
        "2024-01-01T00:00:00x5Z",
        "2024-01-01T00:00:00+99:99",
        "2024-01-01T00:00:00Zt",
    ];
    for field in ["moment", "of_kubernetes"] {
        add(field, true, &moments);
        add(field, false, &no_moments);
    }
    add("moment", true, &["9999-12-31T23:59:59Z"]);
    add("of_kubernetes", false, &["9999-12-31T23:59:59Z"]);
    add("port", true, &["http", "2147483648", ""]);
    add("pause", true, &["0s", "1h30m", "-1.5h", "9999999999h"]);
    add(
        "pause",
        false,
        &["5 apples", "1d", "30", "1.h.", "one second"],
    );
    let number = |number: Value, taken| ("port", number, taken);
    cases.extend([
        number(json!(i32::MAX), true),
        number(json!(i32::MIN), true),
        number(json!(i64::from(i32::MAX) + 1), false),
        number(json!(i64::from(i32::MIN) - 1), false),
        number(json!(1.5), false),
    ]);
    let limits = |limits: Value, taken| ("limits", limits, taken);
    cases.extend([
        limits(json!({ "Cpu": 1, "Memory": 2 }), true),
        limits(json!({ "Disk": 1 }), false),
        limits(json!({ "Cpu": 65_536 }), false),
    ]);
    cases.extend(FIELDS.map(|field| (field, json!([]), false)));
    cases.extend(FIELDS.map(|field| (field, Value::Null, true)));
    cases
}

#[test]
fn the_guide_has_the_pattern_of_a_duration() {
    let chapter =
        fs::read_to_string(Path::new(REPOSITORY).join("src/guide/types.md")).expect("the chapter");
    assert!(chapter.contains(DURATION));
}

#[test]
fn the_api_server_accepts_nothing_that_rust_cannot_read() {
    install::<Reading>();
    let cases = cases();
    let object = |(at, (field, value, _)): (usize, &(&str, Value, bool))| {
        let object = json!({
            "apiVersion": "crds.example.com/v1",
            "kind": "Reading",
            "metadata": { "name": format!("case-{at}"), "namespace": "default" },
            "spec": { *field: value },
        });
        object.to_string()
    };
    let objects: Vec<String> = cases.iter().enumerate().map(object).collect();
    let created = api_server().kubectl("create -f -", &objects.join("\n---\n"));
    for (at, (field, value, taken)) in cases.iter().enumerate() {
        let line = format!("reading.crds.example.com/case-{at} created\n");
        let was_taken = created.stdout.contains(&line);
        assert_eq!(was_taken, *taken, "{field}: {value}\n{}", created.stderr);
        let is_read = serde_json::from_value::<ReadingSpec>(json!({ *field: value })).is_ok();
        assert_eq!(is_read, *taken, "{field}: {value}, as Rust reads it");
    }
    // Stored numbers may look different.
    let stored = api_server().kubectl("get readings -o json", "").success();
    let mut stored: Value = serde_json::from_str(&stored.stdout).expect("JSON");
    let stored: Vec<Reading> = serde_json::from_value(stored["items"].take()).expect("readable");
    let taken = cases.iter().filter(|(_, _, taken)| *taken).count();
    assert_eq!(stored.len(), taken);
    assert!(stored.iter().all(|one| one.name_any().starts_with("case-")));
}
