// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The watches of a controller: each is kept going on its own, and isolates objects that cannot be read.
//!
//! kube's [`watcher`] lists, resumes and starts again after "410 Gone". This module adds the pauses between
//! its attempts, the log lines about them, and the handling of objects that do not fit their Rust type.
//!
//! A watch fails from an error until the API server has accepted its next request: the watcher itself shows
//! nothing before the next event, which may be hours later.

mod unreadable;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use http::{Request, Response};
use kube::client::Body;
use kube::runtime::watcher::{self, Event, ListSemantic, watcher};
use kube::{Api, Client, Resource};
use prometheus_client::metrics::counter::Counter;
use tokio::time::{Instant, sleep};
use tower::service_fn;

use crate::api_server::{ApiServer, OwnWatch, WATCH_SECONDS, pause};
use crate::cache::{Cached, Received, Source};
use crate::chain::chain;
use crate::client::{parameter, retry_after};
use crate::events::Events;
use crate::lock::lock;
use crate::metrics;
use crate::random::{chance, later};
use crate::running::Tasks;

/// The pause after the first failure, as in client-go. It doubles with each further failure.
const FIRST_PAUSE: Duration = Duration::from_millis(800);

/// The longest pause: a recovery is noticed soon, and one request costs little.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// How many watches in a row may end early before that is a failure: the API server closes those of a CRD that has
/// changed.
const SHORT_WATCHES: u32 = 2;

/// The longest `Retry-After` that is heeded.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60);

/// The time between two log lines about a watch that keeps failing.
const REMINDER: Duration = Duration::from_secs(60);

/// How long the first list may take by default while the API server answers; as in controller-runtime.
pub(crate) const SYNC_LIMIT: Duration = Duration::from_secs(120);

/// What a watch selects.
#[derive(Clone)]
pub(crate) struct Selection {
    pub(crate) client: Client,
    /// `None` for all.
    pub(crate) namespace: Option<String>,
    pub(crate) config: watcher::Config,
}

/// What the watches that one controller began have in common. Clones share it.
#[derive(Clone)]
pub(crate) struct Watches {
    controller: &'static str,
    server: ApiServer,
    events: Events,
    series: metrics::Watches,
}

/// Whether a watch is failing. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct FailingWatches(Arc<AtomicBool>);

impl FailingWatches {
    pub(crate) fn is_any(all: &[Self]) -> bool {
        all.iter().any(|watch| watch.0.load(Ordering::Relaxed))
    }

    pub(crate) fn set(&self, is_failing: bool) {
        self.0.store(is_failing, Ordering::Relaxed);
    }
}

impl Watches {
    pub(crate) fn new(
        controller: &'static str,
        server: ApiServer,
        events: Events,
        series: metrics::Watches,
    ) -> Self {
        Self {
            controller,
            server,
            events,
            series,
        }
    }

    /// Fills the caches of `sources` until it is dropped. Returns only if a watch ends, which it should not, and says
    /// which.
    pub(crate) async fn follow(&self, sources: &[Arc<dyn Source>]) -> String {
        let mut watches = Tasks::default();
        for source in sources {
            let name = format!("the watch of {}", source.watched().resource);
            watches.spawn(name, source.clone().follow(self.clone()));
        }
        let (watch, reason) = watches.failed().await;
        format!("{watch} ended: {reason}")
    }

    /// Waits until the first list of one of `sources` takes longer than its limit although the API server answers, and
    /// says which.
    pub(crate) async fn never_listed(&self, sources: &[(Arc<dyn Source>, Duration)]) -> String {
        let start = Instant::now();
        loop {
            sleep(Duration::from_secs(1)).await;
            let waited = start.elapsed().min(self.server.answering_for());
            let late = sources
                .iter()
                .find(|(source, limit)| waited >= *limit && !*source.watched().is_listed.borrow());
            if let Some((late, limit)) = late {
                let late = late.watched();
                let (what, error) = (&late.resource, lock(&late.error).clone());
                let error = error.as_deref().unwrap_or("no answer");
                return format!("could not list {what} within {limit:?}: {error}");
            }
        }
    }

    /// The events of a watch, which is restarted for as long as anybody listens. `note` is told of each error, and
    /// `passed` of a version: everything up to it has been shown.
    pub(crate) fn watch<K: Cached>(
        &self,
        selection: Selection,
        kind: &K::DynamicType,
        failing: &FailingWatches,
        note: impl Fn(&str) + Send + 'static,
        passed: impl Fn(u64) + Clone + Send + 'static,
    ) -> BoxStream<'static, Event<Received<K>>> {
        let state = self.state(resource::<K>(kind), failing);
        let config = bounded(selection.config);
        let asked = config
            .timeout
            .map(|seconds| Duration::from_secs(seconds.into()));
        // The API server counts from an earlier moment.
        lock(&state).lasting = asked.map_or(LONGEST_PAUSE, |asked| LONGEST_PAUSE.min(asked / 2));
        let client = watching(selection.client, state.clone(), passed);
        let api = match &selection.namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, kind),
            None => Api::all_with(client, kind),
        };
        self.keep_going(state, watcher(api, config), note)
    }

    /// The state of a watch that has not failed.
    fn state(&self, what: String, failing: &FailingWatches) -> Arc<Mutex<WatchState>> {
        Arc::new(Mutex::new(WatchState {
            watches: self.clone(),
            series: self.series.failing(&what),
            what,
            failures: 0,
            short: 0,
            accepted: None,
            lasting: LONGEST_PAUSE,
            not_before: None,
            reported: None,
            is_reported: false,
            failing: failing.clone(),
        }))
    }

    fn keep_going<K: Send + 'static>(
        &self,
        state: Arc<Mutex<WatchState>>,
        watch: impl Stream<Item = Result<Event<K>, watcher::Error>> + Send + 'static,
        note: impl Fn(&str) + Send + 'static,
    ) -> BoxStream<'static, Event<K>> {
        let server = self.server.clone();
        let events = watch.filter_map(move |event| {
            let delay = match &event {
                Err(error) => {
                    note(&explained(error));
                    lock(&state).pause_after(error)
                }
                // A list that has begun has not arrived yet.
                Ok(Event::Init) => Duration::ZERO,
                Ok(_) => {
                    lock(&state).end();
                    Duration::ZERO
                }
            };
            let server = server.clone();
            async move {
                if !delay.is_zero() {
                    pause(&server, delay).await;
                }
                event.ok()
            }
        });
        events.boxed()
    }

    /// For the panics of functions that index or slim the objects of one watch.
    pub(crate) fn panics<K: Resource>(&self, kind: &K::DynamicType) -> Counter {
        self.series.panics(&resource::<K>(kind))
    }
}

/// `client`, which tells the state of the watch what the API server answers, and calls `passed` before the first event
/// of each watch, with the version from which it continues; 0 if that is not a number.
fn watching(
    client: Client,
    state: Arc<Mutex<WatchState>>,
    passed: impl Fn(u64) + Clone + Send + 'static,
) -> Client {
    let namespace = client.default_namespace().to_owned();
    let requests = service_fn(move |request: Request<Body>| {
        let (client, state, passed) = (client.clone(), state.clone(), passed.clone());
        async move {
            let mut request = request;
            request.extensions_mut().insert(OwnWatch);
            let is_watch = parameter(&request, "watch") == Some("true");
            let from = parameter(&request, "resourceVersion");
            let from = from.and_then(|version| version.parse().ok());
            if is_watch {
                let (server, delay) = lock(&state).before_watch();
                if !delay.is_zero() {
                    pause(&server, delay).await;
                }
            }
            let response = client.send(request).await?;
            if is_watch && response.status().is_success() {
                lock(&state).accepted();
                passed(from.unwrap_or_default());
            } else if let Some(delay) = asked(&response) {
                lock(&state).not_before = Instant::now().checked_add(delay);
            }
            Ok::<_, kube::Error>(response)
        }
    });
    Client::new(requests, namespace)
}

/// How long the API server asks to wait, but no longer than a minute.
fn asked(response: &Response<Body>) -> Option<Duration> {
    let asked = Duration::from_secs(retry_after(response)?.into());
    Some(asked.min(LONGEST_RETRY_AFTER))
}

/// `config` with a timeout, which keeps the watch from staying silent for long. 0 would disable kube's own limit. Lists
/// are the most recent, since an older one would hide what this process has written.
fn bounded(mut config: watcher::Config) -> watcher::Config {
    config.list_semantic = ListSemantic::MostRecent;
    let asked = config.timeout.filter(|seconds| *seconds > 0);
    config.timeout = asked.or(Some(WATCH_SECONDS));
    config
}

/// The name of a kind in messages, such as `cronjobs.batch`.
pub(crate) fn resource<K: Resource>(kind: &K::DynamicType) -> String {
    match (K::plural(kind), K::group(kind)) {
        (plural, group) if group.is_empty() => plural.into_owned(),
        (plural, group) => format!("{plural}.{group}"),
    }
}

/// The state of one watch.
struct WatchState {
    watches: Watches,
    what: String,
    /// In a row: since the API server accepted a watch that lasted.
    failures: u32,
    /// How many watches in a row were closed early without an error.
    short: u32,
    /// When the API server accepted the latest watch, until that has ended.
    accepted: Option<Instant>,
    /// How long a watch is open that has not failed.
    lasting: Duration,
    /// When the API server wants the next request at the earliest.
    not_before: Option<Instant>,
    /// The last log line about a failure.
    reported: Option<Instant>,
    /// It was about the failure that has not ended yet.
    is_reported: bool,
    /// Since the last error, neither has a request been accepted nor an event arrived.
    failing: FailingWatches,
    /// The same, as 0 or 1.
    series: metrics::Share,
}

impl WatchState {
    /// Notes a failure, and returns how long to wait until the next attempt.
    fn pause_after(&mut self, error: &watcher::Error) -> Duration {
        self.watch_ended();
        let delay = match self.failures {
            // Its resource version has expired; kube lists again.
            0 if code(error) == Some(410) => Duration::ZERO,
            failures => backoff(failures),
        };
        let asked = self.not_before.take();
        let asked = asked.map(|at| at.saturating_duration_since(Instant::now()));
        let delay = delay.max(later(asked.unwrap_or_default()));
        self.failed(&explained(error), delay);
        delay
    }

    /// The next watch is about to be requested. Returns how long to wait if the last ones were closed, without an error,
    /// before they had lasted: some proxies accept a watch only to close it at once.
    fn before_watch(&mut self) -> (ApiServer, Duration) {
        let mut delay = Duration::ZERO;
        if self.watch_ended() {
            self.short = self.short.saturating_add(1);
            if let Some(short) = self.short.checked_sub(SHORT_WATCHES + 1) {
                delay = backoff(short);
                self.failed("it was closed early several times", delay);
            }
        }
        (self.watches.server.clone(), delay)
    }

    /// The latest watch has ended, if there was one. Returns whether it was too short.
    fn watch_ended(&mut self) -> bool {
        let Some(accepted) = self.accepted.take() else {
            return false;
        };
        let has_lasted = accepted.elapsed() >= self.lasting;
        if has_lasted {
            (self.failures, self.short) = (0, 0);
            self.reported = None;
        }
        !has_lasted
    }

    fn failed(&mut self, error: &str, delay: Duration) {
        self.failing.set(true);
        self.series.set(1);
        self.failures = self.failures.saturating_add(1);
        let (controller, watch) = (self.watches.controller, &self.what);
        let is_due = self.reported.is_none_or(|at| at.elapsed() >= REMINDER);
        // An outage has its own log line.
        if is_due && !delay.is_zero() && self.watches.server.answers() {
            tracing::warn!(
                controller,
                watch,
                error,
                "a watch failed and will be retried"
            );
            self.reported = Some(Instant::now());
            self.is_reported = true;
        } else {
            tracing::debug!(controller, watch, error, "a watch failed again");
        }
    }

    /// The API server has accepted the request of the watch.
    fn accepted(&mut self) {
        self.accepted = Some(Instant::now());
        self.end();
    }

    /// A failure has ended: a request was accepted, or an event has arrived.
    fn end(&mut self) {
        self.failing.set(false);
        self.series.set(0);
        if std::mem::take(&mut self.is_reported) {
            let (controller, watch) = (self.watches.controller, &self.what);
            tracing::info!(controller, watch, "the watch works again");
        }
    }
}

/// The pause after so many failures in a row. It is up to a third shorter by chance, so that operators that failed at
/// the same time do not all come back at the same time.
fn backoff(failures: u32) -> Duration {
    let pause = FIRST_PAUSE.saturating_mul(2u32.saturating_pow(failures));
    pause.min(LONGEST_PAUSE).mul_f64(1.0 - chance() / 3.0)
}

/// The status of the API server's response, if it was one.
fn code(error: &watcher::Error) -> Option<u16> {
    use watcher::Error::{InitialListFailed, WatchError, WatchFailed, WatchStartFailed};
    match error {
        InitialListFailed(kube::Error::Api(status))
        | WatchStartFailed(kube::Error::Api(status))
        | WatchFailed(kube::Error::Api(status))
        | WatchError(status) => Some(status.code),
        _ => None,
    }
}

/// The text of the error with its causes, and with what to do about a resource that is not served.
fn explained(error: &watcher::Error) -> String {
    // The response itself says no more than "404 page not found".
    if code(error) == Some(404) {
        return "the API server does not serve it (404): is its CRD installed (`make install`)?"
            .to_owned();
    }
    chain(error)
}

#[cfg(test)]
mod tests;
