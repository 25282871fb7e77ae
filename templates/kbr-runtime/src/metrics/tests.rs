// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What a scraper reads.

use super::*;
use crate::Action;
use crate::queue::Queue;
use http::StatusCode;
use std::time::Duration;

/// The samples of `text`, each with its value.
fn samples(text: &str) -> Vec<(&str, f64)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let samples = lines.map(|line| line.rsplit_once(' ').unwrap());
    samples
        .map(|(sample, value)| (sample, value.parse().unwrap()))
        .collect()
}

/// The value of a sample of `metrics`, written with its labels.
#[track_caller]
fn value(metrics: &Metrics, sample: &str) -> f64 {
    let text = metrics.text().unwrap();
    let samples = samples(&text);
    let found = samples.iter().find(|(name, _)| *name == sample);
    found.unwrap_or_else(|| panic!("no {sample} in {text}")).1
}

/// Where the buckets of `histogram` end.
fn buckets(text: &str, histogram: &str) -> Vec<f64> {
    let start = format!("{histogram}_bucket{{le=\"");
    let ends = text.lines().filter_map(|line| line.strip_prefix(&start));
    ends.map(|end| end.split('"').next().unwrap().parse().unwrap())
        .collect()
}

#[test]
fn watches_of_one_resource_have_one_series() {
    let metrics = Metrics::new();
    let failing = r#"kbr_failing_watches{resource="jobs.batch"}"#;
    let mut one = metrics.watches().failing("jobs.batch");
    let mut other = metrics.watches().failing("jobs.batch");
    let values = [
        value(&metrics, failing),
        {
            one.set(1);
            other.set(1);
            value(&metrics, failing)
        },
        {
            one.set(0);
            value(&metrics, failing)
        },
        {
            drop(other);
            value(&metrics, failing)
        },
    ];
    assert_eq!(values, [0.0, 2.0, 1.0, 0.0]);
}

/// controller-runtime 0.24, pkg/internal/controller/metrics and pkg/internal/metrics.
#[test]
fn the_series_are_those_of_controller_runtime_and_exist_from_the_start() {
    let metrics = Metrics::new();
    metrics.count_panics(Counter::default(), Counter::default());
    let counts = metrics.controller("job");
    let queue = Queue::new(counts);
    metrics.watch("job", move || queue.backlog());
    let requests = Requests::default();
    metrics.count_requests("10.0.0.1:443", &requests);
    requests.count("GET", Some(StatusCode::OK));
    requests.count("GET", None);
    metrics.leads("a.example.com".to_owned());
    drop(metrics.webhooks().at(["/mutate".to_owned()].into()));
    let watches = metrics.watches();
    let _watch = (
        watches.failing("jobs.batch"),
        watches.unreadable("jobs.batch"),
    );

    let text = metrics.text().unwrap();
    let mut names: Vec<_> = samples(&text)
        .into_iter()
        .map(|(sample, _)| sample)
        .filter(|sample| !sample.contains("_bucket{") && !sample.starts_with("process_"))
        .collect();
    names.sort_unstable();
    let expected = [
        r#"certwatcher_read_certificate_errors_total"#,
        r#"certwatcher_read_certificate_total"#,
        r#"controller_runtime_active_workers{controller="job"}"#,
        r#"controller_runtime_conversion_webhook_panics_total"#,
        r#"controller_runtime_max_concurrent_reconciles{controller="job"}"#,
        r#"controller_runtime_reconcile_errors_total{controller="job"}"#,
        r#"controller_runtime_reconcile_panics_total{controller="job"}"#,
        r#"controller_runtime_reconcile_time_seconds_count{controller="job"}"#,
        r#"controller_runtime_reconcile_time_seconds_sum{controller="job"}"#,
        r#"controller_runtime_reconcile_timeouts_total{controller="job"}"#,
        r#"controller_runtime_reconcile_total{controller="job",result="error"}"#,
        r#"controller_runtime_reconcile_total{controller="job",result="requeue"}"#,
        r#"controller_runtime_reconcile_total{controller="job",result="requeue_after"}"#,
        r#"controller_runtime_reconcile_total{controller="job",result="success"}"#,
        r#"controller_runtime_terminal_reconcile_errors_total{controller="job"}"#,
        r#"controller_runtime_webhook_latency_seconds_count{webhook="/mutate"}"#,
        r#"controller_runtime_webhook_latency_seconds_sum{webhook="/mutate"}"#,
        r#"controller_runtime_webhook_panics_total"#,
        r#"controller_runtime_webhook_requests_in_flight{webhook="/mutate"}"#,
        r#"controller_runtime_webhook_requests_total{webhook="/mutate",code="200"}"#,
        r#"controller_runtime_webhook_requests_total{webhook="/mutate",code="500"}"#,
        r#"kbr_decoded_objects_total"#,
        r#"kbr_failing_watches{resource="jobs.batch"}"#,
        r#"kbr_restless_objects_total{controller="job"}"#,
        r#"kbr_slow_functions_total"#,
        r#"kbr_unreadable_objects{resource="jobs.batch"}"#,
        r#"leader_election_master_status{name="a.example.com"}"#,
        r#"rest_client_requests_total{host="10.0.0.1:443",code="200",method="GET"}"#,
        r#"rest_client_requests_total{host="10.0.0.1:443",code="<error>",method="GET"}"#,
        r#"workqueue_adds_total{name="job",controller="job"}"#,
        r#"workqueue_depth{name="job",controller="job",priority="0"}"#,
        r#"workqueue_longest_running_processor_seconds{name="job",controller="job"}"#,
        r#"workqueue_queue_duration_seconds_count{name="job",controller="job"}"#,
        r#"workqueue_queue_duration_seconds_sum{name="job",controller="job"}"#,
        r#"workqueue_retries_total{name="job",controller="job"}"#,
        r#"workqueue_unfinished_work_seconds{name="job",controller="job"}"#,
        r#"workqueue_work_duration_seconds_count{name="job",controller="job"}"#,
        r#"workqueue_work_duration_seconds_sum{name="job",controller="job"}"#,
    ];
    assert_eq!(names, expected);
    assert!(text.ends_with("# EOF\n"), "{text}");
    let types = text.lines().filter(|line| line.starts_with("# TYPE "));
    let unique: BTreeSet<_> = types.clone().collect();
    assert_eq!(unique.len(), types.count());

    let wide: Vec<f64> = (-8..=3).map(|power| 10f64.powi(power)).collect();
    for histogram in [
        "controller_runtime_webhook_latency_seconds",
        "workqueue_queue_duration_seconds",
        "workqueue_work_duration_seconds",
    ] {
        let mut ends = buckets(&text, histogram);
        assert_eq!(ends.pop(), Some(f64::INFINITY));
        assert_eq!(ends.len(), wide.len());
        for (end, expected) in ends.iter().zip(&wide) {
            assert!((end / expected - 1.0).abs() < 1e-12, "{histogram} {end}");
        }
    }
    let ends = buckets(&text, "controller_runtime_reconcile_time_seconds");
    let expected = [
        0.005,
        0.01,
        0.025,
        0.05,
        0.1,
        0.15,
        0.2,
        0.25,
        0.3,
        0.35,
        0.4,
        0.45,
        0.5,
        0.6,
        0.7,
        0.8,
        0.9,
        1.0,
        1.25,
        1.5,
        1.75,
        2.0,
        2.5,
        3.0,
        3.5,
        4.0,
        4.5,
        5.0,
        6.0,
        7.0,
        8.0,
        9.0,
        10.0,
        15.0,
        20.0,
        25.0,
        30.0,
        40.0,
        50.0,
        60.0,
        f64::INFINITY,
    ];
    assert_eq!(ends, expected);
}

#[test]
fn each_reconcile_has_one_result() {
    let metrics = Metrics::new();
    let counts = metrics.controller("job");
    let later = Action::requeue(Duration::from_secs(1));
    counts.seconds.observe(Duration::from_secs(2).as_secs_f64());
    counts.succeeded(&Action::await_change());
    counts.succeeded(&later);
    counts.succeeded(&Action::requeue(Duration::ZERO));
    counts.panics.inc();
    counts.failed(&later);
    counts.timeouts.inc();
    counts.failed(&later);
    counts.terminal_errors.inc();
    counts.failed(&Action::await_change());

    for (sample, expected) in [
        (r#"reconcile_total{controller="job",result="success"}"#, 1.0),
        (r#"reconcile_total{controller="job",result="requeue"}"#, 1.0),
        (
            r#"reconcile_total{controller="job",result="requeue_after"}"#,
            1.0,
        ),
        (r#"reconcile_total{controller="job",result="error"}"#, 3.0),
        (r#"reconcile_errors_total{controller="job"}"#, 3.0),
        (r#"reconcile_panics_total{controller="job"}"#, 1.0),
        (r#"reconcile_timeouts_total{controller="job"}"#, 1.0),
        (r#"terminal_reconcile_errors_total{controller="job"}"#, 1.0),
        (r#"reconcile_time_seconds_sum{controller="job"}"#, 2.0),
    ] {
        let sample = format!("controller_runtime_{sample}");
        assert_eq!(value(&metrics, &sample), expected, "{sample}");
    }
    // All except those that wait for a change.
    let retries = r#"workqueue_retries_total{name="job",controller="job"}"#;
    assert_eq!(value(&metrics, retries), 4.0);
}

#[test]
fn controllers_with_one_name_are_added_up() {
    let metrics = Metrics::new();
    for _ in 0..2 {
        let counts = metrics.controller("job");
        counts.most.inc_by(3);
        counts.adds.inc();
        let queue = Queue::new(counts);
        queue.has_waited(Duration::from_secs(5));
        metrics.watch("job", move || queue.backlog());
    }

    let depth = r#"workqueue_depth{name="job",controller="job",priority="0"}"#;
    assert_eq!(value(&metrics, depth), 2.0);
    let most = r#"controller_runtime_max_concurrent_reconciles{controller="job"}"#;
    assert_eq!(value(&metrics, most), 6.0);
    let adds = r#"workqueue_adds_total{name="job",controller="job"}"#;
    assert_eq!(value(&metrics, adds), 2.0);
}

#[test]
fn a_counter_has_its_suffix_once() {
    let metrics = Metrics::new();
    let counter: Counter = metrics.register("mails_total", "Mails", Counter::default());
    counter.inc();
    let _: Counter = metrics.register("letters", "Letters", Counter::default());
    let _: Gauge = metrics.register("stamps_total", "Stamps", Gauge::default());

    assert_eq!(value(&metrics, "mails_total"), 1.0);
    assert_eq!(value(&metrics, "letters_total"), 0.0);
    assert_eq!(value(&metrics, "stamps_total"), 0.0);
}

#[test]
#[should_panic(expected = "two metrics have the name `certwatcher_read_certificate`")]
fn a_name_is_taken_once() {
    let name = "certwatcher_read_certificate_total";
    let _: Counter = Metrics::new().register(name, "Mine", Counter::default());
}

#[test]
#[should_panic(expected = "`my-mails` cannot be the name of a metric")]
fn a_name_that_prometheus_would_not_read_is_refused() {
    let _: Counter = Metrics::new().register("my-mails", "Mails", Counter::default());
}

#[test]
fn a_dropped_request_is_no_longer_in_flight() {
    let metrics = Metrics::new();
    let counts = metrics.webhooks().at(["/mutate".to_owned()].into());
    let in_flight = r#"controller_runtime_webhook_requests_in_flight{webhook="/mutate"}"#;
    assert!(counts.begin("/other").is_none());
    let first = counts.begin("/mutate").unwrap();
    let second = counts.begin("/mutate").unwrap();
    assert_eq!(value(&metrics, in_flight), 2.0);

    drop(first);
    second.answered(StatusCode::GATEWAY_TIMEOUT);

    assert_eq!(value(&metrics, in_flight), 0.0);
    let answers = r#"controller_runtime_webhook_requests_total{webhook="/mutate",code="504"}"#;
    assert_eq!(value(&metrics, answers), 1.0);
    let seconds = r#"controller_runtime_webhook_latency_seconds_count{webhook="/mutate"}"#;
    assert_eq!(value(&metrics, seconds), 1.0);
}
