// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The metrics of controllers and their queues.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use super::{Labels, Table, WIDE, histogram};
use crate::Action;
use crate::lock::lock;

/// What waits and runs in the queue of a controller.
type Queue = Box<dyn Fn() -> Backlog + Send + Sync>;

/// Buckets for the duration of a reconcile, in seconds.
const RECONCILE: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
    1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0,
    25.0, 30.0, 40.0, 50.0, 60.0,
];

/// Gauges that are set when metrics are read.
type Now<const N: usize> = Family<Labels<N>, Gauge<f64, AtomicU64>>;

/// The series of all controllers.
pub(super) struct Controllers {
    results: Family<Labels<2>, Counter>,
    errors: Family<Labels<1>, Counter>,
    terminal_errors: Family<Labels<1>, Counter>,
    panics: Family<Labels<1>, Counter>,
    timeouts: Family<Labels<1>, Counter>,
    restless: Family<Labels<1>, Counter>,
    seconds: Family<Labels<1>, Histogram>,
    most: Family<Labels<1>, Gauge>,
    adds: Family<Labels<2>, Counter>,
    retries: Family<Labels<2>, Counter>,
    waiting_seconds: Family<Labels<2>, Histogram>,
    running_seconds: Family<Labels<2>, Histogram>,
    running: Now<1>,
    waiting: Now<3>,
    unfinished: Now<2>,
    longest: Now<2>,
    /// Several controllers may share a name.
    queues: Mutex<Vec<(&'static str, Queue)>>,
}

impl Controllers {
    pub(super) fn new(table: &mut Table) -> Self {
        let wide = || Family::new_with_constructor((|| histogram(&WIDE)) as fn() -> Histogram);
        Self {
            results: table.add(
                "controller_runtime_reconcile_total",
                "Reconciles that have ended, by their result",
            ),
            errors: table.add(
                "controller_runtime_reconcile_errors_total",
                "Reconciles that have failed",
            ),
            terminal_errors: table.add(
                "controller_runtime_terminal_reconcile_errors_total",
                "Reconciles that have failed and are not repeated before a change",
            ),
            panics: table.add(
                "controller_runtime_reconcile_panics_total",
                "Reconciles that have panicked",
            ),
            timeouts: table.add(
                "controller_runtime_reconcile_timeouts_total",
                "Reconciles that took longer than they may",
            ),
            restless: table.add(
                "kbr_restless_objects_total",
                "Objects that were reconciled 600 times within a minute",
            ),
            seconds: table.register(
                "controller_runtime_reconcile_time_seconds",
                "How long reconciles take",
                Family::new_with_constructor(|| histogram(&RECONCILE)),
            ),
            most: table.add(
                "controller_runtime_max_concurrent_reconciles",
                "How many objects may be reconciled at the same time, 0 for any number",
            ),
            adds: table.add(
                "workqueue_adds_total",
                "Objects that were put into the queue",
            ),
            retries: table.add(
                "workqueue_retries_total",
                "Objects that are to be reconciled again after a delay",
            ),
            waiting_seconds: table.register(
                "workqueue_queue_duration_seconds",
                "How long objects wait after a change until they are reconciled",
                wide(),
            ),
            running_seconds: table.register(
                "workqueue_work_duration_seconds",
                "How long objects take a worker",
                wide(),
            ),
            running: table.add(
                "controller_runtime_active_workers",
                "Objects that are reconciled now",
            ),
            waiting: table.add(
                "workqueue_depth",
                "Objects that wait after a change to be reconciled",
            ),
            unfinished: table.add(
                "workqueue_unfinished_work_seconds",
                "How long the reconciles that run now have taken together",
            ),
            longest: table.add(
                "workqueue_longest_running_processor_seconds",
                "How long the longest reconcile that runs now has taken",
            ),
            queues: Mutex::default(),
        }
    }

    pub(super) fn of(&self, controller: &'static str) -> Arc<Counts> {
        let label = [("controller", controller)];
        let queue = [("name", controller), ("controller", controller)];
        let result = |result| {
            let labels = [("controller", controller), ("result", result)];
            self.results.get_or_create_owned(&labels)
        };
        Arc::new(Counts {
            controller,
            success: result("success"),
            error: result("error"),
            requeue: result("requeue"),
            requeue_after: result("requeue_after"),
            errors: self.errors.get_or_create_owned(&label),
            terminal_errors: self.terminal_errors.get_or_create_owned(&label),
            panics: self.panics.get_or_create_owned(&label),
            timeouts: self.timeouts.get_or_create_owned(&label),
            restless: self.restless.get_or_create_owned(&label),
            seconds: self.seconds.get_or_create_owned(&label),
            most: self.most.get_or_create_owned(&label),
            adds: self.adds.get_or_create_owned(&queue),
            retries: self.retries.get_or_create_owned(&queue),
            waiting_seconds: self.waiting_seconds.get_or_create_owned(&queue),
            running_seconds: self.running_seconds.get_or_create_owned(&queue),
        })
    }

    pub(super) fn watch(&self, controller: &'static str, queue: Queue) {
        lock(&self.queues).push((controller, queue));
    }

    /// Asks the queues of all controllers for what waits and runs now.
    pub(super) fn refresh(&self) {
        let mut all: BTreeMap<&'static str, Backlog> = BTreeMap::new();
        for (name, queue) in &*lock(&self.queues) {
            let (sum, one) = (all.entry(*name).or_default(), queue());
            sum.waiting += one.waiting;
            sum.running += one.running;
            sum.unfinished += one.unfinished;
            sum.longest = sum.longest.max(one.longest);
        }
        for (name, backlog) in all {
            let label = ("controller", name);
            let queue = [("name", name), label];
            // All objects have the same priority.
            let priority = [("name", name), label, ("priority", "0")];
            let (running, waiting) = (backlog.running as f64, backlog.waiting as f64);
            self.running.get_or_create(&[label]).set(running);
            self.waiting.get_or_create(&priority).set(waiting);
            let unfinished = backlog.unfinished.as_secs_f64();
            self.unfinished.get_or_create(&queue).set(unfinished);
            let longest = backlog.longest.as_secs_f64();
            self.longest.get_or_create(&queue).set(longest);
        }
    }
}

/// The metrics of one controller.
#[derive(Debug)]
pub(crate) struct Counts {
    pub(crate) controller: &'static str,
    success: Counter,
    error: Counter,
    requeue: Counter,
    requeue_after: Counter,
    errors: Counter,
    /// Failures that are not retried before the object changes. [`Counts::failed`] counts them, too.
    pub(crate) terminal_errors: Counter,
    /// Panics of reconciles and other code of the controller. [`Counts::failed`] counts reconciles, too.
    pub(crate) panics: Counter,
    /// Reconciles that took longer than they may. [`Counts::failed`] counts them, too.
    pub(crate) timeouts: Counter,
    pub(crate) restless: Counter,
    pub(crate) seconds: Histogram,
    pub(crate) most: Gauge,
    pub(crate) adds: Counter,
    retries: Counter,
    pub(crate) waiting_seconds: Histogram,
    pub(crate) running_seconds: Histogram,
}

impl Counts {
    /// Metrics that nobody reads.
    #[cfg(test)]
    pub(crate) fn unread() -> Arc<Self> {
        Controllers::new(&mut Table::default()).of("")
    }

    /// It succeeded.
    pub(crate) fn succeeded(&self, next: &Action) {
        if *next == Action::await_change() {
            self.success.inc();
        } else if *next == Action::requeue(Duration::ZERO) {
            self.requeue.inc();
        } else {
            self.requeue_after.inc();
        }
        self.repeats(next);
    }

    /// It failed, for whatever reason.
    pub(crate) fn failed(&self, next: &Action) {
        self.error.inc();
        self.errors.inc();
        self.repeats(next);
    }

    fn repeats(&self, next: &Action) {
        if *next != Action::await_change() {
            self.retries.inc();
        }
    }
}

/// The work of a controller at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Backlog {
    pub(crate) waiting: usize,
    pub(crate) running: usize,
    /// How long the running reconciles have taken so far, in total.
    pub(crate) unfinished: Duration,
    /// How long the longest of them has taken so far.
    pub(crate) longest: Duration,
}
