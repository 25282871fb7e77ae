// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Serves `/metrics` and `/log-level` over HTTPS, to users whose role allows it, on its own thread.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::response::IntoResponse;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use kube::Config;
use rustls::ServerConfig;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Metrics;
use super::access::Access;
#[cfg(feature = "native-histograms")]
use super::native;
use crate::certificate::{Certificate, Files};
use crate::chain::chain;
use crate::http_server::{self, Limits};
use crate::logging;
use crate::thread::Thread;
use crate::{Flags, ManagerError};

/// The OpenMetrics text format, which Prometheus supports since 2.5.
const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Maximum length of a log level, in bytes.
const LONGEST_LEVEL: usize = 1024;

/// There are a few scrapers, with a connection each.
const LIMITS: Limits = Limits {
    connections: 100,
    memory: 0,
    reserve: 0,
    handshake: Duration::from_secs(10),
    // A scraper returns within a minute or two.
    idle: Duration::from_secs(180),
    answer: Duration::from_secs(10),
    drain: Duration::from_secs(1),
};

/// The metrics server, unless it is off.
pub(crate) struct Server(Option<Running>);

struct Running {
    thread: Thread,
    /// Also stops the server when it is dropped.
    stop: DropGuard,
}

impl Server {
    /// Serves `metrics` according to `flags`, and asks the API server of `config` who may read them.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Flag`] without a usable certificate, [`ManagerError::Listen`],
    /// [`ManagerError::Client`] or [`ManagerError::Thread`].
    pub(crate) fn start(
        flags: &Flags,
        config: &Config,
        metrics: &Metrics,
    ) -> Result<Self, ManagerError> {
        let address = &flags.metrics_bind_address;
        let listener = address.listen().map_err(|source| ManagerError::Listen {
            server: "the metrics; give another `--metrics-bind-address`, or 0 for none",
            address: address.clone(),
            source,
        })?;
        let Some(listener) = listener else {
            return Ok(Self(None));
        };
        let secure = if flags.metrics_secure {
            let access = Access::new(config.clone()).map_err(ManagerError::Client)?;
            Some((Serving::of(flags, metrics)?, access))
        } else {
            None
        };
        let stop = CancellationToken::new();
        let task = run(listener, metrics.clone(), secure, stop.clone());
        Ok(Self(Some(Running {
            thread: Thread::spawn("metrics", task)?,
            stop: stop.drop_guard(),
        })))
    }

    /// Waits until the server ends and returns the reason; waits forever if it is off.
    pub(crate) async fn ended(&mut self) -> ManagerError {
        match &mut self.0 {
            Some(running) => running.thread.ended().await,
            None => std::future::pending().await,
        }
    }

    /// Accepts no more requests, finishes the open ones, and frees the port.
    pub(crate) async fn stop(self) {
        if let Some(Running { mut thread, stop }) = self.0 {
            drop(stop);
            let _ = timeout(LIMITS.drain * 2, thread.ended()).await;
        }
    }
}

/// What the server needs for TLS.
struct Serving {
    tls: Arc<ServerConfig>,
    /// The files of the certificate, unless it was generated here.
    files: Option<Files>,
}

impl Serving {
    fn of(flags: &Flags, metrics: &Metrics) -> Result<Self, ManagerError> {
        let wrong = |flag, problem| ManagerError::Flag { flag, problem };
        let broken = |error: String| {
            let problem = format!("needs a certificate, and none could be generated: {error}");
            wrong("--metrics-secure", problem)
        };
        let (certificate, files) = match &flags.metrics_cert_path {
            Some(folder) => {
                let names = (&*flags.metrics_cert_name, &*flags.metrics_cert_key);
                if let Some((flag, problem)) = absent(folder, names) {
                    return Err(wrong(flag, problem));
                }
                let files = Files::new("metrics", folder, names, metrics.reads());
                let certificate = files.certificate();
                if let Some(reason) = certificate.missing() {
                    let problem = format!("has no usable certificate: {reason}");
                    return Err(wrong("--metrics-cert-path", problem));
                }
                (certificate, Some(files))
            }
            None => (Certificate::self_signed().map_err(broken)?, None),
        };
        let tls = certificate.tls().map_err(|error| broken(chain(&error)))?;
        Ok(Self {
            tls: Arc::new(tls),
            files,
        })
    }
}

/// The flag that names a missing file or folder, and what to give instead.
fn absent(folder: &Path, (certificate, key): (&str, &str)) -> Option<(&'static str, String)> {
    if !folder.is_dir() {
        let problem = format!(
            "`{}` is not a folder: give the folder of the certificate, or omit the flag to generate one at startup",
            folder.display()
        );
        return Some(("--metrics-cert-path", problem));
    }
    let files = [
        ("--metrics-cert-name", certificate, "certificate"),
        ("--metrics-cert-key", key, "certificate's key"),
    ];
    files.into_iter().find_map(|(flag, name, what)| {
        let file = folder.join(name);
        let problem = format!(
            "`{name}` is not a file in `{}`: give the name of the {what} there",
            folder.display()
        );
        (!file.is_file()).then_some((flag, problem))
    })
}

/// Serves until the stop or a failure, and returns the reason.
async fn run(
    listener: TcpListener,
    metrics: Metrics,
    secure: Option<(Serving, Access)>,
    stop: CancellationToken,
) -> String {
    match listener.local_addr() {
        Ok(address) => {
            let secure = secure.is_some();
            tracing::info!(%address, secure, "serving metrics");
        }
        Err(error) => return chain(&error),
    }
    let (serving, access) = secure.unzip();
    let (tls, files) = serving.map(|serving| (serving.tls, serving.files)).unzip();
    let pages = Arc::new(Pages { metrics, access });
    let respond = move |_, request| {
        let pages = pages.clone();
        async move { pages.respond(request).await }
    };
    let served = http_server::serve(listener, tls, LIMITS, stop, respond);
    let follow = async {
        match files.flatten() {
            Some(files) => files.follow().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        served = served => match served {
            Ok(()) => "it was stopped".to_owned(),
            Err(error) => chain(&error),
        },
        () = follow => "the certificate is no longer read".to_owned(),
    }
}

/// The pages that are served.
struct Pages {
    metrics: Metrics,
    /// `None` if anyone may read the metrics.
    access: Option<Access>,
}

impl Pages {
    async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        let path = request.uri().path();
        // A page that does not exist needs no check.
        let page = match path {
            "/metrics" => Page::Metrics,
            "/log-level" if self.access.is_some() => Page::LogLevel,
            _ => return (StatusCode::NOT_FOUND, "metrics are at /metrics\n").into_response(),
        };
        let methods = page.methods();
        if !methods.contains(&request.method().as_str()) {
            let allow = [(ALLOW, methods.join(", "))];
            return (StatusCode::METHOD_NOT_ALLOWED, allow).into_response();
        }
        let mut user = String::new();
        if let Some(access) = &self.access {
            let verb = request.method().as_str().to_ascii_lowercase();
            match access.check(request.headers(), &verb, path).await {
                Ok(name) => user = name,
                Err(refusal) => return refusal.into_response(),
            }
        }
        match page {
            Page::Metrics => self.metrics(request.headers()),
            Page::LogLevel if request.method() == Method::PUT => {
                set_level(request.into_body(), &user).await
            }
            Page::LogLevel => show_level(),
        }
    }

    fn metrics(&self, headers: &HeaderMap) -> Response<Body> {
        match self.written(headers) {
            Some((format, bytes)) => ([(CONTENT_TYPE, format)], bytes).into_response(),
            None => {
                let reason = "a metric could not be written\n";
                (StatusCode::INTERNAL_SERVER_ERROR, reason).into_response()
            }
        }
    }

    /// The content type and the metrics for a scraper that sends `headers`.
    fn written(&self, headers: &HeaderMap) -> Option<(&'static str, Vec<u8>)> {
        #[cfg(feature = "native-histograms")]
        if native::wants_protobuf(headers) {
            return Some((native::PROTOBUF, self.metrics.protobuf().ok()?));
        }
        let _ = headers;
        Some((TEXT, self.metrics.text().ok()?.into_bytes()))
    }
}

#[derive(Clone, Copy)]
enum Page {
    Metrics,
    LogLevel,
}

impl Page {
    fn methods(self) -> &'static [&'static str] {
        match self {
            Self::Metrics => &["GET"],
            Self::LogLevel => &["GET", "PUT"],
        }
    }
}

fn show_level() -> Response<Body> {
    match logging::level() {
        Some(level) => format!("{level}\n").into_response(),
        None => {
            let reason = "the logging of this process was not set up by kbr-runtime\n";
            (StatusCode::NOT_IMPLEMENTED, reason).into_response()
        }
    }
}

/// Sets the log level that `user` requests, until it is changed again or the process ends.
async fn set_level(body: Incoming, user: &str) -> Response<Body> {
    let body = to_bytes(Body::new(body), LONGEST_LEVEL);
    let Ok(Ok(body)) = timeout(LIMITS.answer, body).await else {
        let reason = format!("the level did not arrive, or has more than {LONGEST_LEVEL} bytes\n");
        return (StatusCode::BAD_REQUEST, reason).into_response();
    };
    let text = String::from_utf8_lossy(&body);
    match logging::set_level(&text) {
        Ok(()) => {
            tracing::info!(user, level = text.trim(), "the log level was changed");
            show_level()
        }
        Err(error) => (StatusCode::BAD_REQUEST, error + "\n").into_response(),
    }
}
