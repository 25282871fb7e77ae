// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The controller in normal operation: starting runs, reporting, cleaning up.

use std::time::Duration;

use api::v1::CronJob;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use kube::{Resource, ResourceExt};
use serde_json::json;

use crate::support::{HOURLY, World, active, conditions, cronjob, now};
use crate::{env, unguarded};

#[tokio::test]
async fn a_new_cronjob_has_a_status_and_no_jobs() {
    let world = World::new(env()).await;

    let sample = world.create("sample", "1 * * * *", json!({})).await;

    assert_eq!(
        conditions(&sample),
        [
            "Available=True AllJobsCompleted",
            "Progressing=False NoJobsActive",
            "Degraded=False AsExpected",
        ]
    );
    let settled = world.settle("sample").await;
    assert_eq!(active(&settled), Vec::<String>::new());
    assert_eq!(world.job_names().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_run_that_is_due_starts_from_the_template() {
    let world = World::new(env()).await;
    let sample = world.create("sample", HOURLY, json!({})).await;

    let name = world.make_due("sample").await;

    let started = world.wait_for_active("sample", &[&name]).await;
    let run = now() - SignedDuration::from_mins(30);
    assert_eq!(started.status.unwrap().last_schedule_time.unwrap().0, run);
    let job = world.jobs.get(&name).await.unwrap();
    assert_eq!(job.labels()["team"], "blue");
    assert_eq!(job.annotations()["note"], "kept");
    let scheduled_at = &job.annotations()["batch.tutorial.kubebuilder.io/scheduled-at"];
    assert_eq!(scheduled_at, "2026-03-02T09:30:30Z");
    let mut owner = sample.controller_owner_ref(&()).unwrap();
    owner.block_owner_deletion = Some(true);
    assert_eq!(job.owner_references(), [owner]);
    let container = &job.spec.unwrap().template.spec.unwrap().containers[0];
    assert_eq!(container.image.as_deref(), Some("busybox"));
}

#[tokio::test]
async fn an_active_job_is_shown_whoever_created_it() {
    let world = World::new(env()).await;
    let sample = world.create("sample", HOURLY, json!({})).await;

    world.add_job(&sample, "test-job", now()).await;

    let sample = world.wait_for_active("sample", &["test-job"]).await;
    assert_eq!(
        conditions(&sample),
        [
            "Available=True JobsActive",
            "Progressing=True JobsActive",
            "Degraded=False AsExpected",
        ]
    );
}

#[tokio::test]
async fn a_failed_job_degrades_until_another_succeeds() {
    let world = World::new(env()).await;
    let sample = world.create("sample", HOURLY, json!({})).await;
    world.add_job(&sample, "bad", now()).await;
    world.wait_for_active("sample", &["bad"]).await;

    world.end("bad", "Failed").await;

    let degraded = world.wait_for_active("sample", &[]).await;
    assert_eq!(
        conditions(&degraded),
        [
            "Available=False JobsFailed",
            "Progressing=False NoJobsActive",
            "Degraded=True JobsFailed",
        ]
    );

    world
        .add_job(&sample, "good", now() + SignedDuration::from_secs(1))
        .await;
    world.end("good", "Complete").await;

    let is_well = |conditions: Vec<String>| conditions[2] == "Degraded=False AsExpected";
    world
        .wait("sample", |cronjob| is_well(conditions(cronjob)))
        .await;
}

#[tokio::test]
async fn old_jobs_are_deleted_beyond_the_limits() {
    let world = World::new(env()).await;
    let limits = json!({ "failedJobsHistoryLimit": 1, "successfulJobsHistoryLimit": 1 });
    let sample = world.create("sample", HOURLY, limits).await;

    let (old, new) = (now() - SignedDuration::from_mins(1), now());
    for (name, started, condition) in [
        ("new-failed", new, "Failed"),
        ("new-good", new, "Complete"),
        ("old-failed", old, "Failed"),
        ("old-good", old, "Complete"),
    ] {
        world.add_job(&sample, name, started).await;
        world.end(name, condition).await;
    }

    for old in ["old-failed", "old-good"] {
        let is_gone = |job: Option<&_>| job.is_none();
        env().wait_for(&world.jobs, old, is_gone).await;
    }
    world.settle("sample").await;
    assert_eq!(world.job_names().await, ["new-failed", "new-good"]);
}

#[tokio::test]
async fn a_job_that_exists_already_is_the_run() {
    let world = World::new(env()).await;
    let sample = world.create("sample", HOURLY, json!({})).await;
    // It does not say which run it was created for.
    let run = now() - SignedDuration::from_mins(30);
    let name = format!("sample-{}", run.as_second());
    world.add_job(&sample, &name, run).await;

    world.make_due("sample").await;

    let sample = world
        .wait("sample", |cronjob| last_run(cronjob) == Some(run))
        .await;
    assert_eq!(world.job_names().await, [name]);
    assert_eq!(conditions(&sample)[2], "Degraded=False AsExpected");
}

#[tokio::test]
async fn a_job_of_somebody_else_is_reported_and_does_not_count_as_the_run() {
    let world = World::new(env()).await;
    world.create("sample", HOURLY, json!({})).await;
    let run = now() - SignedDuration::from_mins(30);
    let mut job = k8s_openapi::api::batch::v1::Job::default();
    job.metadata.name = Some(format!("sample-{}", run.as_second()));
    job.spec = cronjob("sample", HOURLY, json!({})).spec.job_template.spec;
    let create = PostParams::default();
    world.jobs.create(&create, &job).await.unwrap();

    let name = world.make_due("sample").await;

    let is_taken = |conditions: Vec<String>| conditions[2] == "Degraded=True JobNameTaken";
    let sample = world
        .wait("sample", |cronjob| is_taken(conditions(cronjob)))
        .await;
    assert_eq!(last_run(&sample), Some(run - SignedDuration::from_hours(1)));
    let message =
        format!("Job {name} exists and is not controlled by this CronJob: the run cannot start");
    assert_eq!(sample.status.unwrap().conditions[2].message, message);
    let event = world.wait_for_event("JobNameTaken", |_| true).await;
    assert_eq!(event.type_.as_deref(), Some("Warning"));
    let is_logged = |line: &str| line.contains(&world.namespace) && line.contains(&message);
    assert!(log().lines().any(is_logged));

    // It is retried.
    let now = DeleteParams::background();
    world.jobs.delete(&name, &now).await.unwrap();
    let sample = world.wait_for_active("sample", &[&name]).await;
    assert_eq!(last_run(&sample), Some(run));
}

/// The log of the operator.
fn log() -> String {
    std::fs::read_to_string(env().logs().join("operator.log")).unwrap()
}

/// The time of the last run in the status.
fn last_run(cronjob: &CronJob) -> Option<Timestamp> {
    let time = cronjob.status.as_ref()?.last_schedule_time.as_ref();
    time.map(|time| time.0)
}

#[tokio::test]
async fn a_namespace_being_deleted_causes_no_errors() {
    let world = World::new(env()).await;
    let forbid = json!({ "concurrencyPolicy": "Forbid" });
    let other = world.create("other", HOURLY, forbid).await;
    world.add_job(&other, "long", now()).await;
    world.wait_for_active("other", &["long"]).await;
    world.create("sample", HOURLY, json!({})).await;
    // Nothing empties it here, and so it stays in Terminating.
    let namespaces = Api::<Namespace>::all(env().admin());
    let now = DeleteParams::default();
    namespaces.delete(&world.namespace, &now).await.unwrap();

    // Neither the event of `other` nor the Job of `sample` can be created.
    world.make_due("other").await;
    world.make_due("sample").await;
    world
        .wait("other", |cronjob| {
            let status = cronjob.status.as_ref();
            status.is_some_and(|status| !status.conditions[1].message.is_empty())
        })
        .await;
    let refused = |resource: &str| {
        let mut requests = env().requests();
        requests.retain(|request| {
            request.namespace.as_deref() == Some(&world.namespace)
                && request.resource == resource
                && request.code == 403
        });
        requests.len()
    };
    while refused("events") == 0 || refused("jobs") == 0 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    world.change("sample", json!({ "suspend": true })).await;
    let is_suspended = |conditions: Vec<String>| conditions[0] == "Available=False Suspended";
    world
        .wait("sample", |cronjob| is_suspended(conditions(cronjob)))
        .await;

    assert_eq!((refused("events"), refused("jobs")), (1, 1));
    let is_alarm = |line: &&str| {
        line.contains(&world.namespace) && (line.contains("WARN") || line.contains("ERROR"))
    };
    let log = log();
    assert_eq!(log.lines().find(is_alarm), None);
}

#[tokio::test]
async fn nothing_starts_while_suspended() {
    let world = World::new(env()).await;
    world
        .create("sample", HOURLY, json!({ "suspend": true }))
        .await;

    world.make_due("sample").await;

    let sample = world.settle("sample").await;
    assert_eq!(conditions(&sample)[0], "Available=False Suspended");
    assert_eq!(world.job_names().await, Vec::<String>::new());

    world.change("sample", json!({ "suspend": false })).await;
    let name = format!(
        "sample-{}",
        (now() - SignedDuration::from_mins(30)).as_second()
    );
    world.wait_for_active("sample", &[&name]).await;
}

#[tokio::test]
async fn an_invalid_schedule_is_reported_and_can_be_fixed() {
    let world = World::new(unguarded()).await;

    let sample = world.create("sample", "often", json!({})).await;

    assert_eq!(conditions(&sample)[0], "Available=False InvalidSchedule");
    assert_eq!(conditions(&sample)[2], "Degraded=True InvalidSchedule");
    world.change("sample", json!({ "schedule": HOURLY })).await;
    let is_well = |conditions: Vec<String>| conditions[2] == "Degraded=False AsExpected";
    world
        .wait("sample", |cronjob| is_well(conditions(cronjob)))
        .await;
}

#[tokio::test]
async fn more_than_a_hundred_missed_runs_wait_for_a_change() {
    let world = World::new(env()).await;
    world.create("sample", "* * * * *", json!({})).await;

    world
        .make_due_at("sample", now() - SignedDuration::from_mins(60))
        .await;

    let is_stuck = |conditions: Vec<String>| conditions[2] == "Degraded=True TooManyMissed";
    world
        .wait("sample", |cronjob| is_stuck(conditions(cronjob)))
        .await;
    assert_eq!(world.job_names().await, Vec::<String>::new());

    world
        .change("sample", json!({ "startingDeadlineSeconds": 120 }))
        .await;
    let latest = "2026-03-02T10:00:00Z".parse::<jiff::Timestamp>().unwrap();
    world
        .wait_for_active("sample", &[&format!("sample-{}", latest.as_second())])
        .await;
}

#[tokio::test]
async fn a_job_that_the_api_server_rejects_is_reported() {
    let world = World::new(env()).await;
    let bad = json!({ "jobTemplate": { "spec": { "backoffLimit": -1 } } });
    world.create("sample", HOURLY, bad).await;

    world.make_due("sample").await;

    let is_failed = |conditions: Vec<String>| conditions[2] == "Degraded=True JobCreationFailed";
    let sample = world
        .wait("sample", |cronjob| is_failed(conditions(cronjob)))
        .await;
    let message = &sample.status.unwrap().conditions[2].message;
    assert!(message.contains("backoffLimit"), "{message}");

    world
        .change(
            "sample",
            json!({ "jobTemplate": { "spec": { "backoffLimit": 0 } } }),
        )
        .await;
    world
        .wait("sample", |cronjob| active(cronjob).len() == 1)
        .await;
}

/// Makes the API server reject every `CREATE` or `DELETE` of a Job in the namespace of `world`, until
/// the binding with the name of the namespace, in the returned API, is deleted.
async fn refuse(world: &World<'_>, operation: &str) -> Api<ValidatingAdmissionPolicyBinding> {
    let name = &world.namespace;
    let policy = json!({
        "metadata": { "name": name },
        "spec": {
            "matchConstraints": { "resourceRules": [{
                "apiGroups": ["batch"],
                "apiVersions": ["v1"],
                "resources": ["jobs"],
                "operations": [operation],
            }] },
            "validations": [{ "expression": "false" }],
        },
    });
    let here = json!({ "matchLabels": { "kubernetes.io/metadata.name": name } });
    let binding = json!({
        "metadata": { "name": name },
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": { "namespaceSelector": here },
        },
    });
    let create = PostParams::default();
    let policies = Api::<ValidatingAdmissionPolicy>::all(env().admin());
    let policy = serde_json::from_value(policy).unwrap();
    policies.create(&create, &policy).await.unwrap();
    let bindings = Api::<ValidatingAdmissionPolicyBinding>::all(env().admin());
    let binding = serde_json::from_value(binding).unwrap();
    bindings.create(&create, &binding).await.unwrap();
    bindings
}

#[tokio::test]
async fn a_job_that_is_rejected_for_a_while_starts_later() {
    let world = World::new(env()).await;
    let sample = world.create("sample", HOURLY, json!({})).await;
    let bindings = refuse(&world, "CREATE").await;
    // The API server enforces a policy a moment after it was written.
    while world.try_job(&sample, "try").await.is_ok() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }

    let name = world.make_due("sample").await;
    let is_failed = |conditions: Vec<String>| conditions[2] == "Degraded=True JobCreationFailed";
    world
        .wait("sample", |cronjob| is_failed(conditions(cronjob)))
        .await;

    bindings
        .delete(&world.namespace, &DeleteParams::default())
        .await
        .unwrap();
    world.wait_for_active("sample", &[&name]).await;
}

#[tokio::test]
async fn a_job_that_cannot_be_deleted_does_not_keep_runs_from_starting() {
    let world = World::new(env()).await;
    let sample = world.create("sample", HOURLY, json!({})).await;
    world.add_job(&sample, "old", now()).await;
    world.end("old", "Complete").await;
    refuse(&world, "DELETE").await;
    // The API server enforces a policy a moment after it was written.
    let try_it = DeleteParams::default().dry_run();
    while world.jobs.delete("old", &try_it).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    world
        .change("sample", json!({ "successfulJobsHistoryLimit": 0 }))
        .await;

    let name = world.make_due("sample").await;

    world.wait_for_active("sample", &[&name]).await;
    assert_eq!(world.job_names().await, ["old", &name]);
}
