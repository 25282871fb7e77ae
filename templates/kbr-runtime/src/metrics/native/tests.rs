// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Which format a scraper gets, and the content of the one with native histograms.

use super::*;
use crate::Action;
use crate::metrics::Metrics;
use prometheus_client::encoding::prometheus_protobuf::prometheus_data_model::{
    MetricFamily, MetricType,
};
use prost::Message;
use std::collections::BTreeMap;

fn accept(values: &[&str]) -> bool {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(ACCEPT, value.parse().unwrap());
    }
    wants_protobuf(&headers)
}

#[test]
fn a_scraper_gets_protobuf_if_it_prefers_it() {
    let proto = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily";
    let delimited = format!("{proto};encoding=delimited");
    // Prometheus 3.5 with `scrape_native_histograms`, and without.
    let with = format!(
        "{delimited};q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
         application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;\
         escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1"
    );
    let without = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
                   application/openmetrics-text;version=0.0.1;q=0.4,*/*;q=0.1";
    assert!(accept(&[&with]));
    assert!(accept(&[PROTOBUF]));
    assert!(accept(&["text/plain;q=0.5", &delimited]));
    for value in [
        "",
        "*/*",
        without,
        "text/html, */*;q=0.8",
        proto,
        &format!("{proto};encoding=text"),
        &format!("{delimited};q=0"),
        &format!("{delimited};q=high"),
        &format!("{delimited};q=0.4,text/plain;version=0.0.4;q=0.5"),
    ] {
        assert!(!accept(&[value]), "{value}");
    }
    assert!(!accept(&[]));
}

/// All families of `metrics`, by name.
fn families(metrics: &Metrics) -> BTreeMap<String, MetricFamily> {
    let mut bytes = &*metrics.protobuf().unwrap();
    let mut families = BTreeMap::new();
    while !bytes.is_empty() {
        let family = MetricFamily::decode_length_delimited(&mut bytes).unwrap();
        assert!(families.insert(family.name.clone(), family).is_none());
    }
    families
}

#[test]
fn the_manager_s_histograms_have_native_buckets_beside_the_classic_ones() {
    let metrics = Metrics::new();
    let counts = metrics.controller("job");
    counts
        .seconds
        .observe(Duration::from_millis(300).as_secs_f64());
    counts.seconds.observe(Duration::from_secs(7).as_secs_f64());
    counts.succeeded(&Action::await_change());
    drop(metrics.webhooks().at(["/mutate".to_owned()].into()));

    let families = families(&metrics);

    let of_type = |wanted: MetricType| {
        let mut names = families.values().filter(|family| family.r#type() == wanted);
        names
            .by_ref()
            .map(|family| &*family.name)
            .collect::<Vec<_>>()
    };
    let histograms = of_type(MetricType::Histogram);
    assert_eq!(
        histograms,
        [
            "controller_runtime_reconcile_time_seconds",
            "controller_runtime_webhook_latency_seconds",
            "workqueue_queue_duration_seconds",
            "workqueue_work_duration_seconds",
        ]
    );
    for name in histograms {
        let histogram = families[name].metric[0].histogram.as_ref().unwrap();
        // 2^(2^-3): the widest that is at most 1.1.
        assert_eq!(
            (histogram.schema, histogram.bucket.len() > 10),
            (3, true),
            "{name}"
        );
    }
    let time = &families["controller_runtime_reconcile_time_seconds"].metric[0];
    let histogram = time.histogram.as_ref().unwrap();
    assert_eq!(time.label[0].value, "job");
    assert_eq!((histogram.sample_count, histogram.sample_sum), (2, 7.3));
    // One observation in each of two buckets, the second `1 - 1` more than the first.
    assert_eq!(histogram.positive_delta, [1, 0]);
    let total = &families["controller_runtime_reconcile_total"];
    assert_eq!(total.r#type(), MetricType::Counter);
    assert_eq!(total.metric.len(), 4);
}

#[test]
fn both_formats_have_the_same_series() {
    let metrics = Metrics::new();
    let counts = metrics.controller("job");
    counts
        .seconds
        .observe(Duration::from_millis(300).as_secs_f64());
    metrics.leads("a.example.com".to_owned());
    let text = metrics.text().unwrap();
    let mut names: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
        .map(|(name, kind)| match kind {
            "counter" => format!("{name}_total"),
            _ => name.to_owned(),
        })
        .collect();
    names.sort();
    assert!(names.len() > 15, "{text}");
    assert!(families(&metrics).keys().eq(&names));
}
