// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The faults, and the connections that they affect.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use http::StatusCode;
use tokio::sync::Notify;

use super::ProxiedRequest;

type Predicate = Box<dyn Fn(&ProxiedRequest) -> bool + Send + Sync>;

#[derive(Default)]
pub(super) struct Faults(Mutex<State>);

#[derive(Default)]
pub(super) struct State {
    pub(super) rules: Vec<(Predicate, Fault)>,
    pub(super) swallows_connections: bool,
    pub(super) closes_connections: bool,
    lines: Vec<Weak<Line>>,
    pub(super) hits: usize,
}

#[derive(Clone, Copy)]
pub(super) enum Fault {
    BlackHole,
    LoseAnswer,
    Refuse {
        code: StatusCode,
        retry_after: Option<Duration>,
    },
}

/// A connection from the operator.
#[derive(Default)]
pub(super) struct Line {
    /// What it sends is swallowed.
    swallows_requests: AtomicBool,
    /// What it should receive is swallowed.
    swallows_responses: AtomicBool,
    pub(super) cut: Notify,
    /// The request in progress.
    request: Mutex<Option<ProxiedRequest>>,
}

impl Faults {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn inject(
        &self,
        matching: impl Fn(&ProxiedRequest) -> bool + Send + Sync + 'static,
        fault: Fault,
    ) {
        let mut state = self.lock();
        for line in state.lines() {
            if line.request().as_ref().is_some_and(&matching) {
                state.hits += usize::from(line.apply(fault));
            }
        }
        state.rules.push((Box::new(matching), fault));
    }

    /// Records a request that arrives on `line`, and returns the fault that it meets.
    pub(super) fn meet(&self, line: &Line, request: ProxiedRequest) -> Option<Fault> {
        let mut state = self.lock();
        let mut rules = state.rules.iter();
        let rule = rules.find(|(matching, _)| matching(&request));
        let fault = rule.map(|(_, fault)| *fault);
        if let Some(fault) = fault {
            line.apply(fault);
        }
        if fault.is_some() || line.swallows_requests() {
            state.hits += 1;
        }
        *line.request() = Some(request);
        fault
    }

    /// Returns a new connection, unless it must be closed.
    pub(super) fn connect(&self) -> Option<Arc<Line>> {
        let mut state = self.lock();
        if state.closes_connections {
            return None;
        }
        let line = Arc::new(Line::default());
        if state.swallows_connections {
            line.fall_silent();
        }
        state.lines.retain(|line| line.strong_count() > 0);
        state.lines.push(Arc::downgrade(&line));
        Some(line)
    }
}

impl State {
    pub(super) fn lines(&self) -> Vec<Arc<Line>> {
        self.lines.iter().filter_map(Weak::upgrade).collect()
    }
}

impl Line {
    pub(super) fn request(&self) -> MutexGuard<'_, Option<ProxiedRequest>> {
        self.request.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn fall_silent(&self) {
        self.swallows_requests.store(true, Ordering::Relaxed);
        self.swallows_responses.store(true, Ordering::Relaxed);
    }

    /// Applies the fault, and returns whether it affects a request in progress.
    fn apply(&self, fault: Fault) -> bool {
        match fault {
            Fault::BlackHole => self.fall_silent(),
            Fault::LoseAnswer => self.swallows_responses.store(true, Ordering::Relaxed),
            Fault::Refuse { .. } => return false,
        }
        true
    }

    pub(super) fn swallows_requests(&self) -> bool {
        self.swallows_requests.load(Ordering::Relaxed)
    }

    pub(super) fn swallows_responses(&self) -> bool {
        self.swallows_responses.load(Ordering::Relaxed)
    }
}
