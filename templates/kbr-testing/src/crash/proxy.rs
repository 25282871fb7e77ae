// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The proxy between the operator of one run and the API server. It writes down what the operator asks for, lets one
//! fault happen, and hides all namespaces but that of the run.
//!
//! A [`FaultProxy`](crate::FaultProxy) does what a test tells it to at any time. Here it is known before the run begins
//! what must happen, and requests are read to their end, since what they are about is in their bodies.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use http::header::{ACCEPT_ENCODING, CONTENT_LENGTH};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Method, Request, Response, StatusCode, Uri};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::Connect;
use hyper_util::rt::TokioExecutor;
use kbr_runtime::internal::Target;
use kube::Config;
use kube::client::ConfigExt;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep};

use super::life::{Lives, origin};
use super::moment::{Asked, Fault, Moment, made_up};
use super::predecessor::write_before;
use crate::TestEnvError;
use crate::control_plane::PAUSE;
use crate::fault_proxy::refusal;
use crate::http_proxy::{self, Error, accept, whole};

/// For how long caches lag.
const LAG: Duration = Duration::from_secs(1);

/// How long a process that has taken over must have sent nothing, so that it has done its part.
const ITS_PART: Duration = Duration::from_millis(300);

/// How long its part may take.
const LONGEST_PART: Duration = Duration::from_secs(15);

/// Resources, as group and plural.
pub(super) type Resources = BTreeSet<(String, String)>;

/// A proxy. Dropping it closes all connections.
pub(super) struct Proxy {
    pub(super) tap: Arc<Tap>,
    _serving: JoinSet<()>,
}

impl Proxy {
    /// Starts a proxy in front of `server`, without credentials of its own. It runs on the caller's event loop.
    pub(super) fn start(listener: TcpListener, server: &Config, tap: Tap) -> kube::Result<Self> {
        let client = Client::builder(TokioExecutor::new()).build(server.rustls_https_connector()?);
        let (tap, mut serving) = (Arc::new(tap), JoinSet::new());
        let answering = Arc::clone(&tap);
        serving.spawn(accept(listener, move |request| {
            let (tap, client) = (Arc::clone(&answering), client.clone());
            async move { tap.pass(request, &client).await }
        }));
        Ok(Self {
            tap,
            _serving: serving,
        })
    }
}

/// What a proxy does with each request, and what has passed.
pub(super) struct Tap {
    pub(super) server: Uri,
    pub(super) shown: Shown,
    /// The resources whose objects are in namespaces.
    pub(super) namespaced: Arc<Resources>,
    pub(super) planned: Option<(Moment, Fault)>,
    /// Whether the controllers take over what another field manager has written in objects that they apply.
    pub(super) takes_over: bool,
    pub(super) admin: kube::Client,
    pub(super) lives: Lives,
    pub(super) seen: Mutex<Seen>,
}

/// Which objects the operator sees.
#[derive(Clone, Debug)]
pub(super) enum Shown {
    All,
    /// Those in this namespace, and those that are in none.
    In(String),
    /// None, but those in this namespace, which is empty.
    Nothing(String),
}

#[derive(Default)]
pub(super) struct Seen {
    /// The requests in their order, each with its path.
    requests: Vec<(Moment, String)>,
    counts: BTreeMap<Asked, usize>,
    /// The names that the API server has made up, and what stands for them.
    made_up: BTreeMap<String, String>,
    /// A line for each write, with its answer.
    pub(super) lines: Vec<String>,
    /// Whether the operator reconciles everything again, so that what it writes is no part of the scenario.
    pub(super) is_again: bool,
    /// Whether the fault has happened.
    pub(super) is_hit: bool,
    underway: usize,
    /// Whether a former process waits to be answered.
    is_held: bool,
    /// Until when no watch shows anything new.
    lag: Option<Instant>,
    /// When the latest request other than a watch has begun or ended, or a watch has begun.
    latest: Option<Instant>,
    /// The resources that the present life watches.
    watched: BTreeSet<String>,
    /// Those that an earlier life has watched.
    watched_before: BTreeSet<String>,
}

impl Seen {
    /// Something happens now; what happens at a later time that is already known counts more.
    fn touch(&mut self) {
        self.latest = self.latest.max(Some(Instant::now()));
    }

    /// The requests at which something can go wrong, in their order: not the lists that watches begin with.
    pub(super) fn moments(&self) -> Vec<Moment> {
        let is_watched =
            |path: &String| self.watched.contains(path) || self.watched_before.contains(path);
        let moments = self.requests.iter().filter(|(_, path)| !is_watched(path));
        moments.map(|(moment, _)| moment.clone()).collect()
    }
}

impl Tap {
    pub(super) fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a process of the operator.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Folder`], [`TestEnvError::Kubeconfig`] and [`TestEnvError::Start`].
    pub(super) fn begin_life(&self) -> Result<(), TestEnvError> {
        self.lives.begin()?;
        let mut seen = self.lock();
        let watched = std::mem::take(&mut seen.watched);
        seen.watched_before.extend(watched);
        seen.touch();
        Ok(())
    }

    /// For how long the operator, whose watches have all begun, has sent nothing and waited for no answer; zero if
    /// they have not.
    pub(super) fn quiet_for(&self) -> Duration {
        // Not in the condition itself, which would hold the lock.
        let is_held = self.lock().is_held;
        if is_held {
            return Duration::ZERO;
        }
        self.quiet_beside_former()
    }

    /// The same without a former process, which waits to be answered.
    fn quiet_beside_former(&self) -> Duration {
        let seen = self.lock();
        let is_watching =
            !seen.watched.is_empty() && seen.watched.is_superset(&seen.watched_before);
        match seen.latest {
            Some(latest) if is_watching && seen.underway == usize::from(seen.is_held) => {
                latest.elapsed()
            }
            _ => Duration::ZERO,
        }
    }

    /// Something outside of the operator has changed, so that it is not known to be quiet.
    pub(super) fn disturb(&self) {
        self.lock().touch();
    }

    /// Passes a request on to the API server, and returns the response. An error closes the connection.
    async fn pass<C>(
        self: &Arc<Self>,
        request: Request<Incoming>,
        client: &Client<C, Flow>,
    ) -> Result<Response<Flow>, Error>
    where
        C: Connect + Clone + Send + Sync + 'static,
    {
        let (mut head, body) = request.into_parts();
        let path = head.uri.to_string();
        let (process, path) = origin(&path).ok_or("a request without the number of its process")?;
        head.uri = path.parse()?;
        let mut body = whole(body).await?;
        if process != self.lives.number() {
            return Err("another process has taken over".into());
        }
        if is_watch(&head) {
            self.lock().watched.insert(head.uri.path().to_owned());
            self.disturb();
            let answer = self.send(head, body, client).await?;
            let tap = Arc::clone(self);
            return Ok(answer.map(|body| {
                Flow::Stream(Watch {
                    body,
                    tap,
                    pause: None,
                })
            }));
        }
        let underway = Underway::begin(self);
        let (moment, fault) = self.note(&head, &body);
        if let Some((code, retry_after)) = fault.and_then(Fault::refusal) {
            self.write_down(&moment, code);
            return Ok(refusal(code, retry_after).map(|text| Flow::Whole(Some(text))));
        }
        if fault == Some(Fault::DiesBefore) {
            self.lives.kill();
            return Err("the process is dead".into());
        }
        if fault == Some(Fault::CachesLag) {
            let mut seen = self.lock();
            let until = Instant::now() + LAG;
            (seen.lag, seen.latest) = (Some(until), Some(until));
        }
        if fault == Some(Fault::WrittenBefore) {
            body = write_before(&self.admin, head.uri.path(), &body).await?;
            head.headers.remove(CONTENT_LENGTH);
        }
        let former = (fault == Some(Fault::NewLeader)).then(|| Former::hold(self));
        if former.is_some() {
            self.take_over().await?;
        }
        // A compressed answer could not be read here.
        head.headers.remove(ACCEPT_ENCODING);
        let (head, answer) = self.send(head, body, client).await?.into_parts();
        let answer = whole(answer).await?;
        self.learn(&moment, &answer);
        self.write_down(&moment, head.status);
        drop(underway);
        match fault {
            Some(Fault::AnswerLost) => Err("the answer is lost".into()),
            Some(Fault::NewLeader) => Err("the process is dead".into()),
            Some(Fault::DiesAfter) => {
                self.lives.kill();
                Err("the process is dead".into())
            }
            _ => Ok(Response::from_parts(head, Flow::Whole(Some(answer)))),
        }
    }

    /// Starts another process beside the one whose request has just arrived, and waits until it has done its part.
    async fn take_over(&self) -> Result<(), TestEnvError> {
        self.begin_life()?;
        // It has then sent nothing else for a while, so one request is that of the former process.
        let start = Instant::now();
        while self.quiet_beside_former() < ITS_PART && start.elapsed() < LONGEST_PART {
            sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Writes down how a request was answered, if it is a write or the fault happened there.
    fn write_down(&self, moment: &Option<Moment>, code: StatusCode) {
        let Some(moment) = moment else { return };
        let planned = self.planned.as_ref();
        let is_planned = planned.is_some_and(|(planned, _)| planned == moment);
        if moment.what.is_read() && !is_planned {
            return;
        }
        let mark = if is_planned {
            ", at which the fault happened"
        } else {
            ""
        };
        let line = format!("{moment}: {}{mark}", code.as_u16());
        self.lock().lines.push(line);
    }

    /// Writes down a request, and returns it with the fault that must happen now.
    fn note(&self, head: &Parts, body: &[u8]) -> (Option<Moment>, Option<Fault>) {
        let mut seen = self.lock();
        if seen.is_again {
            return (None, None);
        }
        let known = |name: &str| seen.made_up.get(name).cloned();
        let Some(what) = Asked::of(head, body, known) else {
            return (None, None);
        };
        let count = seen.counts.entry(what.clone()).or_default();
        *count += 1;
        let nth = *count;
        // A process takes an object over before its first apply of it.
        let children = self.takes_over && nth == 1;
        let moment = Moment {
            what,
            nth,
            takes_over: Asked::takes_over(head, children),
        };
        let path = head.uri.path().to_owned();
        seen.requests.push((moment.clone(), path));
        let planned = self.planned.as_ref();
        let fault = planned
            .filter(|(planned, _)| *planned == moment)
            .map(|(_, fault)| *fault);
        seen.is_hit |= fault.is_some();
        (Some(moment), fault)
    }

    /// Remembers the name that the API server has made up for an object.
    fn learn(&self, moment: &Option<Moment>, answer: &[u8]) {
        if moment.as_ref().is_none_or(|moment| moment.what.is_read()) {
            return;
        }
        let object: Value = serde_json::from_slice(answer).unwrap_or_default();
        let metadata = &object["metadata"];
        if let (Some(start), Some(name)) =
            (metadata["generateName"].as_str(), metadata["name"].as_str())
        {
            let made_up = made_up(start);
            self.lock().made_up.insert(name.to_owned(), made_up);
        }
    }

    async fn send<C>(
        &self,
        mut head: Parts,
        body: Bytes,
        client: &Client<C, Flow>,
    ) -> Result<Response<Incoming>, Error>
    where
        C: Connect + Clone + Send + Sync + 'static,
    {
        let mut uri = self.server.clone().into_parts();
        uri.path_and_query = Some(self.path(&head)?);
        head.uri = Uri::from_parts(uri)?;
        let request = Request::from_parts(head, Flow::Whole(Some(body)));
        Ok(client.request(request).await?)
    }

    /// Where the API server is asked: only for objects that are shown.
    fn path(&self, head: &Parts) -> Result<PathAndQuery, Error> {
        let path = head.uri.path_and_query().cloned();
        let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
        let Some(target) = Target::of(path.path()).filter(|_| head.method == Method::GET) else {
            return Ok(path);
        };
        if target.namespace.is_some() || target.name.is_some() {
            return Ok(path);
        }
        let (root, resource) = (target.root, (target.group, target.resource));
        let is_namespaced = self.namespaced.contains(&resource);
        let (plural, query) = (resource.1, path.query().unwrap_or_default());
        Ok(match &self.shown {
            Shown::In(namespace) | Shown::Nothing(namespace) if is_namespaced => {
                format!("{root}/namespaces/{namespace}/{plural}?{query}").parse()?
            }
            // No object can have this name.
            Shown::Nothing(_) => {
                format!("{root}/{plural}?fieldSelector=metadata.name%3D_&{query}").parse()?
            }
            Shown::All | Shown::In(_) => path,
        })
    }
}

fn is_watch(head: &Parts) -> bool {
    let mut parameters = head.uri.query().unwrap_or_default().split('&');
    head.method == Method::GET && parameters.any(|one| matches!(one, "watch=true" | "watch=1"))
}

/// A request that is not answered yet.
struct Underway<'a>(&'a Tap);

impl<'a> Underway<'a> {
    fn begin(tap: &'a Tap) -> Self {
        tap.lock().underway += 1;
        Self(tap)
    }
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        let mut seen = self.0.lock();
        seen.underway -= 1;
        seen.touch();
    }
}

/// A process that waits to be answered although another one has taken over. It is killed when this is dropped.
struct Former<'a>(&'a Tap);

impl<'a> Former<'a> {
    fn hold(tap: &'a Tap) -> Self {
        tap.lock().is_held = true;
        Self(tap)
    }
}

impl Drop for Former<'_> {
    fn drop(&mut self) {
        self.0.lives.kill_former();
        let mut seen = self.0.lock();
        seen.is_held = false;
        seen.touch();
    }
}

type Flow = http_proxy::Flow<Watch>;

/// The body of a watch in transit.
pub(super) struct Watch {
    body: Incoming,
    tap: Arc<Tap>,
    /// While nothing new is shown.
    pause: Option<Pin<Box<Sleep>>>,
}

impl Body for Watch {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        loop {
            if let Some(waiting) = &mut this.pause {
                ready!(waiting.as_mut().poll(context));
                this.pause = None;
            }
            let lag = this.tap.lock().lag;
            let left = lag.map(|until| until.saturating_duration_since(Instant::now()));
            match left.filter(|left| !left.is_zero()) {
                Some(left) => this.pause = Some(Box::pin(sleep(left))),
                None => return Pin::new(&mut this.body).poll_frame(context),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
