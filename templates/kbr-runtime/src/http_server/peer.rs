// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Which peers are connected, what each holds, and which is evicted when there is too little for all.
//!
//! A connection can be evicted while it waits for its peer, but not while its request is being
//! processed:
//! - to admit a new connection, the one that has been idle longest, with those first that have never
//!   sent a request; if none is idle, one that has stalled,
//! - to free memory, the one that has stalled longest.
//!
//! A connection has stalled when less than [`STEP`] went through it for [`STALLED`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use hyper::body::Body;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::Limits;
use crate::lock::lock;
use crate::logging::LogLimit;

/// How long a peer may neither send nor receive anything before it can be evicted.
const STALLED: Duration = Duration::from_millis(500);

/// Fewer bytes do not count as progress, so that a slow trickle does not keep others out.
const STEP: usize = 64 << 10;

/// How long a request waits for memory: longer than it takes to find out that others have stalled.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often it looks for victims in the meantime.
const PERIOD: Duration = Duration::from_millis(50);

/// A request is small if it holds at most the reserve divided by this.
const SMALL: usize = 4;

/// All connections.
pub(super) struct Peers {
    limits: Limits,
    table: Mutex<Table>,
    /// Something was freed.
    changed: Notify,
}

#[derive(Default)]
pub(super) struct Table {
    next: u64,
    /// Warnings about too many connections.
    warnings: LogLimit<()>,
    entries: HashMap<u64, Entry>,
}

struct Entry {
    phase: Phase,
    /// When the phase began, or when the last [`STEP`] was completed in it.
    since: Instant,
    moved: usize,
    deadline: Option<Instant>,
    /// Bytes of memory.
    held: usize,
    has_sent_request: bool,
    evicted: CancellationToken,
}

/// What a connection waits for.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Phase {
    /// For a handshake or a request.
    Idle,
    /// For the rest of a request.
    Receiving,
    /// For this process.
    Working,
    /// For its peer to read a response.
    Answering,
}

/// One connection. It counts until this is dropped.
pub(crate) struct Peer {
    id: u64,
    peers: Arc<Peers>,
    evicted: CancellationToken,
}

/// Why a request gets no memory.
#[derive(Debug)]
pub(crate) enum Unavailable {
    /// The request asks for more than there is in total. Holds that total in bytes.
    Never(usize),
    /// Other requests hold it.
    Now,
}

impl Peers {
    pub(super) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            table: Mutex::default(),
            changed: Notify::new(),
        })
    }

    pub(super) fn table(&self) -> MutexGuard<'_, Table> {
        lock(&self.table)
    }

    /// Waits until the table `is` as wanted. Looks again whenever something was freed, and once per
    /// [`PERIOD`], since some connections stall in the meantime.
    async fn until(&self, mut is: impl FnMut(&mut Table) -> bool) {
        loop {
            let changed = self.changed.notified();
            if is(&mut self.table()) {
                return;
            }
            let _ = timeout(PERIOD, changed).await;
        }
    }

    /// Adds a connection; at the limit, it replaces another one.
    pub(super) async fn admit(self: &Arc<Self>) -> Peer {
        let limits = self.limits;
        self.until(|table| {
            let has_room = table.entries.len() < limits.connections;
            if !has_room {
                table.evict_connection();
            }
            has_room
        })
        .await;
        let mut table = self.table();
        let (id, evicted) = (table.next, CancellationToken::new());
        table.next += 1;
        let entry = Entry {
            phase: Phase::Idle,
            since: Instant::now(),
            moved: 0,
            deadline: Some(Instant::now() + limits.handshake),
            held: 0,
            has_sent_request: false,
            evicted: evicted.clone(),
        };
        table.entries.insert(id, entry);
        Peer {
            id,
            peers: self.clone(),
            evicted,
        }
    }

    pub(super) fn evict_overdue(&self) {
        let now = Instant::now();
        for entry in self.table().entries.values() {
            if entry.deadline.is_some_and(|deadline| deadline <= now) {
                entry.evicted.cancel();
            }
        }
    }

    /// Waits until there are no connections.
    pub(super) async fn ended(&self) {
        self.until(|table| table.entries.is_empty()).await;
    }
}

impl Table {
    /// Evicts a connection, unless one is already being evicted.
    pub(super) fn evict_connection(&self) {
        if self.warnings.pass((), Instant::now()).is_some() {
            let connections = self.entries.len();
            tracing::warn!(
                connections,
                "too many connections: idle ones are closed for new ones"
            );
        }
        let entries = || self.entries.values();
        if entries().any(|entry| entry.evicted.is_cancelled()) {
            return;
        }
        let idle = entries().filter(|entry| entry.phase == Phase::Idle);
        let victim = idle.min_by_key(|entry| (entry.has_sent_request, entry.since));
        if let Some(victim) = victim.or_else(|| self.stalled()) {
            victim.evicted.cancel();
        }
    }

    /// The connection that has stalled longest.
    fn stalled(&self) -> Option<&Entry> {
        let stalled = self.entries.values().filter(|entry| {
            matches!(entry.phase, Phase::Receiving | Phase::Answering)
                && entry.since.elapsed() > STALLED
                && !entry.evicted.is_cancelled()
        });
        stalled.min_by_key(|entry| entry.since)
    }

    /// Makes `id` hold `bytes` if they are free, and returns whether it does. If not, evicts stalled
    /// connections as far as needed.
    fn hold(&mut self, id: u64, bytes: usize, limits: &Limits) -> Result<bool, Unavailable> {
        let most = limits.memory - limits.reserve;
        if bytes > most {
            return Err(Unavailable::Never(most));
        }
        let is_small = bytes <= limits.reserve / SMALL;
        let free = if is_small { limits.memory } else { most };
        let others = self.entries.iter().filter(|(other, _)| **other != id);
        let others = others.map(|(_, entry)| entry);
        let held: usize = others.clone().map(|entry| entry.held).sum();
        if held + bytes <= free {
            if let Some(entry) = self.entries.get_mut(&id) {
                entry.held = bytes;
            }
            return Ok(true);
        }
        let leaving = others.filter(|entry| entry.evicted.is_cancelled());
        let mut left = held - leaving.map(|entry| entry.held).sum::<usize>();
        while left + bytes > free
            && let Some(victim) = self.stalled()
        {
            victim.evicted.cancel();
            left -= victim.held;
        }
        Ok(false)
    }
}

impl Peer {
    /// Holds `bytes` in total of the memory that requests share, until the request is answered.
    ///
    /// Waits briefly if other requests hold too much, and evicts those that have stalled.
    pub(crate) async fn hold(&self, bytes: usize) -> Result<(), Unavailable> {
        let deadline = Instant::now() + PATIENCE;
        let mut outcome = Ok(false);
        let limits = &self.peers.limits;
        self.peers
            .until(|table| {
                outcome = table.hold(self.id, bytes, limits);
                !matches!(outcome, Ok(false)) || Instant::now() > deadline
            })
            .await;
        outcome?.then_some(()).ok_or(Unavailable::Now)
    }

    /// From now on, the peer must send the rest of its request.
    pub(crate) fn receive(&self) {
        self.enter(Phase::Receiving, None);
    }

    /// From now on, the peer waits for this process.
    pub(crate) fn work(&self) {
        self.enter(Phase::Working, None);
    }

    /// Waits until this connection is evicted.
    pub(crate) async fn evicted(&self) {
        self.evicted.cancelled().await;
    }

    /// Whether there is no request to answer.
    pub(super) fn is_idle(&self) -> bool {
        self.entry(|entry| entry.phase) == Some(Phase::Idle)
    }

    /// A request has arrived. Waits until the response to the previous one has been sent.
    pub(super) async fn begin(&self) {
        let is_answering = |entry: &Entry| entry.phase == Phase::Answering;
        self.peers
            .until(|table| !table.entries.get(&self.id).is_some_and(is_answering))
            .await;
        self.work();
    }

    /// The response to a request is ready, and from now on only the response takes memory.
    pub(super) fn answer(&self, body: &impl Body) {
        let limit = self.peers.limits.answer;
        self.enter(Phase::Answering, Some(limit));
        let length = body.size_hint().lower().try_into().unwrap_or(usize::MAX);
        self.entry(|entry| entry.held = length);
        self.peers.changed.notify_waiters();
    }

    /// From now on, the server waits for the next request.
    pub(super) fn wait(&self) {
        self.enter(Phase::Idle, Some(self.peers.limits.idle));
    }

    fn enter(&self, phase: Phase, limit: Option<Duration>) {
        self.entry(|entry| {
            let now = Instant::now();
            entry.phase = phase;
            entry.since = now;
            entry.moved = 0;
            entry.deadline = limit.map(|limit| now + limit);
            entry.has_sent_request |= phase != Phase::Idle;
        });
    }

    /// Records that `bytes` went through the connection.
    pub(super) fn moved(&self, bytes: usize) {
        self.entry(|entry| {
            entry.moved += bytes;
            if entry.moved >= STEP && entry.phase != Phase::Idle {
                entry.moved = 0;
                entry.since = Instant::now();
            }
        });
    }

    /// Everything has been written.
    pub(super) fn flushed(&self) {
        if self.entry(|entry| entry.phase) == Some(Phase::Answering) {
            self.wait();
            self.entry(|entry| entry.held = 0);
            self.peers.changed.notify_waiters();
        }
    }

    fn entry<T>(&self, use_it: impl FnOnce(&mut Entry) -> T) -> Option<T> {
        self.peers.table().entries.get_mut(&self.id).map(use_it)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.peers.table().entries.remove(&self.id);
        self.peers.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
