// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The operator's binary is killed, stopped, or loses its API server while many runs are due.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use api::v1::CronJob;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::Job;
use kbr_testing::TestEnv;
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams};
use serde_json::json;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::sleep;

use crate::builder;
use crate::support::{HOURLY, World, active};

/// How many runs are due: more than are started before the test interrupts.
const MANY: usize = 150;

/// Far longer than anything here should take.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// An environment without an operator, and therefore without webhooks.
pub fn without_operator() -> TestEnv {
    let env = builder().without_webhooks().start();
    env.unwrap_or_else(|error| panic!("{error}"))
}

/// One that the tests here share, for one test at a time.
async fn idle() -> MutexGuard<'static, TestEnv> {
    static ENV: LazyLock<Mutex<TestEnv>> = LazyLock::new(|| Mutex::new(without_operator()));
    ENV.lock().await
}

/// The operator's binary, running as the deployed ServiceAccount. Dropping this kills it.
pub struct Operator(Child);

impl Operator {
    fn start(world: &World<'_>) -> Self {
        Self::start_with(world, world.env.manager_kubeconfig())
    }

    pub fn start_with(world: &World<'_>, kubeconfig: &Path) -> Self {
        let log = world.env.logs().join(format!("{}.log", world.namespace));
        let log = File::options().create(true).append(true).open(log).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_cronjob"))
            .arg("--health-probe-bind-address=0")
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .stdin(Stdio::null())
            .stderr(log)
            .spawn();
        Self(child.unwrap())
    }

    /// Sends SIGTERM, and waits for the process to exit.
    async fn terminate(mut self) -> ExitStatus {
        let process = self.0.id().to_string();
        let sent = Command::new("kill").args(["-s", "TERM", &process]).status();
        assert!(sent.unwrap().success());
        let start = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status;
            }
            assert!(
                start.elapsed() < PATIENCE,
                "the operator did not exit after SIGTERM"
            );
            sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Many CronJobs, each with one run that is due.
async fn many_due(env: &TestEnv) -> World<'_> {
    let world = World::new(env).await;
    let run = Timestamp::now() - SignedDuration::from_mins(30);
    for number in 0..MANY {
        let name = format!("sample-{number}");
        world.add(&name, HOURLY, json!({})).await.unwrap();
        world.make_due_at(&name, run).await;
    }
    world
}

async fn jobs(world: &World<'_>) -> Vec<Job> {
    world.jobs.list(&ListParams::default()).await.unwrap().items
}

async fn cronjobs(world: &World<'_>) -> Vec<CronJob> {
    world
        .cronjobs
        .list(&ListParams::default())
        .await
        .unwrap()
        .items
}

/// Waits until some runs have started, but not all.
async fn some_started(world: &World<'_>) {
    let start = Instant::now();
    let mut number = 0;
    while number < MANY / 10 {
        assert!(start.elapsed() < PATIENCE, "no run starts");
        number = jobs(world).await.len();
    }
    assert!(number < MANY, "too late to interrupt");
}

/// Waits until each CronJob shows its Job, and checks that it has no other.
async fn all_started_once(world: &World<'_>) {
    let start = Instant::now();
    while cronjobs(world)
        .await
        .iter()
        .any(|cronjob| active(cronjob).is_empty())
    {
        assert!(start.elapsed() < PATIENCE, "some runs never start");
        sleep(Duration::from_millis(100)).await;
    }
    let jobs = jobs(world).await;
    let mut owners: Vec<_> = jobs
        .iter()
        .map(|job| job.owner_references()[0].uid.clone())
        .collect();
    owners.sort();
    owners.dedup();
    assert_eq!((owners.len(), jobs.len()), (MANY, MANY));
    leave_nothing(world).await;
}

/// Deletes the CronJobs, so that the operator of the next test does not find them.
async fn leave_nothing(world: &World<'_>) {
    let (delete, all) = (DeleteParams::default(), ListParams::default());
    world
        .cronjobs
        .delete_collection(&delete, &all)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_manager_that_is_killed_and_restarted_starts_no_run_twice() {
    let env = idle().await;
    let world = many_due(&env).await;

    let killed = Operator::start(&world);
    some_started(&world).await;
    drop(killed);

    let _operator = Operator::start(&world);
    all_started_once(&world).await;
}

#[tokio::test]
async fn a_manager_that_is_stopped_finishes_its_reconciles() {
    let env = idle().await;
    let world = many_due(&env).await;

    let operator = Operator::start(&world);
    some_started(&world).await;
    let status = operator.terminate().await;

    assert!(status.success(), "{status}");
    let jobs = jobs(&world).await;
    assert!(jobs.len() < MANY, "too late to interrupt");
    // Each Job is in the status of its CronJob, which a reconcile writes last.
    let shown: usize = cronjobs(&world)
        .await
        .iter()
        .map(|cronjob| active(cronjob).len())
        .sum();
    assert_eq!(shown, jobs.len());

    let _operator = Operator::start(&world);
    all_started_once(&world).await;
}

#[tokio::test]
async fn all_runs_start_once_though_the_api_server_is_killed() {
    let env = idle().await;
    let world = many_due(&env).await;

    let mut operator = Operator::start(&world);
    some_started(&world).await;
    env.kill_api_server();
    env.start_api_server().await.unwrap();

    all_started_once(&world).await;
    assert!(
        operator.0.try_wait().unwrap().is_none(),
        "the operator ended"
    );
}

/// As during a rollout.
#[tokio::test]
async fn two_managers_at_once_start_each_run_once() {
    let env = idle().await;
    let world = many_due(&env).await;

    let _first = Operator::start(&world);
    let _second = Operator::start(&world);
    some_started(&world).await;
    env.kill_api_server();
    env.start_api_server().await.unwrap();

    all_started_once(&world).await;
    // Nor was a run started again after its Job had been deleted.
    let mut created = env.requests();
    created.retain(|request| {
        (request.verb.as_str(), request.resource.as_str()) == ("create", "jobs")
            && request.namespace.as_deref() == Some(&world.namespace)
            && request.code == 201
    });
    let names: HashSet<_> = created.iter().map(|request| &request.name).collect();
    assert_eq!(names.len(), created.len());
}

#[tokio::test]
async fn an_operator_wakes_up_for_each_run() {
    let env = idle().await;
    let world = World::new(&env).await;
    let _operator = Operator::start(&world);
    world.add("sample", "@every 1s", json!({})).await.unwrap();

    // Nothing else happens: no clock is set, and no Job ends.
    let start = Instant::now();
    while jobs(&world).await.len() < 3 {
        assert!(start.elapsed() < PATIENCE, "it does not wake up");
        sleep(Duration::from_millis(100)).await;
    }
    leave_nothing(&world).await;
}
