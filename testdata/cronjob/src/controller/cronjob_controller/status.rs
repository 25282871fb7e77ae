// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The status of a CronJob: what runs, what ran last, and how it goes.

#[cfg(test)]
mod tests;

use api::v1::{CronJob, CronJobStatus};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use kube::{Resource, ResourceExt};
use runtime::conditions::{self, Status};

use super::Error;
use super::decision::Run;
use super::jobs::Jobs;

/// How many Jobs `status.active` may name by its schema. It names the newest.
const MOST_ACTIVE: usize = 10;

/// How many characters of a message are kept: an event's note may have 1024 bytes.
const LONGEST_MESSAGE: usize = 250;

/// What a condition says: its status, its reason and its message.
type Finding = (Status, &'static str, String);

/// What became of a run.
#[derive(Debug)]
pub struct Outcome {
    pub run: Run,
    /// The Job that was created for it, if any; an error says why it could not be.
    pub job: Result<Option<Job>, Error>,
}

impl Outcome {
    /// The time of the run, if it has a Job now.
    fn started_at(&self) -> Option<Timestamp> {
        match (&self.run, &self.job) {
            (Run::Start { at, .. }, Ok(_)) => Some(*at),
            _ => None,
        }
    }
}

/// The status of `cronjob` after that outcome, with `jobs` as they are now.
pub fn of(cronjob: &CronJob, jobs: &Jobs, outcome: &Outcome, now: Timestamp) -> CronJobStatus {
    let mut status = cronjob.status.clone().unwrap_or_default();
    status.observed_generation = cronjob.metadata.generation;
    let newest = jobs.active.iter().rev().take(MOST_ACTIVE).rev();
    status.active = newest.map(|job| job.object_ref(&())).collect();
    let recorded = status.last_schedule_time.map(|time| time.0);
    let last_run = recorded.max(jobs.last_run()).max(outcome.started_at());
    status.last_schedule_time = last_run.map(Time);
    for (type_, (value, reason, message)) in [
        ("Available", available(jobs, outcome)),
        ("Progressing", progressing(jobs, outcome)),
        ("Degraded", degraded(jobs, outcome)),
    ] {
        let condition = Condition {
            message: message.chars().take(LONGEST_MESSAGE).collect(),
            last_transition_time: Time(now),
            ..conditions::new(type_, value, reason, cronjob.metadata.generation)
        };
        conditions::set(&mut status.conditions, condition);
    }
    status
}

/// Whether runs start and their Jobs succeed.
fn available(jobs: &Jobs, outcome: &Outcome) -> Finding {
    match degraded(jobs, outcome) {
        _ if matches!(outcome.run, Run::Suspended) => {
            let message = "no run starts while it is suspended";
            (Status::False, "Suspended", message.to_owned())
        }
        // One run was missed; the next ones will start.
        (Status::True, reason, message) if reason != "MissedSchedule" => {
            (Status::False, reason, message)
        }
        _ if jobs.active.is_empty() => (Status::True, "AllJobsCompleted", String::new()),
        _ => (Status::True, "JobsActive", String::new()),
    }
}

/// Whether Jobs run.
fn progressing(jobs: &Jobs, outcome: &Outcome) -> Finding {
    let message = match &outcome.run {
        Run::Skip { at, running } => format!("the run of {at} is skipped while Job {running} runs"),
        _ => String::new(),
    };
    match jobs.active.is_empty() {
        false => (Status::True, "JobsActive", message),
        true => (Status::False, "NoJobsActive", message),
    }
}

/// Whether something calls for attention.
fn degraded(jobs: &Jobs, outcome: &Outcome) -> Finding {
    let (reason, message) = match &outcome.run {
        Run::BadSchedule(error) => ("InvalidSchedule", error.to_string()),
        Run::Missed { since } => (
            "MissedSchedule",
            format!("the run of {since} could not start before its deadline"),
        ),
        Run::TooManyMissed { since } => (
            "TooManyMissed",
            format!(
                "more than 100 runs since {since} have not started; \
                 set or lower spec.startingDeadlineSeconds, or check the clocks"
            ),
        ),
        _ => match (&outcome.job, jobs.last_failed()) {
            (Err(error), _) => ("JobCreationFailed", error.to_string()),
            (_, Some(job)) => ("JobsFailed", format!("Job {} failed", job.name_any())),
            _ => return (Status::False, "AsExpected", String::new()),
        },
    };
    (Status::True, reason, message)
}
