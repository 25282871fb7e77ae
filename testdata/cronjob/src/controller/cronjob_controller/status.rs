// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The status of a CronJob: what runs, what ran last, and its conditions.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use api::v1::{CronJob, CronJobStatus};
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kbr_runtime::conditions::{self, ConditionStatus};
use kube::{Resource, ResourceExt};

use super::Error;
use super::decision::{self, Run};
use super::jobs::Jobs;

/// How many Jobs the schema allows in `status.active`. The newest are listed.
const MOST_ACTIVE: usize = 10;

/// How many characters of a message are kept; the schema says 32768.
const LONGEST_MESSAGE: usize = 1000;

/// The reason while the Job of a run cannot be created.
const CREATION_FAILED: &str = "JobCreationFailed";

/// The reason while the CronJob does not control the Job that has the name for the run.
const NAME_TAKEN: &str = "JobNameTaken";

/// What a condition says: its status, its reason and its message.
type Finding<'a> = (ConditionStatus, &'a str, String);

/// The outcome of a run.
#[derive(Debug)]
pub struct Outcome {
    pub run: Run,
    /// The Job that was created for it, if any; an error says why it could not be created.
    pub job: Result<Option<Arc<Job>>, Error>,
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

/// The conditions that this controller writes. All others in the status belong to other writers.
const CONDITIONS: [&str; 3] = ["Available", "Progressing", "Degraded"];

/// What this controller has written to the status of `cronjob`.
pub fn written(cronjob: &CronJob) -> CronJobStatus {
    let mut status = cronjob.status.clone().unwrap_or_default();
    status.conditions = conditions::of_types(&status.conditions, &CONDITIONS);
    status
}

/// The new status of `cronjob` after `outcome`, with its current `jobs`.
pub fn of(cronjob: &CronJob, jobs: &Jobs, outcome: &Outcome, now: Timestamp) -> CronJobStatus {
    let mut status = written(cronjob);
    status.observed_generation = cronjob.metadata.generation;
    let newest = jobs.active.iter().rev().take(MOST_ACTIVE).rev();
    status.active = newest.map(|job| job.object_ref(&())).collect();
    let last_run = decision::last_run(cronjob, jobs, now).max(outcome.started_at());
    status.last_schedule_time = last_run.map(Time);
    let degraded = degraded(jobs, outcome, last_run);
    let findings = [
        available(jobs, outcome, &degraded),
        progressing(jobs, outcome),
        degraded,
    ];
    // Times written while a clock was ahead are corrected, too.
    for condition in &mut status.conditions {
        if decision::is_future(condition.last_transition_time.0, now) {
            condition.last_transition_time = Time(now);
        }
    }
    for (type_, (value, reason, message)) in CONDITIONS.into_iter().zip(findings) {
        let condition = Condition {
            message: message.chars().take(LONGEST_MESSAGE).collect(),
            ..conditions::new(type_, value, reason, cronjob.metadata.generation, now)
        };
        if !is_same_failure(&status.conditions, &condition) {
            conditions::set(&mut status.conditions, condition);
        }
    }
    status
}

/// Whether a condition reports that a Job still cannot be created.
///
/// The server's message may differ each time, such as by a number in it. If it were written, the
/// change would trigger the next attempt immediately, in spite of the delay between attempts.
fn is_same_failure(conditions: &[Condition], new: &Condition) -> bool {
    let mut old = conditions.iter().filter(|old| old.type_ == new.type_);
    new.reason == CREATION_FAILED
        && old.any(|old| {
            (&old.reason, old.observed_generation) == (&new.reason, new.observed_generation)
        })
}

/// Whether runs start and their Jobs succeed.
fn available<'a>(jobs: &Jobs, outcome: &Outcome, degraded: &Finding<'a>) -> Finding<'a> {
    if let Run::Suspended = outcome.run {
        let message = "no run starts while it is suspended";
        return (ConditionStatus::False, "Suspended", message.to_owned());
    }
    match degraded {
        // One run was missed; the next ones will start.
        (ConditionStatus::True, reason, message) if *reason != "MissedSchedule" => {
            (ConditionStatus::False, reason, message.clone())
        }
        _ if jobs.active.is_empty() => (ConditionStatus::True, "AllJobsCompleted", String::new()),
        _ => (ConditionStatus::True, "JobsActive", String::new()),
    }
}

/// Whether Jobs run.
fn progressing(jobs: &Jobs, outcome: &Outcome) -> Finding<'static> {
    let message = match &outcome.run {
        Run::Skip { running } => format!("runs are skipped while Job {running} runs"),
        _ => String::new(),
    };
    if jobs.active.is_empty() {
        (ConditionStatus::False, "NoJobsActive", message)
    } else {
        (ConditionStatus::True, "JobsActive", message)
    }
}

/// Whether something calls for attention.
fn degraded<'a>(jobs: &'a Jobs, outcome: &Outcome, last_run: Option<Timestamp>) -> Finding<'a> {
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
        _ => match (&outcome.job, &jobs.problem, jobs.last_failed(last_run)) {
            (Err(error @ Error::NameTaken { .. }), ..) => (NAME_TAKEN, error.message()),
            (Err(error), ..) => (CREATION_FAILED, error.message()),
            (_, Some(problem), _) => (problem.reason.as_str(), problem.message.clone()),
            (_, _, Some(job)) => ("JobsFailed", format!("Job {} failed", job.name_any())),
            _ => return (ConditionStatus::False, "AsExpected", String::new()),
        },
    };
    (ConditionStatus::True, reason, message)
}
