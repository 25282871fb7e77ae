// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The API server as seen by this process: request deadlines, and whether it answers.
//!
//! Every request of the manager's client passes through here, between kube's client and its
//! connections. A request that is not answered in time ends with an error, which closes its connection
//! (kube speaks HTTP/1.1). If no other request was answered meanwhile either, all connections are
//! abandoned: those that have gone silent would stall every later request too.
//! Requests are retried by their callers, not here, so that one rejected object delays no other.
//!
//! While no request is answered, the controllers wait, and the log has one line a minute about it
//! instead of one for each failed request.

mod body;
mod throttled;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::mem;
#[cfg(feature = "plan")]
use std::sync::OnceLock;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, DATE, UPGRADE};
use http::{HeaderMap, Request, Response};
use k8s_openapi::jiff::fmt::rfc2822;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::client::{AuthError, Body, ClientBuilder, DynBody};
use kube::{Client, Config};
use tokio::runtime::Handle;
use tokio::sync::{SetOnce, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tower::layer::layer_fn;
use tower::util::BoxService;
use tower::{BoxError, Service};
use tracing::Instrument;

use crate::chain::chain;
use crate::client::{ask_readiness, parameter};
use crate::gate::Gate;
use crate::lock::lock;
use crate::metrics;
#[cfg(feature = "plan")]
use crate::plan::Plan;
use crate::warnings::Warnings;
use body::Bounded;

/// How long the response to a watch may take to begin. An API server answers it at once, whatever webhooks do:
/// it waits on a connection that has gone silent, perhaps from the pool.
const WATCH_BEGINS: Duration = Duration::from_secs(30);

/// If a watch is dropped after this much silence, its connection is not used again, nor are the others
/// of the same generation.
const SILENCE: Duration = Duration::from_secs(20);

/// It is an outage when no request has been answered for this long. Single connections break all the
/// time.
pub(crate) const OUTAGE: Duration = Duration::from_secs(1);

/// Interval between log lines about an outage.
const REMINDER: Duration = Duration::from_secs(60);

/// Interval between checks of whether an outage is over.
const QUESTION: Duration = Duration::from_secs(1);

/// How much longer than the requested time a watch may be silent: the server ends it before that.
const SLACK: Duration = Duration::from_secs(60);

/// Why a request was given up, or not sent.
#[derive(Clone, Copy, Debug, thiserror::Error)]
enum Unanswered {
    #[error("no answer within {0:?}")]
    InTime(Duration),
    #[error("the process ends, and does not wait longer for an answer")]
    AtTheEnd,
    #[error("this process no longer leads")]
    NotLeading,
}

/// The known state of the API server. Clones share it.
#[derive(Clone)]
pub(crate) struct ApiServer(Arc<Shared>);

struct Shared {
    config: Config,
    /// How long a request that is not a watch may take, including its response.
    deadline: Duration,
    /// How long a request may take from then on: the process must end.
    end: SetOnce<Duration>,
    state: Mutex<State>,
    answers: watch::Sender<bool>,
    gate: Gate,
    requests: metrics::Requests,
    warnings: Warnings,
    #[cfg(feature = "plan")]
    plan: OnceLock<Plan>,
}

#[derive(Default)]
struct State {
    /// How often the connections have been abandoned.
    generation: u64,
    /// When the latest response, or part of one, arrived.
    last_answer: Option<Instant>,
    /// The time of the API server's clock in the latest response that had it, and when that arrived.
    date: Option<(Timestamp, Instant)>,
    /// When the first response arrived, or the first one after the last outage.
    answers_since: Option<Instant>,
    /// Since when requests have not been answered, and the latest reason.
    failing: Option<(Instant, String)>,
    /// The open watches, by a number of their own.
    watches: BTreeMap<u64, Watch>,
}

impl State {
    fn is_outage(&self) -> bool {
        let failing = self.failing.as_ref();
        failing.is_some_and(|(since, _)| since.elapsed() >= OUTAGE)
    }
}

struct Watch {
    last_seen: Instant,
    /// The watch must have ended or sent something within this time.
    bound: Duration,
}

impl ApiServer {
    /// Sends nothing yet. A request that is not a watch may take as long as `deadline`, including its
    /// response.
    pub(crate) fn with_deadline(mut config: Config, deadline: Duration) -> Self {
        config.default_retry = false;
        Self(Arc::new(Shared {
            config,
            deadline,
            end: SetOnce::new(),
            state: Mutex::default(),
            answers: watch::Sender::new(true),
            gate: Gate::default(),
            requests: metrics::Requests::default(),
            warnings: Warnings::default(),
            #[cfg(feature = "plan")]
            plan: OnceLock::new(),
        }))
    }

    /// Returns a client with its own connections, whose requests have deadlines. Its connections are served by the runtime
    /// of the caller.
    ///
    /// # Errors
    ///
    /// When the configuration is not usable.
    pub(crate) fn client(&self) -> kube::Result<Client> {
        let builder = ClientBuilder::try_from(self.0.config.clone())?;
        let threads = Handle::current();
        let requests = layer_fn(|connections| Requests {
            server: self.clone(),
            generation: self.lock().generation,
            connections,
            threads: threads.clone(),
        });
        let client = builder.with_layer(&requests).build();
        #[cfg(feature = "plan")]
        if let Some(plan) = self.plan() {
            return Ok(plan.client(client));
        }
        Ok(client)
    }

    /// Makes a plan: what later clients write is not written.
    #[cfg(feature = "plan")]
    pub(crate) fn only_plan(&self) {
        // An error means that it has one.
        let _ = self.0.plan.set(Plan::default());
    }

    /// The plan, if one is made.
    #[cfg(feature = "plan")]
    pub(crate) fn plan(&self) -> Option<&Plan> {
        self.0.plan.get()
    }

    /// The gate that each request must pass.
    pub(crate) fn gate(&self) -> Gate {
        self.0.gate.clone()
    }

    /// From now on, a request is given up if it is not answered within `time` after it was sent. Open watches continue.
    pub(crate) fn give_up_after(&self, time: Duration) {
        // An error means that this is so already.
        let _ = self.0.end.set(time);
    }

    /// Counts all requests.
    pub(crate) fn requests(&self) -> &metrics::Requests {
        &self.0.requests
    }

    /// What the API server warns of.
    pub(crate) fn warnings(&self) -> &Warnings {
        &self.0.warnings
    }

    /// Whether the latest requests were answered, or none has been sent yet.
    pub(crate) fn answers(&self) -> bool {
        *self.0.answers.borrow()
    }

    /// Waits until requests are answered, but no longer than `limit`.
    pub(crate) async fn answering(&self, limit: Duration) {
        let mut answers = self.0.answers.subscribe();
        let _ = timeout(limit, answers.wait_for(|answers| *answers)).await;
    }

    /// How long requests have been answered so far; zero during an outage.
    pub(crate) fn answering_for(&self) -> Duration {
        let state = self.lock();
        match (state.is_outage(), state.answers_since) {
            (false, Some(since)) => since.elapsed(),
            _ => Duration::ZERO,
        }
    }

    /// The time of the API server's clock, in whole seconds when a response arrives; `None` before the first one.
    pub(crate) fn time(&self) -> Option<Timestamp> {
        let (date, arrived) = self.lock().date?;
        let passed = SignedDuration::try_from(arrived.elapsed()).ok()?;
        date.checked_add(passed).ok()
    }

    /// How long a watch that is past its bound has been silent, if there is one.
    pub(crate) fn silent_watch(&self) -> Option<Duration> {
        let state = self.lock();
        let watches = state.watches.values();
        let silent = watches.filter(|watch| watch.last_seen.elapsed() > watch.bound + SLACK);
        silent.map(|watch| watch.last_seen.elapsed()).max()
    }

    /// Logs each outage, and polls with `client` until it is over. Never returns.
    pub(crate) async fn report_outages(&self, client: &Client) {
        let mut answers = self.0.answers.subscribe();
        let mut reported: Option<Instant> = None;
        loop {
            let Some((since, error)) = self.lock().failing.clone() else {
                if reported.take().is_some() {
                    tracing::info!("the API server answers again");
                }
                // No error: `self` keeps the channel open.
                let _ = answers.wait_for(|answers| !answers).await;
                continue;
            };
            // The response itself is recorded where it arrives.
            let _ = timeout(QUESTION * 5, ask_readiness(client)).await;
            let is_due = reported.is_none_or(|at| at.elapsed() >= REMINDER);
            if is_due && since.elapsed() >= OUTAGE && !self.answers() {
                let seconds = since.elapsed().as_secs();
                tracing::warn!(error, seconds, "the API server does not answer");
                reported = Some(Instant::now());
            }
            self.answering(QUESTION).await;
        }
    }

    /// Records a response, or part of one.
    fn answered(&self) {
        let mut state = self.lock();
        state.last_answer = Some(Instant::now());
        if state.is_outage() || state.answers_since.is_none() {
            state.answers_since = Some(Instant::now());
        }
        if state.failing.take().is_some() {
            self.0.answers.send_replace(true);
        }
    }

    /// Records the time of the API server's clock, if a response with these headers has it (RFC 9110, 6.6.1).
    fn dated(&self, headers: &HeaderMap) {
        let date = headers.get(DATE).and_then(|date| date.to_str().ok());
        let date = date.and_then(|date| rfc2822::parse(date).ok());
        if let Some(date) = date {
            self.lock().date = Some((date.timestamp(), Instant::now()));
        }
    }

    /// Records that a request got no response.
    fn failed(&self, reason: String) {
        let mut state = self.lock();
        let since = state.failing.as_ref().map(|(since, _)| *since);
        if since.is_none() {
            self.0.answers.send_replace(false);
        }
        state.failing = Some((since.unwrap_or_else(Instant::now), reason));
    }

    /// Abandons the connections of `generation`, one of which has gone silent.
    fn reconnect(&self, generation: u64) {
        let mut state = self.lock();
        if state.generation == generation {
            state.generation += 1;
        }
    }

    /// Whether a request may be sent.
    fn pass(&self) -> Result<(), Unanswered> {
        let is_open = self.0.gate.is_open();
        is_open.then_some(()).ok_or(Unanswered::NotLeading)
    }

    /// Waits until a request that was sent at `sent` must be given up, and returns why.
    async fn limit(self, sent: Instant, time: Duration) -> Unanswered {
        let at_the_end = async { sleep_until(sent + *self.0.end.wait().await).await };
        tokio::select! {
            () = at_the_end => Unanswered::AtTheEnd,
            () = sleep_until(sent + time) => Unanswered::InTime(time),
        }
    }

    /// Records that a request over the connections of `generation` was given up.
    fn given_up(&self, generation: u64, unanswered: Unanswered) {
        let Unanswered::InTime(time) = unanswered else {
            return;
        };
        let last_answer = self.lock().last_answer;
        if last_answer.is_none_or(|at| at.elapsed() >= time) {
            self.reconnect(generation);
        }
        self.failed(unanswered.to_string());
    }

    fn open_watch(&self, bound: Duration) -> u64 {
        let mut state = self.lock();
        let last = state.watches.last_key_value();
        let id = last.map_or(0, |(id, _)| id + 1);
        let last_seen = Instant::now();
        state.watches.insert(id, Watch { last_seen, bound });
        id
    }

    fn seen(&self, watch: u64) {
        self.answered();
        if let Some(watch) = self.lock().watches.get_mut(&watch) {
            watch.last_seen = Instant::now();
        }
    }

    /// Returns how long it has been silent.
    fn close_watch(&self, watch: u64) -> Duration {
        let watch = self.lock().watches.remove(&watch);
        watch.map_or(Duration::ZERO, |watch| watch.last_seen.elapsed())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.0.state)
    }
}

/// Marks the requests of the manager's caches. Other watches are read when their owner wants to, and dropped at any time,
/// which says nothing about their connection.
#[derive(Clone, Copy)]
pub(crate) struct OwnWatch;

/// The kind of response that a request expects, which decides its deadline.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    /// A response that ends by itself.
    Answer,
    /// A watch of a cache that ends after this time.
    Watch(Duration),
    /// Somebody else's watch.
    OtherWatch,
    /// A watch without end, a container log that is followed, or a connection into a container.
    Endless,
}

impl Kind {
    fn of<B>(request: &Request<B>) -> Self {
        let is_set = |name| matches!(parameter(request, name), Some("true" | "1"));
        if is_set("watch") && request.extensions().get::<OwnWatch>().is_none() {
            return Self::OtherWatch;
        }
        if is_set("watch") {
            let seconds = parameter(request, "timeoutSeconds");
            return match seconds.and_then(|seconds| seconds.parse().ok()) {
                Some(seconds) if seconds > 0 => Self::Watch(Duration::from_secs(seconds)),
                _ => Self::Endless,
            };
        }
        if is_set("follow") || request.headers().contains_key(UPGRADE) {
            return Self::Endless;
        }
        Self::Answer
    }

    /// How long the response may take to begin, if other requests may take as long as `deadline`.
    fn time_to_answer(self, deadline: Duration) -> Duration {
        match self {
            Self::Watch(_) | Self::OtherWatch => deadline.min(WATCH_BEGINS),
            Self::Answer | Self::Endless => deadline,
        }
    }
}

/// Whether a response says that the API server cannot be reached. The API server's own refusals are
/// JSON.
fn is_from_gateway<B>(response: &Response<B>) -> bool {
    matches!(response.status().as_u16(), 502..=504) && !is_json(response)
}

fn is_json<B>(response: &Response<B>) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE);
    content_type.is_some_and(|value| value.as_bytes().starts_with(b"application/json"))
}

/// Connections to the API server, including what kube adds to each request.
type Connections = BoxService<Request<Body>, Response<Box<DynBody>>, BoxError>;

/// Sends requests through the current connections.
struct Requests {
    server: ApiServer,
    /// The generation of `connections`.
    generation: u64,
    connections: Connections,
    /// Where connections are served. The caller's thread may be blocked by a reconcile, which would hold all requests over
    /// a connection that is served there.
    threads: Handle,
}

impl Requests {
    /// Replaces the connections if they were abandoned.
    fn renew(&mut self) {
        let generation = self.server.lock().generation;
        if mem::replace(&mut self.generation, generation) == generation {
            return;
        }
        match ClientBuilder::try_from(self.server.0.config.clone()) {
            Ok(builder) => {
                let current = Cell::from_mut(&mut self.connections);
                builder.with_layer(&layer_fn(|connections| current.set(connections)));
            }
            // It was usable before; perhaps a certificate file is being replaced.
            Err(error) => tracing::warn!(error = chain(&error), "could not reconnect"),
        }
    }
}

impl Service<Request<Body>> for Requests {
    type Response = Response<Bounded>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Bounded>, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.renew();
        self.connections.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let sent = Sent {
            server: self.server.clone(),
            generation: self.generation,
            kind: Kind::of(&request),
            is_named: request.extensions().get::<&'static str>().is_some(),
            method: metrics::method(request.method()),
            at: Instant::now(),
        };
        // On these threads, connections are opened, served and read. It begins before the caller is woken, who is then woken
        // once more, when there is something to read. Dropped, it is aborted.
        let mut task = JoinSet::new();
        let answer = sent.answer(self.connections.call(request));
        task.spawn_on(answer.in_current_span(), &self.threads);
        Box::pin(async move {
            let answer = task.join_next().await;
            answer.unwrap_or_else(|| Ok(Err("no request was sent".into())))?
        })
    }
}

/// A request that is sent.
struct Sent {
    server: ApiServer,
    /// The generation of its connection.
    generation: u64,
    kind: Kind,
    /// Whether it has a name for traces, as those of this crate and of `kube::Api`: others may stream what they answer.
    is_named: bool,
    method: &'static str,
    at: Instant,
}

impl Sent {
    /// The response, and the beginning of its body.
    async fn answer(
        self,
        answer: impl Future<Output = Result<Response<Box<DynBody>>, BoxError>>,
    ) -> Result<Response<Bounded>, BoxError> {
        let server = &self.server;
        let time = self.kind.time_to_answer(server.0.deadline);
        let mut limit = server.clone().limit(self.at, time).boxed();
        // Nothing happens between the check and the first poll, which sends it.
        server.pass()?;
        let answer = tokio::select! {
            biased;
            answer = answer => {
                match &answer {
                    Ok(response) if is_from_gateway(response) => {
                        server.failed(format!("{} from a gateway", response.status()));
                    }
                    Ok(response) => {
                        server.dated(response.headers());
                        server.warnings().note(self.method, response.headers());
                        server.answered();
                    }
                    // Without a token, the request was not sent.
                    Err(error) if error.is::<AuthError>() => {}
                    Err(error) => server.failed(chain(&**error)),
                }
                answer
            }
            unanswered = &mut limit => {
                server.given_up(self.generation, unanswered);
                Err(unanswered.into())
            }
        };
        let status = answer.as_ref().ok().map(Response::status);
        server.requests().count(self.method, status);
        let answer = throttled::as_status(answer?);
        let has_end = self.is_named || answer.headers().contains_key(CONTENT_LENGTH);
        let is_object = self.kind == Kind::Answer && is_json(&answer) && has_end;
        let mut answer = answer.map(|body| Bounded::new(self, limit, body));
        if is_object {
            answer.body_mut().read_ahead().await;
        }
        Ok(answer)
    }
}

/// How long a watch may be silent by default before it ends: less than a minute, so that changes hidden by a
/// dead connection are known within a minute. The server ends the watch a little earlier, which costs one
/// request.
pub(crate) const WATCH_SECONDS: u32 = 45;

/// Waits for `delay`, or, during an outage, until the API server answers again if that is sooner.
pub(crate) async fn pause(server: &ApiServer, delay: Duration) {
    if server.answers() {
        sleep(delay).await;
    } else {
        server.answering(delay).await;
    }
}

#[cfg(test)]
pub(crate) mod tests;
