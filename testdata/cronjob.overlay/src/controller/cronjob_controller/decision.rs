// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! Decides what to do about a CronJob: a function of its spec, its Jobs and the time.
//!
//! Nothing is read from or written to a server here, so that every case can be a line in a table of
//! tests.

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
/// status reports it. The tutorial stops at the same number; Kubernetes' own CronJob warns and starts a
/// run.
const MOST_MISSED: usize = 100;

/// How far another computer's clock may be ahead. A time further ahead was written while a clock was
/// wrong, or manually.
const SKEW: SignedDuration = SignedDuration::from_secs(10);

/// The longest wait, since the clock may be set meanwhile. Looking again sends no request.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_mins(1);

/// What to do.
#[derive(Debug)]
pub struct Decision {
    /// The finished Jobs beyond the history limits, to be deleted in this order.
    pub surplus: Vec<Arc<Job>>,
    /// What happens to the run that is due.
    pub run: Run,
    /// When the next run is due, according to the current clock.
    pub next: Option<Timestamp>,
}

/// What happens to the run that is due.
#[derive(Debug)]
pub enum Run {
    /// No run is due.
    NotDue,
    /// The CronJob is suspended.
    Suspended,
    /// The schedule is invalid, so it is unknown when runs are due.
    BadSchedule(schedule::Error),
    /// The run of this time starts, once the Jobs that it replaces are deleted.
    Start {
        at: Timestamp,
        replaces: Vec<Arc<Job>>,
    },
    /// No run starts while the Job of this name runs.
    Skip { running: String },
    /// The run of this time, and any since, can no longer start: the deadline has passed.
    Missed { since: Timestamp },
    /// More than [`MOST_MISSED`] runs, from this time on, have not started.
    TooManyMissed { since: Timestamp },
}

/// Decides what to do at the time `now`.
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

/// The time that counts: that of `clock`, this machine's, unless the latest run is recorded for later and that is past
/// by the `server`'s clock. Then this clock is behind, and would start runs again that have had theirs.
pub fn time(cronjob: &CronJob, clock: Timestamp, server: Option<Timestamp>) -> Timestamp {
    let is_behind = |server: &Timestamp| {
        recorded(cronjob).is_some_and(|run| is_future(run, clock) && !is_future(run, *server))
    };
    server.filter(is_behind).unwrap_or(clock)
}

/// How long to wait after `run` before the next decision; `None` if only a change calls for one.
pub fn wait(run: &Run, next: Option<Timestamp>, now: Timestamp) -> Option<Duration> {
    if let Run::Suspended | Run::BadSchedule(_) = run {
        return None;
    }
    let until_next = next.map_or(LONGEST_WAIT, |next| next.duration_since(now));
    // A time in the past is not a valid duration.
    let wait = until_next.min(LONGEST_WAIT).try_into();
    Some(wait.unwrap_or_default())
}

/// The oldest of `jobs`: those beyond `limit`.
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
                // The write to the status that records it triggers a reconcile.
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

/// The time of the latest run that has started: its Job may have been deleted, or the status may not
/// have been written. A run in the future does not count.
pub fn last_run(cronjob: &CronJob, jobs: &Jobs, now: Timestamp) -> Option<Timestamp> {
    let runs = jobs.runs().filter(|run| !is_future(*run, now));
    runs.max().max(recorded_by(cronjob, now))
}

/// The time of the latest run according to the status. If that is in the future, the last run before
/// it is no longer known: all runs up to now count as done.
fn recorded_by(cronjob: &CronJob, now: Timestamp) -> Option<Timestamp> {
    let run = recorded(cronjob)?;
    if !is_future(run, now) {
        return Some(run);
    }
    let schedule = cronjob.spec.schedule.parse::<Schedule>().ok();
    let done = schedule.and_then(|schedule| schedule.done(run, now));
    done.or(Timestamp::from_second(now.as_second()).ok())
}

/// The time from which runs count: the creation. If that is in the future, the API server's clock was
/// wrong; then the time of the first condition.
fn first_seen(cronjob: &CronJob, now: Timestamp) -> Timestamp {
    let is_past = |time: &Timestamp| !is_future(*time, now);
    let created = cronjob.creation_timestamp().map(|time| time.0);
    created.filter(is_past).unwrap_or_else(|| {
        let conditions = status::written(cronjob).conditions;
        let times = conditions.iter().map(|one| one.last_transition_time.0);
        times.filter(is_past).min().unwrap_or(now)
    })
}

/// Whether a time is in the future, whichever computer wrote it.
pub fn is_future(time: Timestamp, now: Timestamp) -> bool {
    time.duration_since(now) > SKEW
}

/// The time of the latest run, as recorded in the status.
pub fn recorded(cronjob: &CronJob) -> Option<Timestamp> {
    let time = cronjob.status.as_ref()?.last_schedule_time.as_ref();
    time.map(|time| time.0)
}

/// The latest run that is due; an error says why it cannot start.
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

/// Whether the Job is the only record of its run, because the status does not have it yet.
fn is_unrecorded(job: &Job, cronjob: &CronJob, now: Timestamp) -> bool {
    let run = jobs::scheduled_at(job);
    run.is_some_and(|run| !is_future(run, now)) && run > recorded_by(cronjob, now)
}

/// Whether the Job must stay as a record of its run. A Job whose run is in the future was started while
/// a clock was ahead, and counts as the run when its time comes.
fn is_proof(job: &Job, cronjob: &CronJob, now: Timestamp) -> bool {
    let run = jobs::scheduled_at(job);
    run.is_some_and(|run| is_future(run, now)) || is_unrecorded(job, cronjob, now)
}

fn is_being_deleted(job: &Job) -> bool {
    job.metadata.deletion_timestamp.is_some()
}
