// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! An API server with CronJobs that are due, and two watches that count how many are served.

use std::collections::{BTreeMap, HashSet};
use std::convert::Infallible;
use std::future::ready;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use api::v1::CronJob;
use k8s_openapi::api::batch::v1::Job;
use kbr_runtime::{Action, Controller, Handle, Manager};
use kbr_testing::{Builder, Operator, TestEnv};
use kube::api::PostParams;
use kube::{Api, Resource, ResourceExt};
use serde_json::json;
use tokio::sync::watch::{Receiver, Sender, channel};
use tokio::time::{sleep, timeout};

use crate::Result;
use crate::process::Process;

/// How often an API server gave each response, and the CPU seconds that it used.
pub type Answers = BTreeMap<String, f64>;

/// Between two checks whether an operator is still running.
const PAUSE: Duration = Duration::from_millis(100);

pub struct Cluster {
    pub env: TestEnv,
    watches: Operator,
    seen: Receiver<Seen>,
    patience: Duration,
}

/// The CronJobs that own a Job, and those whose status reports one.
#[derive(Default)]
struct Seen {
    started: HashSet<String>,
    reported: HashSet<String>,
}

impl Cluster {
    /// Starts one, and returns when `count` CronJobs are due: once, until tomorrow.
    pub async fn with_due(count: u32) -> Result<Self> {
        let env = start(builder().without_webhooks())?;
        let (sender, seen) = channel(Seen::default());
        let watches = env.start_operator(|manager| watch(manager, sender))?;

        // Late enough for all of them to be created before.
        let margin = Duration::from_secs(5) + count * Duration::from_millis(25);
        let minute = (SystemTime::UNIX_EPOCH.elapsed()? + margin).as_secs() / 60 + 1;
        let spec = serde_json::from_value::<api::v1::CronJobSpec>(json!({
            "schedule": format!("{} {} * * *", minute % 60, minute / 60 % 24),
            "jobTemplate": { "spec": { "template": { "spec": {
                "restartPolicy": "Never",
                "containers": [{ "name": "job", "image": "job" }],
            } } } },
        }))?;
        let api = Api::namespaced(env.admin(), &env.namespace().await);
        for number in 0..count {
            let cronjob = CronJob::new(&format!("cronjob-{number:04}"), spec.clone());
            api.create(&PostParams::default(), &cronjob).await?;
        }
        // A second later, since clocks are rounded.
        let due = Duration::from_secs(minute * 60 + 1);
        let left = due.checked_sub(SystemTime::UNIX_EPOCH.elapsed()?);
        sleep(left.ok_or("the CronJobs were due before they were created")?).await;
        Ok(Self {
            env,
            watches,
            seen,
            patience: Duration::from_secs(60) + count * Duration::from_millis(300),
        })
    }

    /// Waits until `started` CronJobs have a Job and `reported` report one, and returns the time since
    /// the start of `process`.
    pub async fn served(
        &self,
        started: u32,
        reported: u32,
        process: &mut Process,
    ) -> Result<Duration> {
        let mut seen = self.seen.clone();
        while process.started.elapsed() < self.patience {
            let is_served = |seen: &Seen| {
                seen.started.len() >= started as usize && seen.reported.len() >= reported as usize
            };
            if let Ok(seen) = timeout(PAUSE, seen.wait_for(is_served)).await {
                seen?;
                return Ok(process.started.elapsed());
            }
            process.check()?;
        }
        let (seconds, seen) = (self.patience.as_secs(), self.seen.borrow());
        let (jobs, statuses) = (seen.started.len(), seen.reported.len());
        let what = format!("did not finish within {seconds} s: {jobs} Jobs, {statuses} statuses");
        Err(process.error(&what))
    }

    /// Stops it in order: otherwise the watches would go on without an API server.
    pub fn stop(self) {
        self.watches.stop();
    }
}

/// Starts an API server where every operator may do everything, since other operators need other
/// permissions.
pub fn start(builder: Builder) -> Result<TestEnv> {
    let env = builder.start()?;
    let all = "all --clusterrole=cluster-admin --group=system:serviceaccounts";
    kubectl(&env, &format!("create clusterrolebinding {all}"))?;
    Ok(env)
}

/// An API server with the CRDs of this project.
pub fn builder() -> Builder {
    builder_of(Path::new(env!("CARGO_MANIFEST_DIR")))
}

/// An API server with the CRDs of another project.
pub fn builder_of(project: &Path) -> Builder {
    TestEnv::builder(project)
}

/// The responses of the API server for these resources so far, except for watches that still run.
pub fn answers(env: &TestEnv, resources: &[&str]) -> Result<Answers> {
    let mut answers = Answers::new();
    for line in kubectl(env, "get --raw /metrics")?.lines() {
        let Some((name, value)) = line.rsplit_once(' ') else {
            continue;
        };
        let label = |label| {
            let mut labels = name.split(['{', ',', '}']);
            let value = labels.find_map(|pair| pair.strip_prefix(label)?.strip_prefix('='));
            value.unwrap_or_default().trim_matches('"')
        };
        if name == "process_cpu_seconds_total" {
            answers.insert("seconds of CPU".to_owned(), value.parse()?);
        } else if name.starts_with("apiserver_request_total{")
            && resources.contains(&label("resource"))
        {
            let labels = ["code", "verb", "resource", "subresource"].map(label);
            let answer = labels.join(" ").trim_end().to_owned();
            *answers.entry(answer).or_default() += value.parse::<f64>()?;
        }
    }
    Ok(answers)
}

/// The difference between `after` and `before`.
pub fn since(before: &Answers, mut after: Answers) -> Answers {
    after.retain(|what, number| {
        *number -= before.get(what).unwrap_or(&0.0);
        *number > 0.0
    });
    after
}

fn kubectl(env: &TestEnv, line: &str) -> Result<String> {
    let output = env.kubectl().args(line.split(' ')).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Makes `manager` watch both kinds and report to `seen`.
fn watch(manager: &mut Manager, seen: Sender<Seen>) {
    let seen = Arc::new(seen);
    let started = seen.clone();
    let see_job = move |job: Handle<Job>| {
        if let Some(owner) = job.controller_owner_ref(&()) {
            started.send_if_modified(|seen| seen.started.insert(owner.name));
        }
        ready(Ok::<_, Infallible>(Action::await_change()))
    };
    let see_cronjob = move |cronjob: Handle<CronJob>| {
        let status = cronjob.status.clone().unwrap_or_default();
        if !status.active.is_empty() || status.last_schedule_time.is_some() {
            seen.send_if_modified(|seen| seen.reported.insert(cronjob.name_any()));
        }
        ready(Ok::<_, Infallible>(Action::await_change()))
    };
    let jobs = Controller::new(manager.all());
    manager.add("jobs", jobs, see_job);
    let cronjobs = Controller::new(manager.all());
    manager.add("cronjobs", cronjobs, see_cronjob);
}
