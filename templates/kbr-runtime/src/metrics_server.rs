// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Serves `/metrics` and `/log-level` over HTTPS, to users whose role allows it, on its own thread.

mod access;
mod answers;

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use kube::Config;
use tokio::time::timeout;
use tracing::field::display;

use crate::certificate::{Certificate, Files};
use crate::http_server::{
    self, Answer, Limits, Respond, Server, Tls, answer, refused_method, text,
};
use crate::logging;
use crate::metrics::Metrics;
#[cfg(feature = "native-histograms")]
use crate::metrics::native;
use crate::{Flags, ManagerError};
use access::Access;

/// The OpenMetrics text format, which Prometheus supports since 2.5.
const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Maximum length of a log level, in bytes.
const LONGEST_LEVEL: usize = 1024;

/// There are a few scrapers, with a connection each.
const LIMITS: Limits = Limits {
    // A scraper returns within a minute or two.
    idle: Duration::from_secs(180),
    drain: Duration::from_secs(1),
    ..Limits::FEW
};

/// Serves `metrics` according to `flags`, and asks the API server of `config` who may read them.
///
/// # Errors
///
/// [`ManagerError::Flag`] without a usable certificate, [`ManagerError::Listen`], [`ManagerError::Client`] or
/// [`ManagerError::Thread`].
pub(crate) fn start(
    flags: &Flags,
    config: &Config,
    metrics: &Metrics,
) -> Result<Server, ManagerError> {
    const WHAT: &str = "the metrics; give another `--metrics-bind-address`, or 0 for none";
    let Some(listener) = http_server::listen(&flags.metrics_bind_address, WHAT)? else {
        return Ok(Server::default());
    };
    let (mut tls, mut access) = (None, None);
    if flags.metrics_secure {
        access = Some(Access::new(config.clone()).map_err(ManagerError::Client)?);
        tls = Some(certificate(flags, metrics)?);
    }
    let address = listener.local_addr().ok().map(display);
    tracing::info!(address, secure = access.is_some(), "serving metrics");
    let metrics = metrics.clone();
    let pages = Arc::new(Pages { metrics, access });
    let respond: Respond = Box::new(move |_, request| {
        let pages = pages.clone();
        async move { pages.respond(request).await }.boxed()
    });
    Server::start("metrics", LIMITS, |stop| {
        http_server::serve(listener, tls, LIMITS, stop, respond)
    })
}

/// The certificate, and its files unless it was generated here.
fn certificate(flags: &Flags, metrics: &Metrics) -> Result<Tls, ManagerError> {
    let tls = |certificate, files: Option<Files>| Tls {
        certificate,
        follow: files.map(|files| files.follow().boxed()),
        clients: None,
    };
    let wrong = |flag, problem| ManagerError::Flag { flag, problem };
    let Some(folder) = &flags.metrics_cert_path else {
        let generated = Certificate::self_signed().map_err(|error| {
            let problem = format!("needs a certificate, and none could be generated: {error}");
            wrong("--metrics-secure", problem)
        })?;
        return Ok(tls(generated, None));
    };
    let (name, key) = (&*flags.metrics_cert_name, &*flags.metrics_cert_key);
    let place = folder.display();
    if !folder.is_dir() {
        let problem = format!(
            "`{place}` is not a folder: give the folder of the certificate, or omit the flag to generate one at startup"
        );
        return Err(wrong("--metrics-cert-path", problem));
    }
    for (flag, name, what) in [
        ("--metrics-cert-name", name, "certificate"),
        ("--metrics-cert-key", key, "certificate's key"),
    ] {
        if !folder.join(name).is_file() {
            let problem =
                format!("`{name}` is not a file in `{place}`: give the name of the {what} there");
            return Err(wrong(flag, problem));
        }
    }
    let files = Files::new("metrics", folder, (name, key), metrics.certificate_reads());
    let certificate = files.certificate();
    if let Some(reason) = certificate.missing() {
        let problem = format!("has no usable certificate: {reason}");
        return Err(wrong("--metrics-cert-path", problem));
    }
    Ok(tls(certificate, Some(files)))
}

/// The pages that are served.
struct Pages {
    metrics: Metrics,
    /// `None` if anyone may read the metrics.
    access: Option<Access>,
}

impl Pages {
    async fn respond(&self, request: Request<Incoming>) -> Answer {
        let path = request.uri().path();
        // A page that does not exist needs no check.
        let methods = match path {
            "/metrics" => "GET",
            "/log-level" if self.access.is_some() => "GET, PUT",
            _ => return text(StatusCode::NOT_FOUND, "metrics are at /metrics\n"),
        };
        if let Some(refusal) = refused_method(&request, methods) {
            return refusal;
        }
        let mut user = String::new();
        if let Some(access) = &self.access {
            let verb = request.method().as_str().to_ascii_lowercase();
            match access.check(request.headers(), &verb, path).await {
                Ok(name) => user = name,
                Err(refusal) => return refusal.answer(),
            }
        }
        match path {
            "/metrics" => self.metrics(request.headers()),
            _ if request.method() == Method::PUT => set_level(request.into_body(), &user).await,
            _ => show_level(),
        }
    }

    fn metrics(&self, headers: &HeaderMap) -> Answer {
        match self.written(headers) {
            Some((format, bytes)) => answer(StatusCode::OK, format, bytes),
            None => {
                let reason = "a metric could not be written\n";
                text(StatusCode::INTERNAL_SERVER_ERROR, reason)
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

fn show_level() -> Answer {
    match logging::level() {
        Some(level) => text(StatusCode::OK, level + "\n"),
        None => {
            let reason = "the logging of this process was not set up by kbr-runtime\n";
            text(StatusCode::NOT_IMPLEMENTED, reason)
        }
    }
}

/// Sets the log level that `user` requests, until it is changed again or the process ends.
async fn set_level(body: Incoming, user: &str) -> Answer {
    let body = Limited::new(body, LONGEST_LEVEL).collect();
    let Ok(Ok(body)) = timeout(LIMITS.answer, body).await else {
        let reason = format!("the level did not arrive, or has more than {LONGEST_LEVEL} bytes\n");
        return text(StatusCode::BAD_REQUEST, reason);
    };
    let body = body.to_bytes();
    let level = String::from_utf8_lossy(&body);
    match logging::set_level(&level) {
        Ok(()) => {
            tracing::info!(user, level = level.trim(), "the log level was changed");
            show_level()
        }
        Err(error) => text(StatusCode::BAD_REQUEST, error + "\n"),
    }
}

#[cfg(test)]
mod tests;
