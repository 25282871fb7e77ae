// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! What is to be done about a CronJob: a function of its spec, its Jobs and the time.
//!
//! Nothing is asked or written here, so that every case can be a line in a table of tests.

#[cfg(test)]
mod tests;

use std::iter;
use std::sync::Arc;
use std::time::Duration;

use api::v1::{ConcurrencyPolicy, CronJob};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt;

use super::jobs::{self, Jobs};
use super::status;
use crate::schedule::{self, Schedule};

/// More missed runs than this mean that something is wrong, such as a clock: none starts, and the
/// user is told. The number is that of Kubernetes' own CronJob.
const MOST_MISSED: usize = 100;

/// How far another computer's clock may be ahead. What is further ahead was written while a clock was
/// wrong, or by somebody's hand.
const SKEW: SignedDuration = SignedDuration::from_secs(10);

/// How long to wait at most, as the clock may be set meanwhile. To look again asks nobody.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_mins(1);

/// What is to be done.
#[derive(Debug)]
pub struct Decision {
    /// The finished Jobs beyond the history limits, to be deleted in this order.
    pub surplus: Vec<Arc<Job>>,
    /// What becomes of the run that is due.
    pub run: Run,
    /// When the next run is due, by the clock as it is now.
    pub next: Option<Timestamp>,
}

/// What becomes of the run that is due.
#[derive(Debug)]
pub enum Run {
    /// No run is due.
    NotDue,
    /// The CronJob is suspended.
    Suspended,
    /// Nobody can tell when runs are due.
    BadSchedule(schedule::Error),
    /// The run of that time starts, once the Jobs that it replaces are deleted.
    Start {
        at: Timestamp,
        replaces: Vec<Arc<Job>>,
    },
    /// No run starts while the Job of that name runs.
    Skip { running: String },
    /// The run of that time, and any since, cannot start any more: its deadline has passed.
    Missed { since: Timestamp },
    /// More runs than [`MOST_MISSED`], from that time on, have not started.
    TooManyMissed { since: Timestamp },
}

/// Decides what is to be done at the time `now`.
pub fn decide(cronjob: &CronJob, jobs: &Jobs, now: Timestamp) -> Decision {
    let (run, next) = run(cronjob, jobs, now);
    let spec = &cronjob.spec;
    let failed = oldest(&jobs.failed, spec.failed_jobs_history_limit);
    let succeeded = oldest(&jobs.succeeded, spec.successful_jobs_history_limit);
    let surplus = failed.iter().chain(succeeded);
    Decision {
        surplus: surplus
            .filter(|job| !is_proof(job, cronjob, now) && !is_being_deleted(job))
            .cloned()
            .collect(),
        run,
        next,
    }
}

/// How long to wait after that before the next decision; `None` for as long as nothing changes.
pub fn wait(run: &Run, next: Option<Timestamp>, now: Timestamp) -> Option<Duration> {
    if let Run::Suspended | Run::BadSchedule(_) = run {
        return None;
    }
    let until_next = next.map_or(LONGEST_WAIT, |next| next.duration_since(now));
    // A time that has passed is no duration.
    let wait = until_next.min(LONGEST_WAIT).try_into();
    Some(wait.unwrap_or_default())
}

/// The oldest of `jobs`: as many as are beyond `limit`.
fn oldest(jobs: &[Arc<Job>], limit: Option<i32>) -> &[Arc<Job>] {
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(0));
    &jobs[..jobs.len().saturating_sub(limit)]
}

fn run(cronjob: &CronJob, jobs: &Jobs, now: Timestamp) -> (Run, Option<Timestamp>) {
    let spec = &cronjob.spec;
    if spec.suspend == Some(true) {
        return (Run::Suspended, None);
    }
    let schedule = match spec.schedule.parse::<Schedule>() {
        Ok(schedule) => schedule,
        Err(error) => return (Run::BadSchedule(error), None),
    };
    let last = last_run(cronjob, jobs, now).unwrap_or_else(|| first_seen(cronjob, now));
    let next = schedule.next(last, now.max(last));
    let due = match due(&schedule, last, spec.starting_deadline_seconds, now) {
        Ok(Some(at)) => at,
        Ok(None) => return (Run::NotDue, next),
        Err(run @ Run::TooManyMissed { .. }) => return (run, None),
        Err(run) => return (run, next),
    };
    let run = match (spec.concurrency_policy, jobs.active.first()) {
        (ConcurrencyPolicy::Forbid, Some(running)) => Run::Skip {
            running: running.name_any(),
        },
        (ConcurrencyPolicy::Replace, Some(_)) => {
            let active = jobs.active.iter().filter(|job| !is_being_deleted(job));
            let replaces: Vec<_> = active.cloned().collect();
            let is_unrecorded = |job: &Arc<Job>| is_unrecorded(job, cronjob, now);
            if replaces.iter().any(is_unrecorded) {
                // The change of the status that records it brings us back.
                return (Run::NotDue, next);
            }
            Run::Start { at: due, replaces }
        }
        _ => Run::Start {
            at: due,
            replaces: Vec::new(),
        },
    };
    (run, next)
}

/// The time of the latest run that has been: the Jobs may be gone, and the status may not have been
/// written. One that is in the future has not been.
pub fn last_run(cronjob: &CronJob, jobs: &Jobs, now: Timestamp) -> Option<Timestamp> {
    let runs = jobs.runs().filter(|run| !is_future(*run, now));
    runs.max().max(recorded_by(cronjob, now))
}

/// The time of the latest run that has been by the status. Where that has one in the future, nobody
/// knows any more which was the last before: all runs up to now count as been.
fn recorded_by(cronjob: &CronJob, now: Timestamp) -> Option<Timestamp> {
    let run = recorded(cronjob)?;
    Some(if is_future(run, now) {
        whole_second(now)
    } else {
        run
    })
}

/// Since when there are runs: the creation. Where that is in the future, the API server's clock was
/// wrong; then since the first condition.
fn first_seen(cronjob: &CronJob, now: Timestamp) -> Timestamp {
    let is_past = |time: &Timestamp| !is_future(*time, now);
    let created = cronjob.creation_timestamp().map(|time| time.0);
    created.filter(is_past).unwrap_or_else(|| {
        let conditions = status::written(cronjob).conditions;
        let times = conditions.iter().map(|one| one.last_transition_time.0);
        times.filter(is_past).min().unwrap_or(now)
    })
}

/// Whether a time has not come yet, whichever computer wrote it down.
pub fn is_future(time: Timestamp, now: Timestamp) -> bool {
    time.duration_since(now) > SKEW
}

/// As times are in the status.
fn whole_second(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

/// The time of the latest run that is in the status.
pub fn recorded(cronjob: &CronJob) -> Option<Timestamp> {
    let time = cronjob.status.as_ref()?.last_schedule_time.as_ref();
    time.map(|time| time.0)
}

/// The latest run that is due; an error says why there is none though there was one.
fn due(
    schedule: &Schedule,
    last: Timestamp,
    deadline: Option<i64>,
    now: Timestamp,
) -> Result<Option<Timestamp>, Run> {
    let is_due = |run: &Timestamp| *run <= now;
    let Some(first) = schedule.next(last, last).filter(is_due) else {
        return Ok(None);
    };
    let too_late = deadline.map_or(Timestamp::MIN, |seconds| too_late(seconds, now));
    let from = schedule.next(last, last.max(too_late)).filter(is_due);
    let Some(from) = from else {
        return Err(Run::Missed { since: first });
    };
    let runs = iter::successors(Some(from), |run| schedule.next(*run, *run));
    let mut runs = runs.take_while(is_due);
    let latest = runs.by_ref().take(MOST_MISSED).last();
    match runs.next() {
        None => Ok(latest),
        Some(_) => Err(Run::TooManyMissed { since: from }),
    }
}

/// The latest time at which a run would be too late by now. Deadlines count whole seconds.
fn too_late(deadline: i64, now: Timestamp) -> Timestamp {
    let seconds = now.as_second().saturating_sub(deadline).saturating_sub(1);
    Timestamp::from_second(seconds).unwrap_or(Timestamp::MIN)
}

/// Whether the Job alone tells that its run has been, because the status does not yet.
fn is_unrecorded(job: &Job, cronjob: &CronJob, now: Timestamp) -> bool {
    let run = jobs::scheduled_at(job);
    run.is_some_and(|run| !is_future(run, now)) && run > recorded_by(cronjob, now)
}

/// Whether the Job must stay for what it tells. One whose run is in the future was started by a clock
/// that was ahead, and will have been the run when its time comes.
fn is_proof(job: &Job, cronjob: &CronJob, now: Timestamp) -> bool {
    let run = jobs::scheduled_at(job);
    run.is_some_and(|run| is_future(run, now)) || is_unrecorded(job, cronjob, now)
}

fn is_being_deleted(job: &Job) -> bool {
    job.metadata.deletion_timestamp.is_some()
}
