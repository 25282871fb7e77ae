// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! Time goes by: an operator whose clock the tests set, one test at a time.

use std::sync::LazyLock;

use jiff::{SignedDuration, Timestamp};
use kbr_runtime::testing::TestEnv;
use kbr_runtime::{Clock, ClockSetter};
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::json;
use tokio::sync::{Mutex, MutexGuard};

use crate::support::{HOURLY, World, active};

/// An environment, and the clock of the operator there.
pub struct Timed {
    pub env: TestEnv,
    pub clock: ClockSetter,
}

/// One test at a time has it.
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
        let timed: Result<_, kbr_runtime::testing::TestEnvError> = start();
        Mutex::new(timed.unwrap_or_else(|error| panic!("{error}")))
    });
    let timed = TIMED.lock().await;
    // Whatever the test before did: nothing that is created now is due.
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

    // A clock that is set back starts nothing, and nothing twice when it comes round again.
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

#[tokio::test]
async fn three_hundred_that_are_due_at_once_get_one_job_each() {
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
