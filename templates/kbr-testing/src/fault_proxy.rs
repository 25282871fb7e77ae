// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! A proxy between an operator and the API server, which disturbs the traffic that passes through
//! it.
//!
//! It speaks HTTP/1.1 without TLS to the operator, so that it can tell requests apart. A connection
//! carries one request at a time, and its requests go to the API server on separate connections.

mod faults;
mod passing;

use std::fmt::{self, Debug};
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::uri::Scheme;
use http::{StatusCode, Uri};
use kbr_runtime::internal::install_tls_provider;
use kube::Config;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::control_plane::LOOPBACK;
use super::server::report;
use super::{TestEnv, TestEnvError, thread};
use faults::{Fault, Faults};
use passing::accept;
#[cfg(feature = "crash")]
pub(super) use passing::refusal;

/// A proxy through which an operator reaches the API server, and which fails when a test says so.
///
/// Give [`FaultProxy::config`] to a [`Manager`](kbr_runtime::Manager::with_config) or a client, or
/// [`FaultProxy::kubeconfig`] to a process. Other clients, such as [`TestEnv::admin`], are not
/// affected. Dropping the proxy closes all connections.
///
/// A fault lasts until [`FaultProxy::heal`]. If several faults match a request, the first one applies. A
/// predicate is called once for each request that arrives, and once for each that is in progress when
/// the fault begins; it must not call the proxy.
///
/// Connections cannot be upgraded, so there is no `exec` and no port forwarding.
///
/// ```no_run
/// use kbr_testing::{FaultProxy, TestEnv, TestEnvError};
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
    /// [`TestEnvError::Proxy`] when the operating system provides no port or no thread.
    pub fn start(env: &TestEnv) -> Result<Self, TestEnvError> {
        install_tls_provider();
        Self::in_front_of(env.admin_config()).map_err(TestEnvError::Proxy)
    }

    /// Uses the URL and the certificate to trust of `server`, but no credentials.
    fn in_front_of(server: Config) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((LOOPBACK, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let faults = Arc::new(Faults::default());
        let (stop, stopped) = oneshot::channel();
        let accepting = Arc::clone(&faults);
        let run = async move || {
            tokio::select! {
                _ = stopped => {}
                error = accept(listener, server, accepting) => {
                    report(&format!("the fault proxy failed: {error:?}"));
                }
            }
        };
        thread::spawn("fault-proxy", run)?;
        Ok(Self {
            address,
            faults,
            _stop: stop,
        })
    }

    /// The same client configuration, but through this proxy. Tokens are passed on; a client certificate
    /// is not, since the connection to the proxy has no TLS.
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

    /// Writes a copy of the kubeconfig at `path`, next to it, whose clusters are reached through this
    /// proxy, and returns the path of the copy. Like [`FaultProxy::config`], but for a process.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Folder`] when it cannot be read or written, and [`TestEnvError::Kubeconfig`] when
    /// it is not YAML.
    pub fn kubeconfig(&self, path: &Path) -> Result<PathBuf, TestEnvError> {
        let name = path.file_name().unwrap_or_default().display();
        let copy = path.with_file_name(format!("{name}.fault-proxy-{}", self.address.port()));
        write_kubeconfig(path, &copy, &format!("http://{}", self.address))?;
        Ok(copy)
    }

    /// Swallows everything, like a network that drops all packets: nothing is passed on in either
    /// direction, and no connection is closed. New connections are accepted and swallowed too.
    ///
    /// A connection that was swallowed never recovers. After [`FaultProxy::heal`], only new ones work.
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

    /// Swallows the responses to the requests for which `matching` is true: the API server receives and
    /// carries out the request, and the connection stays open without a response.
    pub fn lose_answers(&self, matching: impl Fn(&ProxiedRequest) -> bool + Send + Sync + 'static) {
        self.faults.inject(matching, Fault::LoseAnswer);
    }

    /// Answers the requests for which `matching` is true instead of the API server, with this status code
    /// and a `Status` object with the corresponding reason. `retry_after` becomes the header
    /// `Retry-After`, in whole seconds. Requests that are already in progress are answered by the API
    /// server.
    ///
    /// # Panics
    ///
    /// When `code` is not a status code: below 100 or above 999.
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

    /// Closes each new connection at once. Existing connections stay open; [`FaultProxy::cut`]
    /// closes them.
    pub fn refuse_connections(&self) {
        self.faults.lock().closes_connections = true;
    }

    /// Closes all connections, once.
    pub fn cut(&self) {
        for line in self.faults.lock().lines() {
            line.cut.notify_one();
        }
    }

    /// Closes the connections of the requests in progress for which `matching` is true, once.
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

    /// How many requests have met a fault since the proxy started, including those that were in
    /// progress when the fault began. Requests on new connections in a [`FaultProxy::black_hole`]
    /// are counted, too.
    #[must_use]
    pub fn hits(&self) -> usize {
        self.faults.lock().hits
    }
}

/// Writes a copy of the kubeconfig at `path`, whose clusters are reached at the URL `server`, without TLS.
///
/// # Errors
///
/// [`TestEnvError::Folder`] and [`TestEnvError::Kubeconfig`].
pub(super) fn write_kubeconfig(path: &Path, copy: &Path, server: &str) -> Result<(), TestEnvError> {
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
        cluster["cluster"] = json!({ "server": server });
    }
    // JSON is YAML.
    let written = fs::write(copy, format!("{kubeconfig:#}\n"));
    written.map_err(|source| folder(copy, source))
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
    /// The part after the `?`, if there is one.
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

#[cfg(test)]
mod tests;
