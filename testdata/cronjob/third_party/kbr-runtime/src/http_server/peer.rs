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
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::HttpBody;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::Limits;

/// How long a peer may neither send nor receive anything before it can be evicted.
const STALLED: Duration = Duration::from_millis(500);

/// Fewer bytes do not count as progress, so that a slow trickle does not keep others out.
const STEP: usize = 64 << 10;

/// How long a request waits for memory: longer than it takes to find out that others have stalled.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often it looks for victims in the meantime.
const PERIOD: Duration = Duration::from_millis(50);

/// How long the warning about too many connections is not repeated.
const QUIET: Duration = Duration::from_secs(60);

/// A request is small if it holds at most the reserve divided by this.
const SMALL: usize = 4;

/// All connections.
#[derive(Clone)]
pub(super) struct Peers(Arc<Shared>);

struct Shared {
    limits: Limits,
    table: Mutex<Table>,
    /// Something was freed.
    changed: Notify,
}

#[derive(Default)]
struct Table {
    next: u64,
    warned: Option<Instant>,
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
pub(super) enum Phase {
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
    peers: Peers,
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
    pub(super) fn new(limits: Limits) -> Self {
        Self(Arc::new(Shared {
            limits,
            table: Mutex::default(),
            changed: Notify::new(),
        }))
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        let table = self.0.table.lock();
        table.unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection; at the limit, it replaces another one.
    pub(super) async fn admit(&self) -> Peer {
        loop {
            let changed = self.0.changed.notified();
            if self.table().entries.len() < self.0.limits.connections {
                break;
            }
            self.evict_connection();
            let _ = timeout(PERIOD, changed).await;
        }
        let mut table = self.table();
        let (id, evicted) = (table.next, CancellationToken::new());
        table.next += 1;
        let entry = Entry {
            phase: Phase::Idle,
            since: Instant::now(),
            moved: 0,
            deadline: Some(Instant::now() + self.0.limits.handshake),
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

    /// Evicts a connection, unless one is already being evicted.
    pub(super) fn evict_connection(&self) {
        let mut table = self.table();
        let now = Instant::now();
        if table.warned.is_none_or(|warned| now - warned > QUIET) {
            let connections = table.entries.len();
            tracing::warn!(
                connections,
                "too many connections: idle ones are closed for new ones"
            );
            table.warned = Some(now);
        }
        let entries = || table.entries.values();
        if entries().any(|entry| entry.evicted.is_cancelled()) {
            return;
        }
        let idle = entries().filter(|entry| entry.phase == Phase::Idle);
        let victim = idle.min_by_key(|entry| (entry.has_sent_request, entry.since));
        if let Some(victim) = victim.or_else(|| table.stalled()) {
            victim.evicted.cancel();
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
        loop {
            let changed = self.0.changed.notified();
            if self.table().entries.is_empty() {
                return;
            }
            changed.await;
        }
    }
}

impl Table {
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
        loop {
            let changed = self.peers.0.changed.notified();
            let limits = &self.peers.0.limits;
            if self.peers.table().hold(self.id, bytes, limits)? {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(Unavailable::Now);
            }
            let _ = timeout(PERIOD, changed).await;
        }
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
        loop {
            let changed = self.peers.0.changed.notified();
            let phase = |entry: &mut Entry| entry.phase;
            if self.entry(phase) != Some(Phase::Answering) {
                break;
            }
            changed.await;
        }
        self.work();
    }

    /// The response to a request is ready, and from now on only the response takes memory.
    pub(super) fn answer(&self, body: &impl HttpBody) {
        let limit = self.peers.0.limits.answer;
        self.enter(Phase::Answering, Some(limit));
        let length = body.size_hint().lower().try_into().unwrap_or(usize::MAX);
        self.entry(|entry| entry.held = length);
        self.peers.0.changed.notify_waiters();
    }

    pub(super) fn enter(&self, phase: Phase, limit: Option<Duration>) {
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
            self.enter(Phase::Idle, Some(self.peers.0.limits.idle));
            self.entry(|entry| entry.held = 0);
            self.peers.0.changed.notify_waiters();
        }
    }

    fn entry<T>(&self, use_it: impl FnOnce(&mut Entry) -> T) -> Option<T> {
        self.peers.table().entries.get_mut(&self.id).map(use_it)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.peers.table().entries.remove(&self.id);
        self.peers.0.changed.notify_waiters();
    }
}
