// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! What must be true of each run that is due, and of each status after a fault.
//!
//! A run must have its Job within [`LATE`] of its time, or of the end of the Job that forbids it,
//! unless a fault excuses it. [`crate::record`] has what holds without exception.

use std::collections::BTreeMap;

use api::v1::{ConcurrencyPolicy, CronJob};
use k8s_openapi::api::batch::v1::Job;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};

use crate::record::{Record, Seen, State, ended, now};
use crate::schedules::Scheduled;

/// Seconds within which a Job must exist, less than any interval.
pub const LATE: i64 = 10;

/// Seconds until the watch of the Jobs must have reported a Job.
const TOLD: i64 = 5;

/// Seconds within which a Job that has just ended may or may not allow the next.
const MARGIN: i64 = 3;

/// Seconds within which a status must be correct at least once: Jobs start and end meanwhile.
const LOOKS: usize = 20;

/// Which CronJobs a fault excuses.
#[derive(Clone, Debug)]
pub enum Whom {
    All,
    Namespace(String),
    One(String, String),
}

impl Whom {
    fn is(&self, cronjob: &Scheduled) -> bool {
        match self {
            Self::All => true,
            Self::Namespace(namespace) => *namespace == cronjob.namespace,
            Self::One(namespace, name) => *namespace == cronjob.namespace && *name == cronjob.name,
        }
    }
}

/// The outcomes of runs.
#[derive(Clone, Copy, Default)]
pub struct Tally {
    pub due: u32,
    pub in_time: u32,
    pub late: u32,
    /// Forbidden by a Job that was active.
    pub skipped: u32,
    pub missed: u32,
}

impl Tally {
    pub fn add(&mut self, other: &Self) {
        self.due += other.due;
        self.in_time += other.in_time;
        self.late += other.late;
        self.skipped += other.skipped;
        self.missed += other.missed;
    }
}

pub struct Judge {
    cronjobs: Vec<Scheduled>,
    record: Record,
    /// The last judged run of each CronJob.
    judged: Vec<i64>,
    /// Each with the Unix times of its start and end.
    excuses: Vec<(Whom, i64, i64)>,
    /// By the time at which a fault, or the soak, began.
    tallies: BTreeMap<i64, Tally>,
}

impl Judge {
    /// Judges the runs from now on.
    pub fn new(cronjobs: Vec<Scheduled>, record: Record) -> Self {
        Self {
            judged: vec![now(); cronjobs.len()],
            cronjobs,
            record,
            excuses: Vec::new(),
            tallies: BTreeMap::from([(0, Tally::default())]),
        }
    }

    /// Runs from `time` on count for the fault that begins then.
    pub fn begin(&mut self, time: i64) {
        self.tallies.entry(time).or_default();
    }

    pub fn tally(&self, begin: i64) -> Tally {
        self.tallies.get(&begin).copied().unwrap_or_default()
    }

    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        self.tallies.values().for_each(|tally| total.add(tally));
        total
    }

    /// Excuses runs between these times.
    pub fn excuse(&mut self, whom: Whom, from: i64, to: i64) {
        self.excuses.push((whom, from, to));
    }

    fn is_excused(&self, cronjob: &Scheduled, from: i64, to: i64) -> bool {
        let mut excuses = self.excuses.iter();
        excuses.any(|(whom, begin, end)| whom.is(cronjob) && *begin <= to && *end >= from)
    }

    /// Judges the runs whose outcome is known by now, and returns the violations.
    pub fn judge(&mut self) -> Vec<String> {
        let record = self.record.clone();
        let mut state = record.lock();
        let mut violations = std::mem::take(&mut state.violations);
        for number in 0..self.cronjobs.len() {
            let cronjob = self.cronjobs[number].clone();
            loop {
                let at = cronjob.next(self.judged[number]);
                let known = match cronjob.policy {
                    ConcurrencyPolicy::Forbid => cronjob.next(at),
                    ConcurrencyPolicy::Allow | ConcurrencyPolicy::Replace => at,
                };
                if now() < known + LATE + TOLD {
                    break;
                }
                self.judged[number] = at;
                violations.extend(self.judge_run(&cronjob, at, &state));
            }
        }
        violations
    }

    fn judge_run(&mut self, cronjob: &Scheduled, at: i64, state: &State) -> Option<String> {
        let jobs: Vec<&Seen> = state
            .jobs
            .values()
            .filter(|job| job.is_of(cronjob))
            .collect();
        // When the last Job before it ended, if the run must wait for that.
        let before = jobs.iter().filter(|job| job.at < at);
        let until = before.map(|job| job.until().unwrap_or(i64::MAX)).max();
        let free = match cronjob.policy {
            ConcurrencyPolicy::Forbid => until.unwrap_or(at).max(at),
            ConcurrencyPolicy::Allow | ConcurrencyPolicy::Replace => at,
        };
        let deadline = cronjob.deadline.map_or(i64::MAX, |deadline| at + deadline);
        let may_be_skipped =
            free > at && free.saturating_add(MARGIN) >= deadline.min(cronjob.next(at));
        let started = jobs.iter().filter(|job| job.at == at);
        let started = started.map(|job| job.created).min();
        let tally = self
            .tallies
            .range_mut(..=at)
            .next_back()
            .map(|(_, tally)| tally);
        let mut unknown = Tally::default();
        let tally = tally.unwrap_or(&mut unknown);
        tally.due += 1;
        let what = match started {
            Some(created) if created <= free.saturating_add(LATE) => {
                tally.in_time += 1;
                return None;
            }
            Some(created) => {
                tally.late += 1;
                format!("had its Job after {} s", created - free)
            }
            None if may_be_skipped => {
                tally.skipped += 1;
                return None;
            }
            None => {
                tally.missed += 1;
                "had no Job".to_owned()
            }
        };
        let Scheduled {
            namespace, name, ..
        } = cronjob;
        let is_excused = self.is_excused(cronjob, at, free.saturating_add(LATE));
        (!is_excused).then(|| format!("the run {at} of {namespace}/{name} {what}"))
    }

    /// The Jobs of a CronJob that were started between these times although it could not be read.
    pub fn ghosts(&self, namespace: &str, name: &str, from: i64, to: i64) -> Vec<String> {
        let state = self.record.lock();
        let jobs = state.jobs.values();
        let ghosts = jobs.filter(|job| {
            job.namespace == namespace && job.cronjob == name && (from..to).contains(&job.created)
        });
        let text = |job: &Seen| format!("Job {} was started from an unreadable object", job.name);
        ghosts.map(text).collect()
    }

    /// Checks each status until it is correct, and returns what stays wrong.
    pub async fn check_statuses(&self, client: &Client) -> kube::Result<Vec<String>> {
        let mut wrong: BTreeMap<usize, String> = (0..self.cronjobs.len())
            .map(|number| (number, String::new()))
            .collect();
        for _ in 0..LOOKS {
            let all = ListParams::default();
            let objects = Api::<CronJob>::all(client.clone()).list(&all).await?.items;
            let jobs = Api::<Job>::all(client.clone()).list(&all).await?.items;
            self.strike_true(&mut wrong, &objects, &jobs);
            if wrong.is_empty() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        }
        let text = |(number, wrong): (usize, String)| {
            let Scheduled {
                namespace, name, ..
            } = &self.cronjobs[number];
            format!("the status of {namespace}/{name} stays wrong: {wrong}")
        };
        Ok(wrong.into_iter().map(text).collect())
    }

    /// Leaves in `wrong` only what is wrong now, by the number of the CronJob.
    fn strike_true(&self, wrong: &mut BTreeMap<usize, String>, objects: &[CronJob], jobs: &[Job]) {
        let state = self.record.lock();
        wrong.retain(|number, wrong| {
            let cronjob = &self.cronjobs[*number];
            let is_it = |object: &&CronJob| {
                object.name_any() == cronjob.name
                    && object.namespace().as_ref() == Some(&cronjob.namespace)
            };
            *wrong = match objects.iter().find(is_it) {
                Some(object) => self.falsehood(cronjob, object, jobs, &state),
                None => "the CronJob does not exist".to_owned(),
            };
            !wrong.is_empty()
        });
    }

    /// What is wrong in a status; empty if it is correct.
    fn falsehood(
        &self,
        cronjob: &Scheduled,
        object: &CronJob,
        jobs: &[Job],
        state: &State,
    ) -> String {
        let status = object.status.clone().unwrap_or_default();
        let active = jobs.iter().filter(|job| {
            let owner = job.owner_references().first();
            job.namespace().as_ref() == Some(&cronjob.namespace)
                && owner.is_some_and(|owner| owner.name == cronjob.name)
                && ended(job).is_none()
        });
        let mut active: Vec<String> = active.map(ResourceExt::name_any).collect();
        active.sort();
        let listed = status.active.iter().filter_map(|job| job.name.clone());
        let mut listed: Vec<String> = listed.collect();
        listed.sort();
        if listed != active {
            return format!("active is {listed:?} instead of {active:?}");
        }

        let now = now();
        let seen: Vec<&Seen> = state
            .jobs
            .values()
            .filter(|job| job.is_of(cronjob))
            .collect();
        let last = seen.iter().map(|job| job.at).filter(|at| *at <= now).max();
        let recorded = status.last_schedule_time.map(|time| time.0.as_second());
        // After a wrong clock it is the moment up to which all runs count as done.
        let is_moment =
            recorded > last && recorded.is_some_and(|at| self.is_excused(cronjob, at, at));
        if recorded != last && !is_moment {
            return format!("lastScheduleTime is {recorded:?} instead of {last:?}");
        }
        if status.observed_generation != object.metadata.generation {
            return format!("observedGeneration is {:?}", status.observed_generation);
        }

        let is_active = !active.is_empty();
        let condition = |type_| status.conditions.iter().find(|one| one.type_ == type_);
        for (type_, expected) in [
            ("Available", true),
            ("Progressing", is_active),
            ("Degraded", false),
        ] {
            let Some(condition) = condition(type_) else {
                return format!("{type_} is missing");
            };
            // The newest run was really missed.
            let newest = cronjob.next(now - cronjob.interval - 1);
            let is_missed = !seen.iter().any(|job| job.at >= newest);
            if condition.reason == "MissedSchedule" && is_missed {
                continue;
            }
            if (condition.status == "True") != expected {
                return format!("{type_} is {} {}", condition.status, condition.reason);
            }
        }
        String::new()
    }
}
