// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The HTTP client of the thread that sends spans.
//!
//! Each attempt has its own event loop and its own connection: nothing is idle between attempts, and
//! there is no connection that the other side may have closed.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::runtime;
use tokio::time::Instant;

use crate::chain::chain;
use crate::logging::LogLimit;

/// Maximum length of a response in bytes. It only says which spans were rejected.
const ANSWER_LIMIT: usize = 1024 * 1024;

#[derive(Debug)]
pub(super) struct Collector {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    timeout: Duration,
    warnings: LogLimit<()>,
}

impl Collector {
    /// Does not connect yet.
    ///
    /// # Errors
    ///
    /// When there is no CA to trust for HTTPS.
    pub(super) fn new(
        endpoint: &Uri,
        authority: Option<&Path>,
        timeout: Duration,
    ) -> Result<Self, String> {
        let is_plain = endpoint.scheme() == Some(&http::uri::Scheme::HTTP);
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let builder = match authority {
            _ if is_plain => builder.with_root_certificates(RootCertStore::empty()),
            Some(path) => builder.with_root_certificates(read(path)?),
            None => builder.with_native_roots().map_err(|error| {
                format!("{error}: give the collector's CA in `OTEL_EXPORTER_OTLP_CERTIFICATE`")
            })?,
        };
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(builder.with_no_client_auth())
            .https_or_http()
            .enable_http1()
            .build();
        let mut client = Client::builder(TokioExecutor::new());
        Ok(Self {
            client: client.pool_max_idle_per_host(0).build(connector),
            timeout,
            warnings: LogLimit::default(),
        })
    }

    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, String> {
        let event_loop = runtime::Builder::new_current_thread().enable_all().build();
        let event_loop = event_loop.map_err(|error| error.to_string())?;
        let exchange = async {
            let answer = self.client.request(request.map(Full::new)).await;
            let (head, body) = answer.map_err(|error| chain(&error))?.into_parts();
            let body = Limited::new(body, ANSWER_LIMIT).collect().await;
            let body = body.map_err(|error| chain(&*error))?.to_bytes();
            Ok(Response::from_parts(head, body))
        };
        let outcome =
            event_loop.block_on(async { tokio::time::timeout(self.timeout, exchange).await });
        // Does not wait for a DNS lookup that is still running.
        event_loop.shutdown_background();
        outcome.unwrap_or_else(|_| Err(format!("no answer within {:?}", self.timeout)))
    }
}

impl HttpClient for Collector {
    fn send_bytes<'a, 'f>(
        &'a self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'f>>
    where
        'a: 'f,
        Self: 'f,
    {
        // May block: the thread belongs to the SDK and has nothing else to do.
        let endpoint = request.uri().clone();
        let outcome = self.send(request);
        let problem = match &outcome {
            Ok(answer) if answer.status().is_success() => None,
            Ok(answer) => Some(format!("the response is {}", answer.status())),
            Err(error) => Some(error.clone()),
        };
        if let Some(error) = problem
            && self.warnings.pass((), Instant::now()).is_some()
        {
            tracing::warn!(error, %endpoint, "traces could not be sent");
        }
        Box::pin(std::future::ready(outcome.map_err(HttpError::from)))
    }
}

/// The certificates in the file at `path`.
fn read(path: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let problem = |error: &dyn std::fmt::Display| {
        format!(
            "`OTEL_EXPORTER_OTLP_CERTIFICATE`, {}: {error}",
            path.display()
        )
    };
    let certificates = CertificateDer::pem_file_iter(path).map_err(|error| problem(&error))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| problem(&error))?;
        roots.add(certificate).map_err(|error| problem(&error))?;
    }
    if roots.is_empty() {
        return Err(problem(&"it contains no certificate"));
    }
    Ok(roots)
}
