// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The objects of a controller that wait for a reconcile, and the order in which they get one.
//!
//! Everything that waits is here: changed and listed objects, and those that are due later. An object waits
//! once, whatever asks for it, and an object that is asked for while it is being reconciled waits until that
//! reconcile has ended. Changed objects go before listed ones, but never more than three in a row: the list
//! gets every fourth turn, and so finishes however much changes. An object that is due counts as changed at
//! that time. Within both groups, the order is first come, first served, so none of them starves another.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::key::Key;
use crate::lock::lock;
use crate::metrics::{Backlog, Counts};

/// After this many changed objects, it is the turn of a listed one.
const CHANGES_IN_A_ROW: u32 = 3;

/// The capacity that is kept for waiting objects.
const FEW: usize = 64;

/// How long, beyond the timeout of one reconcile, work may wait without any reconcile finishing.
const SLACK: Duration = Duration::from_secs(60);

/// The latest time that is waited for: a later one is as good as never.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Why an object is to be reconciled.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Trigger {
    /// The object, or something else that concerns it, has changed.
    Change,
    /// A list has shown the object, which may be unchanged.
    List,
}

/// What has asked for a reconcile, for its log line.
#[derive(Debug)]
pub(crate) enum Cause {
    /// An object of this resource, such as `jobs.batch`, that has changed or that a list has shown.
    Object(String, Arc<Key>, Trigger),
    /// A stream of the operator.
    Stream,
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object(resource, object, Trigger::Change) => {
                write!(formatter, "{resource} {object} has changed")
            }
            Self::Object(resource, object, Trigger::List) => {
                write!(formatter, "{resource} {object} was listed")
            }
            Self::Stream => formatter.write_str("a stream asked for it"),
        }
    }
}

/// The waiting and the running objects of one controller. Clones share it.
#[derive(Clone)]
pub(crate) struct Queue {
    shared: Arc<Shared>,
    counts: Arc<Counts>,
}

struct Shared {
    state: Mutex<State>,
    /// There may be something to reconcile.
    added: Notify,
}

#[derive(Default)]
struct State {
    /// How long one reconcile may take.
    timeout: Duration,
    /// How long an object must not have changed before it is reconciled.
    quiet: Duration,
    objects: HashMap<Arc<Key>, Object>,
    /// The objects whose turn it is, by the number of their entry.
    changes: BTreeMap<u64, Arc<Key>>,
    list: BTreeMap<u64, Arc<Key>>,
    /// The objects that are due later.
    due: BTreeMap<(Instant, u64), Arc<Key>>,
    /// When the last reconcile ended, or the controller began to reconcile; `None` before that.
    last_finished: Option<Instant>,
    changes_in_a_row: u32,
    /// The number of the last entry.
    entries: u64,
}

/// An object that waits or runs.
#[derive(Default)]
struct Object {
    waiting: Option<Waiting>,
    /// When it is due, and the number of its entry.
    due: Option<(Instant, u64)>,
    running: Option<Instant>,
    /// Why it waits; `None` if nothing but the time has asked for it.
    cause: Option<Arc<Cause>>,
    /// Why it runs.
    runs_for: Option<Arc<Cause>>,
}

#[derive(Clone, Copy)]
struct Waiting {
    trigger: Trigger,
    since: Instant,
    /// The number of its entry, unless it runs: then it has none yet.
    entry: u64,
}

impl Queue {
    pub(crate) fn new(counts: Arc<Counts>) -> Self {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            added: Notify::new(),
        });
        Self { shared, counts }
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Sets how long one reconcile may take, and how long an object must not have changed before one.
    pub(crate) fn configure(&self, timeout: Duration, quiet: Duration) {
        let mut state = self.lock();
        (state.timeout, state.quiet) = (timeout, quiet);
    }

    /// From now on, objects are reconciled.
    pub(crate) fn open(&self) {
        self.lock().last_finished = Some(Instant::now());
    }

    /// Asks for a reconcile of the object.
    pub(crate) fn add_for(&self, object: &Arc<Key>, trigger: Trigger, cause: &Arc<Cause>) {
        let (now, mut state) = (Instant::now(), self.lock());
        state.asks(object, trigger, cause);
        let added = state.fall_due(now) + state.add(object, trigger, now);
        drop(state);
        self.counts.adds.inc_by(added as u64);
        self.shared.added.notify_one();
    }

    /// Forgets what the object waits for, because it was deleted.
    pub(crate) fn forget(&self, object: &Arc<Key>) {
        let state = &mut *self.lock();
        let Some(known) = state.objects.get_mut(object) else {
            return;
        };
        known.cause = None;
        if let Some(due) = known.due.take() {
            state.due.remove(&due);
        }
        if let Some(waiting) = known.waiting.take() {
            state.turns(waiting.trigger).remove(&waiting.entry);
        }
        state.drop_idle(object);
    }

    /// The next object to reconcile, once there is one. It counts as running until [`Running`] is dropped.
    pub(crate) async fn next(&self) -> Running {
        loop {
            let due = match self.turn() {
                Ok(running) => return running,
                Err(due) => due,
            };
            let added = self.shared.added.notified();
            match due {
                Some(due) => timeout_at(due, added).await.unwrap_or_default(),
                None => added.await,
            }
        }
    }

    /// The object whose turn it is; if there is none, when the next one is due.
    pub(crate) fn turn(&self) -> Result<Running, Option<Instant>> {
        let (now, mut state) = (Instant::now(), self.lock());
        let added = state.fall_due(now);
        let next = state.next(now);
        let due = state.due.keys().next().map(|(due, _)| *due);
        drop(state);
        self.counts.adds.inc_by(added as u64);
        let (object, waited) = next.ok_or(due)?;
        self.counts.waiting_seconds.observe(waited.as_secs_f64());
        Ok(Running {
            queue: self.clone(),
            object,
            again: None,
        })
    }

    /// Notes that the reconcile of the object has ended, and whether it is due again.
    fn finished(&self, object: &Arc<Key>, again: Option<Duration>) {
        let (now, mut state) = (Instant::now(), self.lock());
        let took = state.finished(object, again, now);
        let waits = state.objects.contains_key(object);
        drop(state);
        self.counts.running_seconds.observe(took.as_secs_f64());
        if waits {
            self.shared.added.notify_one();
        }
    }

    /// Why the object that runs is reconciled.
    pub(crate) fn trigger(&self, object: &Key) -> String {
        let state = self.lock();
        let cause = state.objects.get(object).and_then(|it| it.runs_for.clone());
        drop(state);
        cause.map_or_else(|| "it was due".to_owned(), |cause| cause.to_string())
    }

    /// The work that is waiting or running now.
    pub(crate) fn backlog(&self) -> Backlog {
        let state = self.lock();
        let now = Instant::now();
        let running = state.objects.values().filter_map(|object| object.running);
        let running = running.map(|since| now.saturating_duration_since(since));
        Backlog {
            waiting: state.changes.len() + state.list.len(),
            running: running.clone().count(),
            unfinished: running.clone().sum(),
            longest: running.max().unwrap_or_default(),
        }
    }

    /// How long nothing has finished although there was work; `None` without work.
    pub(crate) fn stuck_for(&self) -> Option<Duration> {
        let state = self.lock();
        let last_finished = state.last_finished?;
        let objects = state.objects.values();
        let since = objects.filter_map(|object| {
            let waiting = object.waiting.map(|waiting| waiting.since);
            object.running.or(waiting)
        });
        let oldest = since.min()?;
        Some(oldest.elapsed().min(last_finished.elapsed()))
    }

    /// How long it may take until something finishes.
    pub(crate) fn bound(&self) -> Duration {
        self.lock().timeout.saturating_add(SLACK)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.shared.state)
    }
}

/// An object that is being reconciled. When it is dropped, the reconcile has ended, however it did.
pub(crate) struct Running {
    queue: Queue,
    object: Arc<Key>,
    again: Option<Duration>,
}

impl Running {
    pub(crate) fn object(&self) -> &Arc<Key> {
        &self.object
    }

    /// The object is due again after `delay`, unless something asks for it before.
    pub(crate) fn due_in(&mut self, delay: Option<Duration>) {
        self.again = delay;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.queue.finished(&self.object, self.again);
    }
}

impl State {
    /// Notes why the object waits: the first cause counts, except that a change counts more than a list.
    fn asks(&mut self, object: &Arc<Key>, trigger: Trigger, cause: &Arc<Cause>) {
        let known = self.objects.entry(object.clone()).or_default();
        let covers =
            |waiting: Waiting| waiting.trigger == Trigger::Change || trigger == Trigger::List;
        if !known.waiting.is_some_and(covers) {
            known.cause = Some(cause.clone());
        }
    }

    /// Returns how many objects have begun to wait.
    fn add(&mut self, object: &Arc<Key>, trigger: Trigger, now: Instant) -> usize {
        if !self.quiet.is_zero() && trigger == Trigger::Change {
            self.delay(object, self.quiet, now);
            return 0;
        }
        self.wait(object, trigger, now)
    }

    /// The object waits for its turn. Returns how many objects have begun to wait.
    fn wait(&mut self, object: &Arc<Key>, trigger: Trigger, since: Instant) -> usize {
        let known = self.objects.entry(object.clone()).or_default();
        let before = known.waiting;
        let covers =
            |before: Waiting| before.trigger == Trigger::Change || trigger == Trigger::List;
        if before.is_some_and(covers) {
            return 0;
        }
        known.waiting = Some(Waiting {
            trigger,
            since: before.map_or(since, |before| before.since),
            entry: 0,
        });
        if let Some(before) = before {
            self.turns(before.trigger).remove(&before.entry);
        }
        self.queue(object);
        usize::from(before.is_none())
    }

    /// If the object waits and does not run, it is the last of those whose turn it is.
    fn queue(&mut self, object: &Arc<Key>) {
        let known = self.objects.get_mut(object);
        let known = known.filter(|known| known.running.is_none());
        if let Some(waiting) = known.and_then(|known| known.waiting.as_mut()) {
            self.entries += 1;
            waiting.entry = self.entries;
            let (trigger, entry) = (waiting.trigger, waiting.entry);
            self.turns(trigger).insert(entry, object.clone());
        }
    }

    /// The object is due after `delay`, and not at another time.
    fn delay(&mut self, object: &Arc<Key>, delay: Duration, now: Instant) {
        self.entries += 1;
        let due = (now + delay.min(FOREVER), self.entries);
        let known = self.objects.entry(object.clone()).or_default();
        if let Some(before) = known.due.replace(due) {
            self.due.remove(&before);
        }
        self.due.insert(due, object.clone());
    }

    /// Lets the objects wait for their turn that are due. Returns how many have begun to wait.
    fn fall_due(&mut self, now: Instant) -> usize {
        let mut added = 0;
        while let Some(first) = self.due.first_entry()
            && first.key().0 <= now
        {
            let ((due, _), object) = first.remove_entry();
            if let Some(known) = self.objects.get_mut(&object) {
                known.due = None;
            }
            added += self.wait(&object, Trigger::Change, due);
        }
        added
    }

    /// The object whose turn it is, and how long it has waited.
    fn next(&mut self, now: Instant) -> Option<(Arc<Key>, Duration)> {
        let prefers_list = self.changes_in_a_row >= CHANGES_IN_A_ROW || self.changes.is_empty();
        let object = if prefers_list && let Some((_, object)) = self.list.pop_first() {
            self.changes_in_a_row = 0;
            object
        } else {
            let (_, object) = self.changes.pop_first()?;
            self.changes_in_a_row = self.changes_in_a_row.saturating_add(1);
            object
        };
        let known = self.objects.get_mut(&object)?;
        // Its outcome says when it is due again.
        if let Some(due) = known.due.take() {
            self.due.remove(&due);
        }
        known.running = Some(now);
        known.runs_for = known.cause.take();
        let waiting = known.waiting.take();
        let since = waiting.map_or(now, |waiting| waiting.since);
        Some((object, now.saturating_duration_since(since)))
    }

    /// Returns how long the reconcile took.
    fn finished(&mut self, object: &Arc<Key>, again: Option<Duration>, now: Instant) -> Duration {
        self.last_finished = Some(now);
        let Some(known) = self.objects.get_mut(object) else {
            return Duration::ZERO;
        };
        let began = known.running.take().unwrap_or(now);
        known.runs_for = None;
        // What was asked for meanwhile comes first.
        let is_asked_for = known.waiting.is_some() || known.due.is_some();
        self.queue(object);
        if let Some(delay) = again.filter(|_| !is_asked_for) {
            self.delay(object, delay, now);
        }
        self.drop_idle(object);
        now.saturating_duration_since(began)
    }

    /// Forgets an object that neither waits nor runs.
    fn drop_idle(&mut self, object: &Arc<Key>) {
        let known = self.objects.get(object);
        let is_idle = known.is_some_and(|known| {
            known.waiting.is_none() && known.due.is_none() && known.running.is_none()
        });
        if is_idle {
            self.objects.remove(object);
            if self.objects.is_empty() {
                // After a list of thousands.
                self.objects.shrink_to(FEW);
            }
        }
    }

    /// The objects with that trigger whose turn it is.
    fn turns(&mut self, trigger: Trigger) -> &mut BTreeMap<u64, Arc<Key>> {
        match trigger {
            Trigger::Change => &mut self.changes,
            Trigger::List => &mut self.list,
        }
    }
}

#[cfg(test)]
mod tests;
