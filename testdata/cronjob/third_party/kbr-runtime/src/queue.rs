// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The objects of a controller that wait for a reconcile, and the order in which they get one.
//!
//! Everything that waits is here: changed and listed objects, and those that are due later. An object waits
//! once, whatever asks for it, and an object that is asked for while it is being reconciled waits until that
//! reconcile has ended. Changed objects go before listed ones, but never more than three in a row: the list
//! gets every fourth turn, and so finishes however much changes. An object that is due counts as changed at
//! that time. Within both groups, the order is first come, first served, so none of them starves another.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::key::Key;
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

/// The waiting and the running objects of one controller. Clones share it.
#[derive(Clone)]
pub(crate) struct Queue {
    shared: Arc<Shared>,
    counts: Counts,
}

struct Shared {
    state: Mutex<State>,
    /// There may be something to reconcile.
    added: Notify,
}

struct State {
    /// Whether the controller has begun to reconcile.
    is_open: bool,
    /// How long one reconcile may take.
    timeout: Duration,
    /// How long an object must not have changed before it is reconciled.
    quiet: Duration,
    objects: HashMap<Arc<Key>, Object>,
    /// The objects whose turn it is, with the number of their entry. An entry whose number differs from that
    /// of the object is outdated.
    changes: VecDeque<(Arc<Key>, u64)>,
    list: VecDeque<(Arc<Key>, u64)>,
    /// The objects that are due later, the first on top.
    due: BinaryHeap<Reverse<(Instant, u64, Arc<Key>)>>,
    /// How many objects wait for their turn.
    waiting: usize,
    running: usize,
    last_finished: Instant,
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
}

struct Waiting {
    trigger: Trigger,
    since: Instant,
    /// The number of its entry.
    entry: u64,
}

impl Queue {
    pub(crate) fn new(counts: Counts) -> Self {
        let state = State {
            is_open: false,
            timeout: Duration::MAX,
            quiet: Duration::ZERO,
            objects: HashMap::new(),
            changes: VecDeque::new(),
            list: VecDeque::new(),
            due: BinaryHeap::new(),
            waiting: 0,
            running: 0,
            last_finished: Instant::now(),
            changes_in_a_row: 0,
            entries: 0,
        };
        let shared = Shared {
            state: Mutex::new(state),
            added: Notify::new(),
        };
        Self {
            shared: Arc::new(shared),
            counts,
        }
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
        let mut state = self.lock();
        (state.is_open, state.last_finished) = (true, Instant::now());
    }

    /// Asks for a reconcile of the object.
    pub(crate) fn add(&self, object: &Arc<Key>, trigger: Trigger) {
        let (now, mut state) = (Instant::now(), self.lock());
        let added = state.fall_due(now) + state.add(object, trigger, now);
        drop(state);
        self.counts.added(added);
        self.shared.added.notify_one();
    }

    /// Forgets what the object waits for, because it was deleted.
    pub(crate) fn forget(&self, object: &Arc<Key>) {
        let mut state = self.lock();
        let Some(known) = state.objects.get_mut(object) else {
            return;
        };
        known.due = None;
        if known.waiting.take().is_some() && known.running.is_none() {
            state.waiting -= 1;
        }
        state.drop_idle(object);
    }

    /// The next object to reconcile, once there is one. It counts as running until [`Running`] is dropped.
    pub(crate) async fn next(&self) -> Running {
        loop {
            let due = {
                let (now, mut state) = (Instant::now(), self.lock());
                let added = state.fall_due(now);
                let next = state.next(now);
                let due = state.next_due();
                drop(state);
                self.counts.added(added);
                if let Some((object, waited)) = next {
                    self.counts.waited(waited);
                    let queue = self.clone();
                    let again = None;
                    return Running {
                        queue,
                        object,
                        again,
                    };
                }
                due
            };
            match due {
                Some(due) => tokio::select! {
                    () = self.shared.added.notified() => {}
                    () = sleep_until(due) => {}
                },
                None => self.shared.added.notified().await,
            }
        }
    }

    /// Notes that the reconcile of the object has ended, and whether it is due again.
    fn finished(&self, object: &Arc<Key>, again: Option<Duration>) {
        let (now, mut state) = (Instant::now(), self.lock());
        let took = state.finished(object, again, now);
        drop(state);
        self.counts.worked(took);
        self.shared.added.notify_one();
    }

    /// The work that is waiting or running now.
    pub(crate) fn backlog(&self) -> Backlog {
        let state = self.lock();
        let now = Instant::now();
        let running = state.objects.values().filter_map(|object| object.running);
        let running = running.map(|since| now.saturating_duration_since(since));
        Backlog {
            waiting: state.waiting,
            running: state.running,
            unfinished: running.clone().sum(),
            longest: running.max().unwrap_or_default(),
        }
    }

    /// How long nothing has finished although there was work; `None` without work.
    pub(crate) fn stuck_for(&self) -> Option<Duration> {
        let state = self.lock();
        if !state.is_open {
            return None;
        }
        let objects = state.objects.values();
        let since = objects.filter_map(|object| {
            let waiting = object.waiting.as_ref().map(|waiting| waiting.since);
            object.running.or(waiting)
        });
        let oldest = since.min()?;
        Some(oldest.elapsed().min(state.last_finished.elapsed()))
    }

    /// How long it may take until something finishes.
    pub(crate) fn bound(&self) -> Duration {
        self.lock().timeout.saturating_add(SLACK)
    }

    /// As if there had been work for that time, and none had finished.
    #[cfg(test)]
    pub(crate) fn has_waited(&self, time: Duration) {
        let then = Instant::now().checked_sub(time);
        let then = then.unwrap_or_else(Instant::now);
        let mut state = self.lock();
        let object = Arc::new(Key::of_meta(&kube::api::ObjectMeta::default()));
        state.add(&object, Trigger::Change, then);
        state.is_open = true;
        state.timeout = Duration::ZERO;
        drop(state);
        self.has_finished_before(time);
    }

    /// As if the last reconcile had ended this long ago.
    #[cfg(test)]
    pub(crate) fn has_finished_before(&self, time: Duration) {
        let then = Instant::now().checked_sub(time);
        self.lock().last_finished = then.unwrap_or_else(Instant::now);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        let state = self.shared.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
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
        let is_running = known.running.is_some();
        let (since, is_new) = match &known.waiting {
            Some(waiting) if waiting.trigger == trigger || waiting.trigger == Trigger::Change => {
                return 0;
            }
            Some(waiting) => (waiting.since, false),
            None => (since, true),
        };
        self.entries += 1;
        let entry = self.entries;
        known.waiting = Some(Waiting {
            trigger,
            since,
            entry,
        });
        if !is_running {
            self.waiting += usize::from(is_new);
            self.queue(trigger).push_back((object.clone(), entry));
        }
        usize::from(is_new)
    }

    /// The object is due after `delay`, and not at another time.
    fn delay(&mut self, object: &Arc<Key>, delay: Duration, now: Instant) {
        self.entries += 1;
        let due = now + delay.min(FOREVER);
        let known = self.objects.entry(object.clone()).or_default();
        known.due = Some((due, self.entries));
        self.due.push(Reverse((due, self.entries, object.clone())));
        // Outdated entries must not outnumber the others.
        if self.due.len() > FEW && self.due.len() > self.objects.len() * 2 {
            let objects = &self.objects;
            self.due
                .retain(|Reverse((_, entry, object))| is_due_by(objects, object, *entry));
        }
    }

    /// Lets the objects wait for their turn that are due. Returns how many have begun to wait.
    fn fall_due(&mut self, now: Instant) -> usize {
        let mut added = 0;
        while let Some(Reverse((due, ..))) = self.due.peek()
            && *due <= now
        {
            let Some(Reverse((due, entry, object))) = self.due.pop() else {
                break;
            };
            if is_due_by(&self.objects, &object, entry) {
                if let Some(known) = self.objects.get_mut(&object) {
                    known.due = None;
                }
                added += self.wait(&object, Trigger::Change, due);
            }
        }
        added
    }

    /// When the next object is due.
    fn next_due(&mut self) -> Option<Instant> {
        while let Some(Reverse((due, entry, object))) = self.due.peek() {
            if is_due_by(&self.objects, object, *entry) {
                return Some(*due);
            }
            self.due.pop();
        }
        None
    }

    /// The object whose turn it is, and how long it has waited.
    fn next(&mut self, now: Instant) -> Option<(Arc<Key>, Duration)> {
        let order = if self.changes_in_a_row < CHANGES_IN_A_ROW {
            [Trigger::Change, Trigger::List]
        } else {
            [Trigger::List, Trigger::Change]
        };
        let next = order
            .into_iter()
            .find_map(|trigger| Some((trigger, self.take(trigger)?)));
        let (trigger, object) = next?;
        self.changes_in_a_row = match trigger {
            Trigger::Change => self.changes_in_a_row.saturating_add(1),
            Trigger::List => 0,
        };
        self.waiting -= 1;
        self.running += 1;
        if self.waiting == 0 {
            // After a list of thousands.
            self.changes.shrink_to(FEW);
            self.list.shrink_to(FEW);
        }
        let known = self.objects.get_mut(&object)?;
        // Its outcome says when it is due again.
        known.due = None;
        known.running = Some(now);
        let waiting = known.waiting.take();
        let since = waiting.map_or(now, |waiting| waiting.since);
        Some((object, now.saturating_duration_since(since)))
    }

    fn take(&mut self, trigger: Trigger) -> Option<Arc<Key>> {
        loop {
            let (object, entry) = self.queue(trigger).pop_front()?;
            let known = self.objects.get(&object);
            let waiting = known.and_then(|known| known.waiting.as_ref());
            if waiting.is_some_and(|waiting| waiting.entry == entry) {
                return Some(object);
            }
        }
    }

    /// Returns how long the reconcile took.
    fn finished(&mut self, object: &Arc<Key>, again: Option<Duration>, now: Instant) -> Duration {
        self.last_finished = now;
        self.running -= 1;
        let Some(known) = self.objects.get_mut(object) else {
            return Duration::ZERO;
        };
        let began = known.running.take().unwrap_or(now);
        if let Some(waiting) = &known.waiting {
            let (trigger, entry) = (waiting.trigger, waiting.entry);
            self.waiting += 1;
            self.queue(trigger).push_back((object.clone(), entry));
        } else if let Some(delay) = again
            // What was asked for meanwhile comes first.
            && known.due.is_none()
        {
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
                self.objects.shrink_to(FEW);
            }
        }
    }

    fn queue(&mut self, trigger: Trigger) -> &mut VecDeque<(Arc<Key>, u64)> {
        match trigger {
            Trigger::Change => &mut self.changes,
            Trigger::List => &mut self.list,
        }
    }
}

/// Whether that entry says when the object is due.
fn is_due_by(objects: &HashMap<Arc<Key>, Object>, object: &Arc<Key>, entry: u64) -> bool {
    let due = objects.get(object).and_then(|object| object.due);
    due.is_some_and(|(_, current)| current == entry)
}
