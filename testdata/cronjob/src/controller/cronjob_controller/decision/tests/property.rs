// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! What holds whatever happens: a small simulation in which time passes, Jobs end, and writes fail.

use std::collections::{HashMap, HashSet};

use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use proptest::prelude::*;

use super::*;
use crate::controller::cronjob_controller::jobs;

/// What happens before a reconcile, and after how many of its writes the manager is killed.
#[derive(Clone, Debug)]
struct Step {
    seconds: i64,
    ends: Option<(usize, bool)>,
    writes: usize,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let seconds = prop_oneof![5 => 0..200_i64, 1 => -300..0_i64, 1 => 200..2000_i64];
    let ends = prop::option::of((0..4_usize, any::<bool>()));
    let writes = prop_oneof![3 => Just(usize::MAX), 1 => 0..4_usize];
    let step = (seconds, ends, writes).prop_map(|(seconds, ends, writes)| Step {
        seconds,
        ends,
        writes,
    });
    prop::collection::vec(step, 1..60)
}

fn cronjobs() -> impl Strategy<Value = CronJob> {
    let policy = prop::sample::select(vec![
        ConcurrencyPolicy::Allow,
        ConcurrencyPolicy::Forbid,
        ConcurrencyPolicy::Replace,
    ]);
    let schedule = prop::sample::select(vec!["* * * * *", "*/5 * * * *", "@every 45s"]);
    let limit = || prop::option::of(0..3);
    let deadline = prop::option::of(0..400_i64);
    (policy, schedule, limit(), limit(), deadline).prop_map(
        |(policy, schedule, failed, succeeded, deadline)| {
            let mut cronjob = cronjob(schedule, "10:00");
            cronjob.spec.concurrency_policy = policy;
            cronjob.spec.failed_jobs_history_limit = failed;
            cronjob.spec.successful_jobs_history_limit = succeeded;
            cronjob.spec.starting_deadline_seconds = deadline;
            cronjob
        },
    )
}

struct World {
    now: Timestamp,
    cronjob: CronJob,
    jobs: Vec<Job>,
    /// The names of all Jobs that ever existed, and their runs.
    started: HashMap<String, Timestamp>,
}

impl World {
    fn live(&mut self, step: &Step) {
        self.now += SignedDuration::from_secs(step.seconds);
        self.forget();
        let mut active: Vec<_> = self.jobs.iter_mut().filter(|job| is_active(job)).collect();
        if let Some((nth, succeeded)) = step.ends
            && let Some(job) = active.get_mut(nth)
        {
            **job = ended(job.clone(), if succeeded { "Complete" } else { "Failed" });
        }
        self.reconcile(step.writes);
        self.forget();
    }

    /// A run that was started while a clock was ahead is known for as long as its Job exists.
    fn forget(&mut self) {
        let now = self.now;
        let jobs: HashSet<_> = self.jobs.iter().map(|job| job.name_any()).collect();
        let is_set_right = recorded(&self.cronjob).is_some_and(|run| is_future(run, now));
        let is_known = |run| run <= now || !is_set_right && !is_future(run, now);
        self.started
            .retain(|name, run| is_known(*run) || jobs.contains(name));
    }

    /// Carries out the decision as the controller does, but stops after `writes` writes.
    fn reconcile(&mut self, mut writes: usize) {
        let mut may_write = || {
            let may = writes > 0;
            writes = writes.saturating_sub(1);
            may
        };
        let decision = decide(&self.cronjob, &self.split(), self.now);
        let (created, replaces) = match decision.run {
            Run::Start { at, replaces } => (Some(at), replaces),
            _ => (None, Vec::new()),
        };
        for job in decision.surplus.iter().chain(&replaces) {
            if !may_write() {
                return;
            }
            self.jobs.retain(|other| other.name_any() != job.name_any());
        }
        if let Some(at) = created {
            if !may_write() {
                return;
            }
            let mut job = jobs::new(&self.cronjob, at);
            job.metadata.creation_timestamp = Some(Time(self.now));
            let name = job.name_any();
            let before = self.started.insert(name.clone(), at);
            assert_eq!(before, None, "{name} starts twice");
            self.jobs.push(job);
        }
        if may_write() {
            let last = last_run(&self.cronjob, &self.split(), self.now);
            self.cronjob
                .status
                .get_or_insert_default()
                .last_schedule_time = last.map(Time);
        }
    }

    fn split(&self) -> Jobs {
        Jobs::from(shared(self.jobs.clone()))
    }

    fn active(&self) -> usize {
        self.jobs.iter().filter(|job| is_active(job)).count()
    }
}

fn is_active(job: &Job) -> bool {
    job.status
        .as_ref()
        .is_none_or(|status| status.conditions.is_none())
}

proptest! {
    #[test]
    fn no_run_starts_twice_and_the_policy_holds(cronjob in cronjobs(), steps in steps()) {
        let policy = cronjob.spec.concurrency_policy;
        let mut world = World {
            now: at("10:00"),
            cronjob,
            jobs: Vec::new(),
            started: HashMap::new(),
        };
        for step in &steps {
            world.live(step);

            prop_assert!(policy == ConcurrencyPolicy::Allow || world.active() <= 1);
        }
        // Once writes no longer fail, nothing is left to do.
        world.reconcile(usize::MAX);
        world.reconcile(usize::MAX);
        let decision = decide(&world.cronjob, &world.split(), world.now);
        prop_assert!(decision.surplus.is_empty());
        prop_assert!(!matches!(decision.run, Run::Start { .. }), "{decision:?}");
    }
}
