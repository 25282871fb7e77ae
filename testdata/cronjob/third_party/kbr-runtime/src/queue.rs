// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The objects of a controller that wait for a reconcile, and the order in which they get one.
//!
//! kube's own queue takes any of the waiting objects: an object that is created while thousands of older
//! ones are being reconciled would wait for half of them. So objects wait here until kube needs one.
//! Changed objects go before listed ones, but never more than three in a row: the list gets every fourth
//! turn, and so finishes however much changes. Within both groups, the order is first come, first served.
//!
//! Because of its timer, kube needs up to a millisecond to begin with an object that it is given. So it
//! gets a few in advance: as many as it reconciles in [`AHEAD`], and at least one.
//!
//! Objects that are requeued with a delay do not wait here: kube keeps the delays.

use std::collections::{HashMap, VecDeque};
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures::Stream;
use futures::stream::BoxStream;
use tokio::time::Instant;

use crate::backoff::Key;
use crate::metrics::{Backlog, Counts};

/// After this many changed objects, it is the turn of a listed one.
const CHANGES_IN_A_ROW: u32 = 3;

/// How much work kube is given in advance.
const AHEAD: Duration = Duration::from_millis(2);

/// How many objects kube is given in advance at most: it takes them in no particular order.
const MOST_AHEAD: u128 = 16;

/// The capacity that is kept for waiting objects.
const FEW: usize = 64;

/// How long, beyond the timeout of one reconcile, work may wait without any reconcile finishing.
const SLACK: Duration = Duration::from_secs(60);

/// A request to reconcile an object.
#[derive(Clone, Debug)]
pub(crate) struct ReconcileRequest {
    pub(crate) object: Arc<Key>,
    pub(crate) trigger: Trigger,
}

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
    state: Arc<Mutex<State>>,
    counts: Counts,
}

struct State {
    /// How many objects are reconciled at the same time; without a limit, nothing waits here.
    limit: Option<u16>,
    /// How long one reconcile may take.
    timeout: Duration,
    changes: VecDeque<Arc<Key>>,
    list: VecDeque<Arc<Key>>,
    /// The objects that wait here. An entry of the two queues that differs from this is outdated.
    waiting: HashMap<Arc<Key>, Waiting>,
    /// The objects that kube was given and has not begun with, and since when each has waited.
    given: HashMap<Arc<Key>, Instant>,
    /// The objects that are being reconciled, and since when.
    running: HashMap<Arc<Key>, Instant>,
    /// How long a reconcile takes, as a moving average.
    usual: Duration,
    last_finished: Instant,
    changes_in_a_row: u32,
    waker: Option<Waker>,
}

struct Waiting {
    trigger: Trigger,
    since: Instant,
}

impl Queue {
    pub(crate) fn new(counts: Counts) -> Self {
        let state = State {
            limit: None,
            timeout: Duration::MAX,
            changes: VecDeque::new(),
            list: VecDeque::new(),
            waiting: HashMap::new(),
            given: HashMap::new(),
            running: HashMap::new(),
            usual: Duration::from_millis(1),
            last_finished: Instant::now(),
            changes_in_a_row: 0,
            waker: None,
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            counts,
        }
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Sets how many objects are reconciled at the same time, and how long one may take. Without a
    /// `limit` nothing waits here.
    pub(crate) fn configure(&self, limit: Option<u16>, timeout: Duration) {
        let mut state = self.lock();
        (state.limit, state.timeout) = (limit, timeout);
    }

    /// The objects of `requests`, each when it is its turn.
    pub(crate) fn turns(&self, requests: BoxStream<'static, ReconcileRequest>) -> Turns {
        Turns {
            requests: Some(requests),
            queue: self.clone(),
        }
    }

    fn add(&self, request: ReconcileRequest) {
        if self.lock().add(request) {
            self.counts.added();
        }
    }

    /// Notes that a reconcile has begun.
    pub(crate) fn started(&self, object: &Arc<Key>) {
        let mut state = self.lock();
        match state.given.remove(object) {
            Some(since) => self.counts.waited(since.elapsed()),
            // It was requeued with a delay. Only kube knows since when it was due.
            None => self.counts.added(),
        }
        state.running.insert(object.clone(), Instant::now());
    }

    /// Notes that a reconcile has ended, or that there is nothing to reconcile.
    pub(crate) fn finished(&self, object: &Key) {
        let mut state = self.lock();
        match state.running.remove(object) {
            Some(since) => {
                let took = since.elapsed();
                self.counts.worked(took);
                state.usual = (state.usual * 7).saturating_add(took) / 8;
            }
            None => {
                state.given.remove(object);
            }
        }
        state.last_finished = Instant::now();
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }

    /// The work that is waiting or running now.
    pub(crate) fn backlog(&self) -> Backlog {
        let state = self.lock();
        let now = Instant::now();
        let running = state.running.values();
        let running = running.map(|since| now.saturating_duration_since(*since));
        Backlog {
            waiting: state.waiting.len() + state.given.len(),
            running: state.running.len(),
            unfinished: running.clone().sum(),
            longest: running.max().unwrap_or_default(),
        }
    }

    /// How long nothing has finished although there was work; `None` without work.
    pub(crate) fn stuck_for(&self) -> Option<Duration> {
        let state = self.lock();
        let waiting = state.waiting.values().map(|waiting| &waiting.since);
        let begun = state.given.values().chain(state.running.values());
        let oldest = waiting.chain(begun).min()?;
        Some(oldest.elapsed().min(state.last_finished.elapsed()))
    }

    /// How long it may take until something finishes.
    pub(crate) fn bound(&self) -> Duration {
        self.lock().timeout.saturating_add(SLACK)
    }

    /// As if there had been work for that time, and none had finished.
    #[cfg(test)]
    pub(crate) fn has_waited(&self, time: Duration) {
        let then = Instant::now()
            .checked_sub(time)
            .unwrap_or_else(Instant::now);
        let mut state = self.lock();
        let object = Key::of_meta(&kube::api::ObjectMeta::default());
        state.given.insert(Arc::new(object), then);
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
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns whether the object was not waiting yet.
    fn add(&mut self, ReconcileRequest { object, trigger }: ReconcileRequest) -> bool {
        let known = self.waiting.get_mut(&object);
        let is_new = known.is_none();
        match known {
            Some(known) if known.trigger == trigger || known.trigger == Trigger::Change => {
                return false;
            }
            Some(known) => known.trigger = trigger,
            None => {
                let since = Instant::now();
                self.waiting
                    .insert(object.clone(), Waiting { trigger, since });
            }
        }
        self.queue(trigger).push_back(object);
        is_new
    }

    /// The object whose turn it is.
    fn next(&mut self) -> Option<Arc<Key>> {
        let busy = self.given.len() + self.running.len();
        if self.limit.is_some_and(|limit| busy >= self.wanted(limit)) {
            return None;
        }
        let order = if self.changes_in_a_row < CHANGES_IN_A_ROW {
            [Trigger::Change, Trigger::List]
        } else {
            [Trigger::List, Trigger::Change]
        };
        let (trigger, object) = order
            .into_iter()
            .find_map(|trigger| Some((trigger, self.take(trigger)?)))?;
        self.changes_in_a_row = match trigger {
            Trigger::Change => self.changes_in_a_row.saturating_add(1),
            Trigger::List => 0,
        };
        if let Some(Waiting { since, .. }) = self.waiting.remove(&object) {
            self.given.entry(object.clone()).or_insert(since);
        }
        if self.waiting.is_empty() {
            // After a list of thousands.
            self.waiting.shrink_to(FEW);
            self.changes.shrink_to(FEW);
            self.list.shrink_to(FEW);
        }
        Some(object)
    }

    /// How many objects kube should have, including the running ones.
    fn wanted(&self, limit: u16) -> usize {
        let usual = self.usual.as_nanos().max(1);
        let ahead = AHEAD.as_nanos() * u128::from(limit) / usual;
        let ahead = usize::try_from(ahead.clamp(1, MOST_AHEAD)).unwrap_or(1);
        usize::from(limit).saturating_add(ahead)
    }

    /// The first object of that queue that is not being reconciled. kube may already have read an object
    /// that it was given, so a change of such an object waits as well.
    fn take(&mut self, trigger: Trigger) -> Option<Arc<Key>> {
        let mut queue = mem::take(self.queue(trigger));
        let mut busy = Vec::new();
        let mut first = None;
        while let Some(object) = queue.pop_front() {
            if self.waiting.get(&object).map(|waiting| waiting.trigger) != Some(trigger) {
                continue;
            }
            if self.limit.is_some()
                && (self.given.contains_key(&object) || self.running.contains_key(&object))
            {
                busy.push(object);
                continue;
            }
            first = Some(object);
            break;
        }
        for object in busy.into_iter().rev() {
            queue.push_front(object);
        }
        *self.queue(trigger) = queue;
        first
    }

    fn queue(&mut self, trigger: Trigger) -> &mut VecDeque<Arc<Key>> {
        match trigger {
            Trigger::Change => &mut self.changes,
            Trigger::List => &mut self.list,
        }
    }
}

/// The objects of a controller in the order of their reconciles.
pub(crate) struct Turns {
    /// Until it has ended.
    requests: Option<BoxStream<'static, ReconcileRequest>>,
    queue: Queue,
}

impl Stream for Turns {
    type Item = Arc<Key>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        while let Some(requests) = &mut self.requests {
            match requests.as_mut().poll_next(cx) {
                Poll::Ready(Some(request)) => self.queue.add(request),
                Poll::Ready(None) => self.requests = None,
                Poll::Pending => break,
            }
        }
        let mut state = self.queue.lock();
        if let Some(object) = state.next() {
            return Poll::Ready(Some(object));
        }
        if self.requests.is_none() && state.waiting.is_empty() {
            return Poll::Ready(None);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}
