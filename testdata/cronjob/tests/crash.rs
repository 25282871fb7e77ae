// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! `make test-crash`: wherever the operator dies or one of its requests fails, the objects become the same.
//!
//! Each scenario runs once without a fault, and then again for each request of the operator and each fault. This takes
//! long if there are many, so it is not part of a plain `cargo test`. `.may_differ` leaves a field out of the comparison.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::error::Error;
use std::process::ExitCode;
use std::sync::LazyLock;

use api::v1::CronJob;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::Job;
use kbr_testing::{Crash, Stage};
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;

/// Objects that are created, changed and deleted. The file of the same name in `tests/crash`, if there is one, says what
/// they are changed to.
const SAMPLES: &[&str] = &[
    // That of the CronJob is due every minute: it would depend on the time what a run does.
    // +kbr:scaffold:crash-samples
];

const DAILY: &str = "tests/crash/daily.yaml";

/// The same for all runs, which end long before something else is due.
static START: LazyLock<Timestamp> = LazyLock::new(|| {
    let now = Timestamp::now().as_second();
    Timestamp::from_second(now).unwrap()
});

fn minutes_ago(minutes: i64) -> Timestamp {
    *START - SignedDuration::from_mins(minutes)
}

fn main() -> ExitCode {
    let operator = env!("CARGO_BIN_EXE_cronjob");
    Crash::new(env!("CARGO_MANIFEST_DIR"), operator)
        .samples(SAMPLES)
        .scenario("daily", daily)
        .run()
}

/// A Job starts and completes, and a second one, which makes the first one too old.
async fn daily(stage: Stage) -> Result<(), Box<dyn Error + Send + Sync>> {
    let cronjobs = Api::<CronJob>::namespaced(stage.admin(), stage.namespace());
    stage.apply(DAILY).await?;
    stage.settle().await?;

    let last = Patch::Merge(json!({ "status": { "lastScheduleTime": minutes_ago(26 * 60) } }));
    let params = PatchParams::default();
    cronjobs.patch_status("daily", &params, &last).await?;
    stage.settle().await?;
    complete(&stage, minutes_ago(120)).await?;
    stage.settle().await?;

    // It is due again: an hour and a half after the first run.
    let more = Patch::Merge(json!({ "spec": { "schedule": "@every 90m" } }));
    cronjobs.patch("daily", &params, &more).await?;
    stage.settle().await?;
    complete(&stage, minutes_ago(30)).await?;
    stage.settle().await?;

    stage.delete(DAILY).await?;
    stage.settle_empty().await
}

/// Completes the Job of the run that was due at `run`, as Kubernetes' own controller does.
async fn complete(stage: &Stage, run: Timestamp) -> kube::Result<()> {
    let jobs = Api::<Job>::namespaced(stage.admin(), stage.namespace());
    let name = format!("daily-{}", run.as_second());
    let condition =
        |type_: &str| json!({ "type": type_, "status": "True", "lastTransitionTime": run });
    let criteria = condition("SuccessCriteriaMet");
    for status in [
        json!({ "startTime": run, "conditions": [criteria] }),
        json!({
            "conditions": [criteria, condition("Complete")],
            "completionTime": run,
            "succeeded": 1,
        }),
    ] {
        let patch = Patch::Merge(json!({ "status": status }));
        let params = PatchParams::default();
        jobs.patch_status(&name, &params, &patch).await?;
    }
    Ok(())
}
