// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Whether the controllers of this process get on with their work.
//!
//! A process that does not is ended by the kubelet, through `/healthz`. That helps against a fault of
//! the process, such as a reconcile that blocks its thread, and makes an outage of the API server
//! worse. So a process only counts as stuck while the API server answers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::api_server::ApiServer;
use crate::backoff::Key;
use crate::metrics::{Backlog, Counts};

/// How much longer than one reconcile may take work may wait with none finished.
const SLACK: Duration = Duration::from_secs(60);

/// What is known of all controllers.
pub(crate) struct Health {
    server: ApiServer,
    controllers: Vec<(&'static str, Work)>,
}

impl Health {
    pub(crate) fn new(server: ApiServer) -> Self {
        Self {
            server,
            controllers: Vec::new(),
        }
    }

    /// The work of a controller, which it keeps up to date.
    pub(crate) fn add(&mut self, controller: &'static str, counts: Counts) -> Work {
        let work = Work::new(counts);
        self.controllers.push((controller, work.clone()));
        work
    }

    #[cfg(test)]
    pub(crate) fn server(&self) -> &ApiServer {
        &self.server
    }

    /// What has not got on for too long, unless that is because the API server does not answer.
    ///
    /// Whoever acts upon it must ask the API server first: a process that is stuck does not notice an
    /// outage.
    pub(crate) fn stuck(&self) -> Option<String> {
        if let Some(silence) = self.server.silent_watch() {
            return Some(format!(
                "a watch has been silent for {}s",
                silence.as_secs()
            ));
        }
        let answering = self.server.answering_for();
        self.controllers.iter().find_map(|(controller, work)| {
            let time = work.stuck_for()?.min(answering);
            (time > work.bound()).then(|| {
                let seconds = time.as_secs();
                format!("controller `{controller}` has work and has finished none for {seconds}s")
            })
        })
    }
}

/// The objects of one controller that wait to be reconciled, or are reconciled. Clones share it.
#[derive(Clone)]
pub(crate) struct Work {
    state: Arc<Mutex<State>>,
    counts: Counts,
}

struct State {
    /// Since when each waits.
    waiting: HashMap<Key, Instant>,
    /// Since when each is reconciled.
    running: HashMap<Key, Instant>,
    last_finished: Instant,
    /// How long one reconcile may take.
    limit: Duration,
}

impl Work {
    pub(crate) fn new(counts: Counts) -> Self {
        let state = State {
            waiting: HashMap::new(),
            running: HashMap::new(),
            last_finished: Instant::now(),
            limit: Duration::MAX,
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            counts,
        }
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Sets how long one reconcile may take.
    pub(crate) fn limit(&self, limit: Duration) {
        self.lock().limit = limit;
    }

    pub(crate) fn waits(&self, object: &Key) {
        let mut state = self.lock();
        if !state.waiting.contains_key(object) {
            state.waiting.insert(object.clone(), Instant::now());
            self.counts.added();
        }
    }

    pub(crate) fn started(&self, object: &Key) {
        let mut state = self.lock();
        match state.waiting.remove(object) {
            Some(since) => self.counts.waited(since.elapsed()),
            // It asked for this itself. Since when it was due is known to kube alone.
            None => self.counts.added(),
        }
        state.running.insert(object.clone(), Instant::now());
    }

    /// Notes that a reconcile has ended, in whatever way.
    pub(crate) fn finished(&self, object: &Key) {
        let mut state = self.lock();
        if let Some(since) = state.running.remove(object) {
            self.counts.worked(since.elapsed());
        }
        state.last_finished = Instant::now();
    }

    /// Notes that there is nothing to reconcile any more.
    pub(crate) fn gone(&self, object: &Key) {
        self.finished(object);
        self.lock().waiting.remove(object);
    }

    /// What there is to do now.
    pub(crate) fn backlog(&self) -> Backlog {
        let state = self.lock();
        let running = state.running.values().map(Instant::elapsed);
        Backlog {
            waiting: state.waiting.len(),
            running: state.running.len(),
            unfinished: running.clone().sum(),
            longest: running.max().unwrap_or_default(),
        }
    }

    /// As if there had been work for that time, and none had finished.
    #[cfg(test)]
    pub(crate) fn has_waited(&self, time: Duration) {
        let then = Instant::now()
            .checked_sub(time)
            .unwrap_or_else(Instant::now);
        let mut state = self.lock();
        let object = Key::of_meta(&kube::api::ObjectMeta::default());
        state.waiting.insert(object, then);
        state.last_finished = then;
        state.limit = Duration::ZERO;
    }

    /// For how long nothing has finished though there was work; `None` without work.
    fn stuck_for(&self) -> Option<Duration> {
        let state = self.lock();
        let oldest = state.waiting.values().chain(state.running.values()).min()?;
        Some(oldest.elapsed().min(state.last_finished.elapsed()))
    }

    fn bound(&self) -> Duration {
        self.lock().limit.saturating_add(SLACK)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
