// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! A proxy between an operator and the API server, which disturbs what passes through it.
//!
//! It speaks HTTP/1.1 without TLS to the operator, so that it can tell requests apart. A connection
//! has one request at a time, and its requests go to the API server on connections of their own.

use std::fmt::{self, Debug};
use std::fs;
use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::request::Parts;
use http::uri::{PathAndQuery, Scheme};
use http::{Request, Response, StatusCode, Uri};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy::connect::Connect;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::Config;
use kube::client::ConfigExt;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};

use super::control_plane::LOOPBACK;
use super::{TestEnv, TestEnvError};

/// A proxy that an operator reaches the API server through, and that fails when a test says so.
///
/// Give [`FaultProxy::config`] to a [`Manager`](crate::Manager::with_config) or a client, or
/// [`FaultProxy::kubeconfig`] to a process. Other clients, such as [`TestEnv::admin`], are not
/// disturbed. Dropping the proxy closes all connections.
///
/// A fault lasts until [`FaultProxy::heal`]. Where several of them fit a request, the first one counts.
/// A predicate is asked once for each request that arrives, and once for each that is under way when the
/// fault begins; it must not call the proxy.
///
/// Connections cannot be upgraded, so there is no `exec` and no port forwarding.
///
/// ```no_run
/// use kbr_runtime::testing::{FaultProxy, TestEnv, TestEnvError};
///
/// # fn example() -> Result<(), TestEnvError> {
/// let env = TestEnv::start(env!("CARGO_MANIFEST_DIR"))?;
/// let faults = FaultProxy::start(&env)?;
/// let client = kube::Client::try_from(faults.config(env.manager_config()));
///
/// // No Job can be created, and all watches fall silent.
/// faults.refuse(
///     |request| request.method == "POST" && request.path.ends_with("/jobs"),
///     429,
///     None,
/// );
/// faults.black_hole_requests(|request| request.is_watch);
///
/// faults.heal();
/// # Ok(())
/// # }
/// ```
pub struct FaultProxy {
    address: SocketAddr,
    faults: Arc<Faults>,
    /// Dropping it ends the thread.
    _stop: oneshot::Sender<()>,
}

impl FaultProxy {
    /// Starts a proxy in front of the API server of `env`, on a free port of loopback. It runs on its own
    /// thread.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Proxy`] when the operating system gives no port or no thread.
    pub fn start(env: &TestEnv) -> Result<Self, TestEnvError> {
        crate::client::install_tls_provider();
        Self::in_front_of(env.admin_config()).map_err(TestEnvError::Proxy)
    }

    /// Of `server`, the URL and the certificate to trust are used, and no credentials.
    fn in_front_of(server: Config) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((LOOPBACK, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let faults = Arc::new(Faults::default());
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let accepting = Arc::clone(&faults);
        let run = move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    error = accept(listener, server, accepting) => {
                        super::server::report(&format!("the fault proxy failed: {error:?}"));
                    }
                }
            });
        };
        std::thread::Builder::new()
            .name("fault-proxy".to_owned())
            .spawn(run)?;
        Ok(Self {
            address,
            faults,
            _stop: stop,
        })
    }

    /// The same client configuration, but through this proxy. Tokens are passed on; a client certificate
    /// is not, since there is no TLS to the proxy.
    #[must_use]
    pub fn config(&self, mut config: Config) -> Config {
        let uri = Uri::builder().scheme(Scheme::HTTP);
        let uri = uri.authority(self.address.to_string()).path_and_query("/");
        config.cluster_url = uri.build().unwrap_or_default();
        config.root_cert = None;
        config.root_cert_file = None;
        config.tls_server_name = None;
        config.proxy_url = None;
        config
    }

    /// Writes a copy of the kubeconfig at `path` beside it whose clusters are reached through this proxy,
    /// and returns the copy's path. As [`FaultProxy::config`], but for a process.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Folder`] when it cannot be read or written, and [`TestEnvError::Kubeconfig`] when
    /// it is not YAML.
    pub fn kubeconfig(&self, path: &Path) -> Result<PathBuf, TestEnvError> {
        let folder = |path: &Path, source| TestEnvError::Folder {
            path: path.to_owned(),
            source,
        };
        let text = fs::read_to_string(path).map_err(|source| folder(path, source))?;
        let kubeconfig = serde_saphyr::from_str::<Value>(&text);
        let mut kubeconfig = kubeconfig.map_err(|error| TestEnvError::Kubeconfig {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
        let clusters = kubeconfig["clusters"].as_array_mut();
        for cluster in clusters.into_iter().flatten() {
            cluster["cluster"] = json!({ "server": format!("http://{}", self.address) });
        }
        let name = path.file_name().unwrap_or_default().display();
        let copy = path.with_file_name(format!("{name}.fault-proxy-{}", self.address.port()));
        // JSON is YAML.
        let written = fs::write(&copy, format!("{kubeconfig:#}\n"));
        written.map_err(|source| folder(&copy, source))?;
        Ok(copy)
    }

    /// Swallows everything, as a network does that drops all packets: nothing is passed on in either
    /// direction, and no connection is closed. New connections are accepted and swallowed too.
    ///
    /// A connection that was in the hole never recovers. After [`FaultProxy::heal`], only new ones work.
    pub fn black_hole(&self) {
        let mut state = self.faults.lock();
        state.swallows_connections = true;
        for line in state.lines() {
            line.fall_silent();
            state.hits += usize::from(line.request().is_some());
        }
    }

    /// Swallows the requests for which `matching` is true, and the connections that they are on, as
    /// [`FaultProxy::black_hole`] does.
    pub fn black_hole_requests(
        &self,
        matching: impl Fn(&ProxiedRequest) -> bool + Send + Sync + 'static,
    ) {
        self.faults.inject(matching, Fault::BlackHole);
    }

    /// Swallows the answers to the requests for which `matching` is true: the API server gets and carries
    /// out the request, and the connection stays open in silence.
    pub fn lose_answers(&self, matching: impl Fn(&ProxiedRequest) -> bool + Send + Sync + 'static) {
        self.faults.inject(matching, Fault::LoseAnswer);
    }

    /// Answers the requests for which `matching` is true in place of the API server, with that status code
    /// and a `Status` object of the reason that belongs to it. `retry_after` becomes the header
    /// `Retry-After`, in whole seconds. What is under way already is answered by the API server.
    ///
    /// # Panics
    ///
    /// When `code` is no status code: below 100 or above 999.
    pub fn refuse(
        &self,
        matching: impl Fn(&ProxiedRequest) -> bool + Send + Sync + 'static,
        code: u16,
        retry_after: Option<Duration>,
    ) {
        let code = StatusCode::from_u16(code);
        let code = code.unwrap_or_else(|error| panic!("{error}"));
        self.faults
            .inject(matching, Fault::Refuse { code, retry_after });
    }

    /// Closes each new connection at once. Those that exist stay; [`FaultProxy::cut`] closes them.
    pub fn refuse_connections(&self) {
        self.faults.lock().closes_connections = true;
    }

    /// Closes all connections, once.
    pub fn cut(&self) {
        for line in self.faults.lock().lines() {
            line.cut.notify_one();
        }
    }

    /// Closes the connections of the requests that are under way and for which `matching` is true, once.
    pub fn cut_requests(&self, matching: impl Fn(&ProxiedRequest) -> bool + Send + Sync + 'static) {
        for line in self.faults.lock().lines() {
            if line.request().as_ref().is_some_and(&matching) {
                line.cut.notify_one();
            }
        }
    }

    /// Ends all faults. Connections that were swallowed stay as they are.
    pub fn heal(&self) {
        let mut state = self.faults.lock();
        state.rules.clear();
        state.swallows_connections = false;
        state.closes_connections = false;
    }

    /// How many requests have met a fault since the start, those that were under way when it began
    /// included. Requests on new connections in a [`FaultProxy::black_hole`] are counted, too.
    #[must_use]
    pub fn hits(&self) -> usize {
        self.faults.lock().hits
    }
}

impl Debug for FaultProxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("FaultProxy");
        debug
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// A request that passes through a [`FaultProxy`].
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ProxiedRequest {
    /// The HTTP method in upper case, such as `POST`.
    pub method: String,
    /// The path, such as `/apis/batch/v1/namespaces/default/jobs`.
    pub path: String,
    /// What stands behind the `?`, if anything.
    pub query: String,
    /// Whether it asks for a watch.
    pub is_watch: bool,
}

impl ProxiedRequest {
    fn of(head: &Parts) -> Self {
        let query = head.uri.query().unwrap_or_default();
        let mut parameters = query.split('&');
        Self {
            method: head.method.to_string(),
            path: head.uri.path().to_owned(),
            query: query.to_owned(),
            is_watch: parameters.any(|one| matches!(one, "watch=true" | "watch=1")),
        }
    }
}

type Predicate = Box<dyn Fn(&ProxiedRequest) -> bool + Send + Sync>;

#[derive(Default)]
struct Faults(Mutex<State>);

#[derive(Default)]
struct State {
    rules: Vec<(Predicate, Fault)>,
    swallows_connections: bool,
    closes_connections: bool,
    lines: Vec<Weak<Line>>,
    hits: usize,
}

#[derive(Clone, Copy)]
enum Fault {
    BlackHole,
    LoseAnswer,
    Refuse {
        code: StatusCode,
        retry_after: Option<Duration>,
    },
}

/// A connection from the operator.
#[derive(Default)]
struct Line {
    /// What it sends is swallowed.
    is_deaf: AtomicBool,
    /// What it should get is swallowed.
    is_mute: AtomicBool,
    cut: Notify,
    /// What is under way.
    request: Mutex<Option<ProxiedRequest>>,
}

impl Faults {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn inject(
        &self,
        matching: impl Fn(&ProxiedRequest) -> bool + Send + Sync + 'static,
        fault: Fault,
    ) {
        let mut state = self.lock();
        for line in state.lines() {
            if line.request().as_ref().is_some_and(&matching) {
                state.hits += usize::from(line.suffer(fault));
            }
        }
        state.rules.push((Box::new(matching), fault));
    }

    /// Notes a request that arrives on `line`, and returns the fault that it meets.
    fn meet(&self, line: &Line, request: ProxiedRequest) -> Option<Fault> {
        let mut state = self.lock();
        let mut rules = state.rules.iter();
        let rule = rules.find(|(matching, _)| matching(&request));
        let fault = rule.map(|(_, fault)| *fault);
        if let Some(fault) = fault {
            line.suffer(fault);
        }
        if fault.is_some() || line.is_deaf() {
            state.hits += 1;
        }
        *line.request() = Some(request);
        fault
    }

    /// A new connection, unless it is to be closed.
    fn connect(&self) -> Option<Arc<Line>> {
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
    fn lines(&self) -> Vec<Arc<Line>> {
        self.lines.iter().filter_map(Weak::upgrade).collect()
    }
}

impl Line {
    fn request(&self) -> MutexGuard<'_, Option<ProxiedRequest>> {
        self.request.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fall_silent(&self) {
        self.is_deaf.store(true, Ordering::Relaxed);
        self.is_mute.store(true, Ordering::Relaxed);
    }

    /// Returns whether the fault concerns a request that is under way.
    fn suffer(&self, fault: Fault) -> bool {
        match fault {
            Fault::BlackHole => self.fall_silent(),
            Fault::LoseAnswer => self.is_mute.store(true, Ordering::Relaxed),
            Fault::Refuse { .. } => return false,
        }
        true
    }

    fn is_deaf(&self) -> bool {
        self.is_deaf.load(Ordering::Relaxed)
    }

    fn is_mute(&self) -> bool {
        self.is_mute.load(Ordering::Relaxed)
    }
}

/// Serves connections until the port fails.
async fn accept(
    listener: std::net::TcpListener,
    server: Config,
    faults: Arc<Faults>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        if let Some(line) = faults.connect() {
            tokio::spawn(serve(stream, line, server.clone(), Arc::clone(&faults)));
        }
    }
}

/// Serves one connection until either side closes it.
async fn serve(stream: TcpStream, line: Arc<Line>, server: Config, faults: Arc<Faults>) {
    // Small events of a watch must not wait for each other.
    let _ = stream.set_nodelay(true);
    let connector = match server.rustls_https_connector() {
        Ok(connector) => connector,
        Err(error) => return super::server::report(&format!("the fault proxy: {error}")),
    };
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let pass = |request| pass(request, &line, &faults, &client, &server.cluster_url);
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(pass));
    tokio::select! {
        // An error is that of either side, which has gone.
        _ = connection => {}
        () = line.cut.notified() => {}
    }
}

/// Passes a request on to the API server, and returns its answer. An error closes the connection.
async fn pass<C>(
    request: Request<Incoming>,
    line: &Arc<Line>,
    faults: &Faults,
    client: &Client<C, Passing>,
    server: &Uri,
) -> Result<Response<Passing>, Error>
where
    C: Connect + Clone + Send + Sync + 'static,
{
    let (mut parts, body) = request.into_parts();
    let head = ProxiedRequest::of(&parts);
    let underway = Underway(Arc::clone(line));
    if let Some(Fault::Refuse { code, retry_after }) = faults.meet(line, head) {
        return Ok(refusal(code, retry_after));
    }
    if line.is_deaf() {
        return pending().await;
    }
    let mut uri = server.clone().into_parts();
    let path = parts.uri.path_and_query().cloned();
    uri.path_and_query = path.or(Some(PathAndQuery::from_static("/")));
    parts.uri = Uri::from_parts(uri).unwrap_or_default();
    let body = Passing::Up(body, Arc::clone(line));
    let answer = client.request(Request::from_parts(parts, body)).await;
    if line.is_mute() {
        return pending().await;
    }
    Ok(answer?.map(|body| Passing::Down(body, underway)))
}

fn refusal(code: StatusCode, retry_after: Option<Duration>) -> Response<Passing> {
    let seconds = retry_after.map(|after| after.as_secs());
    let reason = code.canonical_reason().unwrap_or_default().replace(' ', "");
    let status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "refused by the fault proxy",
        "reason": reason,
        "details": { "retryAfterSeconds": seconds },
        "code": code.as_u16(),
    });
    let mut response = Response::new(Passing::Own(Some(status.to_string().into())));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        http::HeaderValue::from_static("application/json"),
    );
    if let Some(seconds) = seconds {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// Ends with the request that is under way.
struct Underway(Arc<Line>);

impl Drop for Underway {
    fn drop(&mut self) {
        *self.0.request() = None;
    }
}

/// A body on its way, which stops where its connection falls silent.
enum Passing {
    /// To the API server.
    Up(Incoming, Arc<Line>),
    /// To the operator.
    Down(Incoming, Underway),
    /// The proxy's own.
    Own(Option<Bytes>),
}

impl Body for Passing {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let (frame, is_silent) = match self.get_mut() {
            Self::Up(body, line) => (Pin::new(body).poll_frame(context), line.is_deaf()),
            Self::Down(body, Underway(line)) => {
                (Pin::new(body).poll_frame(context), line.is_mute())
            }
            Self::Own(text) => return Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
        };
        // Nobody wakes this again, and nobody needs to: such a connection stays silent.
        if is_silent { Poll::Pending } else { frame }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Up(body, _) | Self::Down(body, _) => body.is_end_stream(),
            Self::Own(text) => text.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Up(body, _) | Self::Down(body, _) => body.size_hint(),
            Self::Own(text) => SizeHint::with_exact(text.as_ref().map_or(0, Bytes::len) as u64),
        }
    }
}
