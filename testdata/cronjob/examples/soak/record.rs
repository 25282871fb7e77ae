// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! All Jobs that ever existed, recorded by a watch that nothing disturbs except the death of the API
//! server.

use std::collections::{BTreeMap, HashSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use api::v1::ConcurrencyPolicy;
use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::time::sleep;

use crate::kubelet::PAUSE;
use crate::schedules::Scheduled;

/// A Job created more than this many seconds before its time was created with a wrong clock.
pub const EARLY: i64 = 2;

/// A Job, with Unix times.
#[derive(Clone)]
pub struct Seen {
    pub namespace: String,
    pub name: String,
    pub cronjob: String,
    /// The time of its run, from its name.
    pub at: i64,
    pub created: i64,
    /// When it completed or failed.
    pub ended: Option<i64>,
    /// When it was seen to be deleted.
    pub deleted: Option<i64>,
}

impl Seen {
    pub fn is_of(&self, cronjob: &Scheduled) -> bool {
        self.namespace == cronjob.namespace && self.cronjob == cronjob.name
    }

    /// Until when it was active, if it no longer is.
    pub fn until(&self) -> Option<i64> {
        let (ended, deleted) = (self.ended, self.deleted);
        ended
            .or(deleted)
            .map(|time| time.min(deleted.unwrap_or(time)))
    }

    pub fn is_early(&self) -> bool {
        self.created + EARLY < self.at
    }
}

/// Shared by the watch and the judge.
#[derive(Clone, Default)]
pub struct Record(Arc<Mutex<State>>);

#[derive(Default)]
pub struct State {
    /// By uid.
    pub jobs: BTreeMap<String, Seen>,
    /// What must never happen, found since the last check.
    pub violations: Vec<String>,
}

impl Record {
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches Jobs forever. Those of `cronjobs` are judged.
    pub async fn watch(self, client: Client, cronjobs: Vec<Scheduled>) {
        let jobs = Api::<Job>::all(client);
        let mut events = pin!(watcher(jobs, watcher::Config::default()));
        let mut listed = HashSet::new();
        loop {
            match events.next().await {
                Some(Ok(Event::Init)) => listed.clear(),
                Some(Ok(Event::InitApply(job))) => {
                    listed.extend(job.uid());
                    self.lock().see(&job, &cronjobs, false);
                }
                Some(Ok(Event::InitDone)) => self.lock().listed(&listed),
                Some(Ok(Event::Apply(job))) => self.lock().see(&job, &cronjobs, true),
                Some(Ok(Event::Delete(job))) => {
                    let mut state = self.lock();
                    state.see(&job, &cronjobs, true);
                    let seen = state.jobs.get_mut(&job.uid().unwrap_or_default());
                    if let Some(seen) = seen {
                        seen.deleted = Some(now());
                    }
                }
                _ => sleep(PAUSE).await,
            }
        }
    }
}

impl State {
    /// The Jobs in a list are in any order; those from a watch are in order.
    fn see(&mut self, job: &Job, cronjobs: &[Scheduled], is_in_order: bool) {
        let namespace = job.namespace().unwrap_or_default();
        let (uid, name) = (job.uid().unwrap_or_default(), job.name_any());
        let owner = job.owner_references().first();
        let owner = owner.map(|owner| owner.name.clone()).unwrap_or_default();
        let mut cronjobs = cronjobs.iter();
        let Some(cronjob) = cronjobs.find(|one| one.namespace == namespace && one.name == owner)
        else {
            return;
        };
        if !self.jobs.contains_key(&uid) {
            let at = name.rsplit('-').next().and_then(|at| at.parse().ok());
            let seen = Seen {
                namespace,
                name,
                cronjob: owner,
                at: at.unwrap_or_default(),
                created: job
                    .creation_timestamp()
                    .map_or(0, |time| time.0.as_second()),
                ended: None,
                deleted: None,
            };
            self.judge(&seen, cronjob, is_in_order);
            self.jobs.insert(uid.clone(), seen);
        }
        if let Some(seen) = self.jobs.get_mut(&uid) {
            seen.ended = seen.ended.or(ended(job));
        }
    }

    /// Checks what holds whatever happens: a Job belongs to a run, is the only one of that run, and
    /// does not overlap with another where that is forbidden.
    fn judge(&mut self, new: &Seen, cronjob: &Scheduled, is_in_order: bool) {
        let Seen { at, .. } = new;
        let name = format!("{}/{}", new.namespace, new.name);
        if !cronjob.is_run(*at) {
            self.violations
                .push(format!("Job {name} does not belong to a run"));
        }
        let late = new.created - at;
        if cronjob
            .deadline
            .is_some_and(|deadline| late > deadline + LATE_REQUEST)
        {
            let text = format!("Job {name} was started {late} s late, after its deadline");
            self.violations.push(text);
        }
        for old in self.jobs.values().filter(|old| old.is_of(cronjob)) {
            if old.at == *at && old.is_early() == new.is_early() {
                self.violations
                    .push(format!("Job {name} is the second Job of its run"));
            }
            // Times are whole seconds.
            let overlaps = match (old.until(), is_in_order) {
                (until, true) => until.is_none(),
                (Some(until), false) => old.created <= new.created && until > new.created + 1,
                (None, false) => false,
            };
            if overlaps && cronjob.policy == ConcurrencyPolicy::Forbid {
                let text = format!("Job {name} was started while {} was active", old.name);
                self.violations.push(text);
            }
        }
    }

    fn listed(&mut self, uids: &HashSet<String>) {
        for (uid, seen) in &mut self.jobs {
            if seen.deleted.is_none() && !uids.contains(uid) {
                seen.deleted = Some(now());
            }
        }
    }
}

/// A request that was sent in time may be served this much later.
const LATE_REQUEST: i64 = 10;

pub fn now() -> i64 {
    Timestamp::now().as_second()
}

pub fn ended(job: &Job) -> Option<i64> {
    let conditions = job.status.iter().flat_map(|status| &status.conditions);
    let mut ends = conditions.flatten().filter(|condition| {
        matches!(condition.type_.as_str(), "Complete" | "Failed") && condition.status == "True"
    });
    let end = ends.next()?;
    Some(
        end.last_transition_time
            .as_ref()
            .map_or_else(now, |time| time.0.as_second()),
    )
}
