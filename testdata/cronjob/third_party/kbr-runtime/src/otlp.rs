// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Traces: finished spans, sent to a collector over OTLP.
//!
//! OpenTelemetry's SDK keeps finished spans in a bounded queue, and sends them from its own thread.
//! Spans that do not fit into the queue are dropped, so that no reconcile ever waits for a collector.

mod collector;

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use http::Uri;
use opentelemetry::Key;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::subscriber::Interest;
use tracing::{Level, Metadata};
use tracing_subscriber::filter::{LevelFilter, dynamic_filter_fn};
use tracing_subscriber::layer::Context;
use tracing_subscriber::{Layer, Registry};

use crate::logging::BoxLayer;
use collector::Collector;

/// How long the process waits for the last spans to be sent before it ends.
const LAST_SPANS: Duration = Duration::from_secs(1);

/// The timeout of one attempt to send spans, unless a variable sets it: OpenTelemetry's own default.
const TIMEOUT: Duration = opentelemetry_otlp::OTEL_EXPORTER_OTLP_TIMEOUT_DEFAULT;

const HTTP_PROTOBUF: &str = "http/protobuf";

/// What sends the spans of this process, if anything does.
static PROVIDER: OnceLock<SdkTracerProvider> = OnceLock::new();

/// The traces that the environment configures.
pub(crate) struct Traces {
    provider: Option<SdkTracerProvider>,
    /// What is wrong with the environment.
    problems: Vec<String>,
}

impl Traces {
    /// Starts sending traces, if the environment names a collector.
    pub(crate) fn from_environment() -> Self {
        Self::of(|name| std::env::var(name).ok())
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let mut problems = Vec::new();
        let provider = start(variable, &mut problems).unwrap_or_else(|problem| {
            problems.push(format!("{problem}; no traces are sent"));
            None
        });
        Self { provider, problems }
    }

    /// The layer that turns spans into traces.
    pub(crate) fn layer(&self) -> Option<BoxLayer> {
        let tracer = self.provider.as_ref()?.tracer(env!("CARGO_PKG_NAME"));
        let filter = dynamic_filter_fn(is_traced)
            .with_callsite_filter(|metadata| {
                if is_request(metadata) {
                    Interest::sometimes()
                } else if is_own(metadata) {
                    Interest::always()
                } else {
                    Interest::never()
                }
            })
            .with_max_level_hint(LevelFilter::DEBUG);
        let layer = tracing_opentelemetry::layer()
            .with_tracer(tracer)
            .with_location(false)
            .with_threads(false);
        Some(layer.with_filter(filter).boxed())
    }

    /// Keeps sending until [`finish`], and logs the problems.
    pub(crate) fn keep(self) {
        for problem in self.problems {
            tracing::warn!("{problem}");
        }
        if let Some(provider) = self.provider {
            // It is set once, with the subscriber.
            let _ = PROVIDER.set(provider);
        }
    }
}

/// Sends the remaining spans, and waits for that for a second at most. Later spans are dropped.
pub(crate) fn finish() {
    if let Some(provider) = PROVIDER.get() {
        // Spans that the collector does not accept in time are lost.
        let _ = provider.shutdown_with_timeout(LAST_SPANS);
    }
}

/// Whether a span or message is traced, whatever is logged.
fn is_traced(metadata: &Metadata<'_>, context: &Context<'_, Registry>) -> bool {
    // Not watches, which belong to no reconcile.
    is_own(metadata) || is_request(metadata) && context.lookup_current().is_some()
}

/// Whether it is a span or message of level info or above that is not from kube: kube's spans duplicate
/// those of reconciles, and its messages about failed requests would mark a reconcile that continues as
/// failed.
fn is_own(metadata: &Metadata<'_>) -> bool {
    *metadata.level() <= Level::INFO && !metadata.target().starts_with("kube_")
}

/// Whether it is the span of a request to the API server.
fn is_request(metadata: &Metadata<'_>) -> bool {
    metadata.is_span() && metadata.target().starts_with("kube_client")
}

/// Starts sending spans. Reads the settings that only the collector's client needs; the SDK reads all others
/// itself. `None` if no collector is named. An empty variable counts as not set.
fn start(
    variable: impl Fn(&str) -> Option<String>,
    problems: &mut Vec<String>,
) -> Result<Option<SdkTracerProvider>, String> {
    // Settings for traces alone take precedence.
    let setting = |name: &str| {
        [
            format!("OTEL_EXPORTER_OTLP_TRACES_{name}"),
            format!("OTEL_EXPORTER_OTLP_{name}"),
        ]
        .into_iter()
        .find_map(|name| Some((variable(&name).filter(|value| !value.is_empty())?, name)))
    };
    let Some((given, name)) = setting("ENDPOINT") else {
        return Ok(None);
    };
    // The endpoint for traces is used as it is, as OpenTelemetry requires.
    let (missing, present) = match name.contains("TRACES") {
        true => ("", "/v1/traces"),
        false => ("/v1/traces", ""),
    };
    let endpoint = endpoint(&given, missing).ok_or_else(|| {
        let example = format!("http://collector:4318{present}");
        format!("`{name}` is `{given}`: give a URL such as `{example}`")
    })?;
    if let Some((protocol, name)) = setting("PROTOCOL")
        && protocol != HTTP_PROTOBUF
    {
        problems.push(format!(
            "`{name}` is `{protocol}`, but traces are sent as `{HTTP_PROTOBUF}` only, to {endpoint}"
        ));
    }
    let milliseconds = setting("TIMEOUT").and_then(|(text, _)| text.parse().ok());
    let timeout = milliseconds.map_or(TIMEOUT, Duration::from_millis);
    // The file of the CAs to trust, instead of those of the system.
    let authority = setting("CERTIFICATE").map(|(path, _)| PathBuf::from(path));
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(Collector::new(&endpoint, authority.as_deref(), timeout)?)
        .with_endpoint(endpoint.to_string())
        .with_protocol(opentelemetry_otlp::Protocol::HttpBinary)
        .with_timeout(timeout)
        .build()
        .map_err(|error| error.to_string())?;
    let provider = SdkTracerProvider::builder()
        .with_resource(resource())
        .with_batch_exporter(exporter);
    Ok(Some(provider.build()))
}

/// `given` with `path` added to it, if it is an HTTP or HTTPS URL.
fn endpoint(given: &str, path: &str) -> Option<Uri> {
    let uri: Uri = given.parse().ok()?;
    matches!(uri.scheme_str()?, "http" | "https").then_some(())?;
    let given = if path.is_empty() {
        given
    } else {
        given.trim_end_matches('/')
    };
    format!("{given}{path}").parse().ok()
}

/// The sender of the spans, from the environment; the service name is by default the name of the
/// program.
fn resource() -> Resource {
    let given = Resource::builder().build();
    let name = given.get(&Key::new("service.name"));
    let name = name.map(|name| name.to_string()).unwrap_or_default();
    match name.strip_prefix("unknown_service:") {
        Some(program) => Resource::builder()
            .with_service_name(program.to_owned())
            .build(),
        None => given,
    }
}
