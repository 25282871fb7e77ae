// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! What `kubectl` shows of a `CronJob`: the doc comments of the types, and the columns of a list.
//!
//! Kubernetes has a kind of the same name, so the group is passed to kubectl each time.

use std::time::{Duration, Instant};

use api::v1;
use kube::Api;
use kube::api::PostParams;

use crate::env;

const SAMPLE: &str = "config/samples/batch_v1_cronjob.yaml";
const TYPES: &str = include_str!("../../api/src/v1/cronjob_types.rs");

/// Far longer than anything should take.
const PATIENCE: Duration = Duration::from_secs(60);

/// What kubectl prints, or its error.
fn try_kubectl(line: &str) -> Result<String, String> {
    let output = env().kubectl().args(line.split_whitespace()).output();
    let output = output.unwrap();
    if output.status.success() {
        Ok(String::from_utf8(output.stdout).unwrap())
    } else {
        Err(String::from_utf8(output.stderr).unwrap())
    }
}

fn kubectl(line: &str) -> String {
    try_kubectl(line).unwrap_or_else(|message| panic!("kubectl {line}: {message}"))
}

/// `kubectl explain` of a field, with single spaces between words.
fn explain(field: &str) -> String {
    let version = "--api-version=batch.tutorial.kubebuilder.io/v1";
    let line = format!("explain {version} cronjob.{field}");
    // The API server publishes the text of a new kind shortly after the kind itself.
    let start = Instant::now();
    loop {
        match try_kubectl(&line) {
            Ok(text) => return words(&text),
            Err(message) => assert!(start.elapsed() < PATIENCE, "{field}: {message}"),
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The doc comment above a line of the types.
fn doc_of(item: &str) -> String {
    let (above, _) = TYPES.split_once(item).unwrap();
    let lines = above.lines().rev().map(str::trim);
    let mut doc: Vec<&str> = lines
        .skip_while(|line| !line.starts_with("///"))
        .map_while(|line| line.strip_prefix("///"))
        .collect();
    doc.reverse();
    words(&doc.join(" "))
}

#[test]
fn explain_shows_the_doc_comments() {
    for (field, item) in [
        ("spec", "pub struct CronJobSpec {"),
        ("spec.schedule", "pub schedule:"),
        (
            "spec.startingDeadlineSeconds",
            "pub starting_deadline_seconds:",
        ),
        ("spec.concurrencyPolicy", "pub concurrency_policy:"),
        ("spec.suspend", "pub suspend:"),
        ("spec.jobTemplate", "pub job_template:"),
        (
            "spec.successfulJobsHistoryLimit",
            "pub successful_jobs_history_limit:",
        ),
        (
            "spec.failedJobsHistoryLimit",
            "pub failed_jobs_history_limit:",
        ),
        ("status", "pub struct CronJobStatus {"),
        ("status.active", "pub active:"),
        ("status.lastScheduleTime", "pub last_schedule_time:"),
        ("status.conditions", "pub conditions:"),
    ] {
        let (shown, doc) = (explain(field), doc_of(item));
        assert!(
            shown.contains(&format!("DESCRIPTION: {doc}")),
            "{doc}\n{shown}"
        );
    }
}

#[test]
fn explain_shows_the_types_and_what_is_required() {
    for (field, expected) in [
        ("spec", "schedule <string> -required-"),
        ("spec", "jobTemplate <Object> -required-"),
        ("spec.suspend", "FIELD: suspend <boolean>"),
        ("spec.concurrencyPolicy", "ENUM: Allow Forbid Replace"),
        ("status.active", "FIELD: active <[]Object>"),
        // The schema has everything of Kubernetes' own types but the text.
        (
            "spec.jobTemplate.spec.backoffLimit",
            "FIELD: backoffLimit <integer>",
        ),
        (
            "spec.jobTemplate.spec.template.spec",
            "containers <[]Object> -required-",
        ),
    ] {
        let shown = explain(field);
        assert!(shown.contains(expected), "{expected}\n{shown}");
    }
}

#[tokio::test]
async fn a_list_has_the_columns_of_the_kind() {
    let namespace = env().namespace().await;
    let cronjobs = Api::<v1::CronJob>::namespaced(env().admin(), &namespace);
    let object = env().read(SAMPLE);
    cronjobs
        .create(&PostParams::default(), &object)
        .await
        .unwrap();
    let kind = "cronjobs.batch.tutorial.kubebuilder.io";
    kubectl(&format!(
        "wait --namespace={namespace} --for=condition=Available --timeout=60s {kind} --all"
    ));

    let list = kubectl(&format!("get --namespace={namespace} {kind}"));

    // Columns are separated by at least three spaces.
    let row = |line: &str| -> Vec<String> {
        let cells = line.split("   ").map(str::trim);
        cells
            .filter(|cell| !cell.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let mut lines = list.lines().map(row);
    assert_eq!(
        lines.next().unwrap(),
        [
            "NAME",
            "SCHEDULE",
            "SUSPEND",
            "LAST SCHEDULE",
            "AVAILABLE",
            "AGE"
        ]
    );
    // Last Schedule has no value.
    let cells = lines.next().unwrap();
    assert_eq!(
        cells[..4],
        ["cronjob-sample", "*/1 * * * *", "false", "True"]
    );
}
