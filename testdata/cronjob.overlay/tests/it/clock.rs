// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! Time passes: the tests set the clock of an operator, one test at a time.

use std::sync::LazyLock;

use api::v1::CronJob;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::events::v1::Event;
use kbr_runtime::{Clock, ClockSetter};
use kbr_testing::TestEnv;
use kube::ResourceExt;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::json;
use tokio::sync::{Mutex, MutexGuard};

use crate::support::{HOURLY, World, active, conditions};

/// An environment, and the clock of its operator.
pub struct Timed {
    pub env: TestEnv,
    pub clock: ClockSetter,
}

/// The environment, for one test at a time.
pub async fn timed() -> MutexGuard<'static, Timed> {
    static TIMED: LazyLock<Mutex<Timed>> = LazyLock::new(|| {
        let start = || {
            let env = TestEnv::start(env!("CARGO_MANIFEST_DIR"))?;
            let (clock, setter) = Clock::manual(Timestamp::now());
            env.start_operator(|manager| {
                manager.set_clock(clock);
                cronjob::register(manager);
            })?;
            Ok(Timed { env, clock: setter })
        };
        let timed: Result<_, kbr_testing::TestEnvError> = start();
        Mutex::new(timed.unwrap_or_else(|error| panic!("{error}")))
    });
    let timed = TIMED.lock().await;
    // Whatever the previous test did: nothing that is created now is due.
    timed.clock.set(Timestamp::now());
    timed
}

pub const HOUR: SignedDuration = SignedDuration::from_hours(1);

#[tokio::test]
async fn each_run_starts_when_its_time_comes() {
    let timed = timed().await;
    let world = World::new(&timed.env).await;
    let sample = world.create("sample", HOURLY, json!({})).await;
    let created = sample.creation_timestamp().unwrap().0;
    let job = |hours: i32| format!("sample-{}", (created + HOUR * hours).as_second());

    timed
        .clock
        .set(created + HOUR - SignedDuration::from_millis(1));
    let sample = world.settle("sample").await;
    assert_eq!(active(&sample), Vec::<String>::new());

    timed.clock.set(created + HOUR);
    world.wait_for_active("sample", &[&job(1)]).await;

    // Setting the clock back starts no run, and the run is not repeated when its time comes again.
    timed.clock.set(created + HOUR / 2);
    world.settle("sample").await;
    timed
        .clock
        .set(created + HOUR + SignedDuration::from_mins(1));
    world.settle("sample").await;
    assert_eq!(world.job_names().await, [job(1)]);

    timed.clock.set(created + HOUR * 2);
    world.wait_for_active("sample", &[&job(1), &job(2)]).await;
}

/// Waits until the status has `time` as the time of the last run.
async fn wait_for_last_run(world: &World<'_>, time: Timestamp) {
    let time = Timestamp::from_second(time.as_second()).unwrap();
    let last = |cronjob: &CronJob| cronjob.status.as_ref()?.last_schedule_time.clone();
    world
        .wait("sample", |cronjob| {
            last(cronjob).is_some_and(|last| last.0 == time)
        })
        .await;
}

/// The first full hour after the creation of a CronJob, and the name of its Job some hours later.
fn hours_of(sample: &CronJob) -> (Timestamp, impl Fn(i32) -> String) {
    let created = sample.creation_timestamp().unwrap().0.as_second();
    let first = Timestamp::from_second(created / 3600 * 3600 + 3600).unwrap();
    let name = move |hours: i32| format!("sample-{}", (first + HOUR * hours).as_second());
    (first, name)
}

/// Waits until these Jobs are active, in any order.
async fn wait_for_jobs(world: &World<'_>, mut jobs: Vec<String>) -> CronJob {
    jobs.sort();
    let names = |cronjob: &CronJob| {
        let mut names = active(cronjob);
        names.sort();
        names
    };
    world.wait("sample", |cronjob| names(cronjob) == jobs).await
}

#[tokio::test]
async fn runs_resume_after_a_clock_that_was_ahead_is_corrected() {
    let timed = timed().await;
    let world = World::new(&timed.env).await;
    let sample = world.create("sample", "0 * * * *", json!({})).await;
    let (first, job) = hours_of(&sample);
    timed.clock.set(first + HOUR * 2);
    wait_for_jobs(&world, vec![job(2)]).await;

    let corrected = first + SignedDuration::from_mins(10);
    timed.clock.set(corrected);
    // The status records no run that is still to come.
    wait_for_last_run(&world, corrected).await;

    timed.clock.set(first + HOUR);
    wait_for_jobs(&world, vec![job(2), job(1)]).await;
    wait_for_last_run(&world, first + HOUR).await;
    // That run already has a Job.
    timed.clock.set(first + HOUR * 2);
    wait_for_last_run(&world, first + HOUR * 2).await;
    timed.clock.set(first + HOUR * 3);
    wait_for_jobs(&world, vec![job(2), job(1), job(3)]).await;
    let third =
        |event: &Event| event.related.as_ref().and_then(|it| it.name.as_ref()) == Some(&job(3));
    world.wait_for_event("Started", third).await;
    assert_eq!(world.events("Started").await.len(), 3);
}

#[tokio::test]
async fn too_many_missed_runs_are_forgotten_when_the_clock_is_corrected() {
    let timed = timed().await;
    let world = World::new(&timed.env).await;
    let sample = world.create("sample", "* * * * *", json!({})).await;
    let created = sample.creation_timestamp().unwrap().0;
    timed.clock.set(created + HOUR * 2);
    world
        .wait("sample", |cronjob| {
            conditions(cronjob)[2] == "Degraded=True TooManyMissed"
        })
        .await;

    timed.clock.set(created + SignedDuration::from_mins(2));

    let sample = world
        .wait("sample", |cronjob| active(cronjob).len() == 1)
        .await;
    assert_eq!(conditions(&sample)[2], "Degraded=False AsExpected");
}

#[tokio::test]
async fn a_run_that_somebody_moves_into_the_future_does_not_count() {
    let timed = timed().await;
    let world = World::new(&timed.env).await;
    let sample = world.create("sample", "0 * * * *", json!({})).await;
    let (first, job) = hours_of(&sample);
    timed.clock.set(first);
    wait_for_jobs(&world, vec![job(0)]).await;

    let far = "2999-01-01T00:00:00Z";
    let params = PatchParams::default();
    let edited = json!({ "metadata": { "annotations": {
        "batch.tutorial.kubebuilder.io/scheduled-at": far,
    } } });
    let edited = Patch::Merge(edited);
    world.jobs.patch(&job(0), &params, &edited).await.unwrap();
    timed.clock.set(first + HOUR);
    wait_for_jobs(&world, vec![job(0), job(1)]).await;

    let edited = Patch::Merge(json!({ "status": { "lastScheduleTime": far } }));
    let cronjobs = &world.cronjobs;
    cronjobs
        .patch_status("sample", &params, &edited)
        .await
        .unwrap();
    wait_for_last_run(&world, first + HOUR).await;
    timed.clock.set(first + HOUR * 2);
    wait_for_jobs(&world, vec![job(0), job(1), job(2)]).await;
}

#[tokio::test]
async fn three_hundred_runs_due_at_once_get_one_job_each() {
    let timed = timed().await;
    let world = World::new(&timed.env).await;
    let mut names = Vec::new();
    for number in 0..300 {
        let name = format!("sample-{number:03}");
        world.add(&name, HOURLY, json!({})).await.unwrap();
        names.push(name);
    }
    let last = world
        .wait("sample-299", |cronjob| cronjob.status.is_some())
        .await;

    timed.clock.set(last.creation_timestamp().unwrap().0 + HOUR);

    for name in &names {
        world.wait(name, |cronjob| active(cronjob).len() == 1).await;
    }
    let jobs = world.jobs.list(&ListParams::default()).await.unwrap();
    let mut owners: Vec<_> = jobs
        .iter()
        .map(|job| job.owner_references()[0].name.clone())
        .collect();
    owners.sort();
    assert_eq!(owners, names);
}
