// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Traces: finished spans, sent to a collector over OTLP.
//!
//! OpenTelemetry's SDK keeps finished spans in a bounded queue, from which a thread of its own sends
//! them. What the queue has no room for is dropped, so that no reconcile ever waits for a collector.

mod collector;

use std::path::Path;
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

/// How long the end of the process waits for the last spans to be taken.
const LAST_SPANS: Duration = Duration::from_secs(1);

/// Of one attempt to send spans, unless a variable says otherwise: OpenTelemetry's own.
const TIMEOUT: Duration = opentelemetry_otlp::OTEL_EXPORTER_OTLP_TIMEOUT_DEFAULT;

const HTTP_PROTOBUF: &str = "http/protobuf";

/// What sends the spans of this process, if something does.
static PROVIDER: OnceLock<SdkTracerProvider> = OnceLock::new();

/// What the environment says of traces.
pub(crate) struct Traces {
    provider: Option<SdkTracerProvider>,
    /// What is wrong with the environment.
    problems: Vec<String>,
}

impl Traces {
    /// Starts what sends them, if the environment names a collector.
    pub(crate) fn of_environment() -> Self {
        Self::of(|name| std::env::var(name).ok())
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let mut problems = Vec::new();
        let started = Settings::read(variable, &mut problems)
            .and_then(|settings| settings.map(Settings::start).transpose());
        let provider = started.unwrap_or_else(|problem| {
            problems.push(format!("{problem}; no traces are sent"));
            None
        });
        Self { provider, problems }
    }

    /// What turns spans into traces.
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

    /// Keeps sending until [`finish`], and logs what is wrong.
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

/// Sends what is left, and waits for that a second at most. Later spans are dropped.
pub(crate) fn finish() {
    if let Some(provider) = PROVIDER.get() {
        // What a collector does not take in time is lost.
        let _ = provider.shutdown_with_timeout(LAST_SPANS);
    }
}

/// Whether it is traced, whatever is logged.
fn is_traced(metadata: &Metadata<'_>, context: &Context<'_, Registry>) -> bool {
    // No watches, which belong to no reconcile.
    is_own(metadata) || is_request(metadata) && context.lookup_current().is_some()
}

/// Spans and messages from level info on, but none of kube: its spans duplicate those of reconciles,
/// and its messages about failed requests would mark a reconcile that goes on as a failed one.
fn is_own(metadata: &Metadata<'_>) -> bool {
    *metadata.level() <= Level::INFO && !metadata.target().starts_with("kube_")
}

/// The span of a request to the API server.
fn is_request(metadata: &Metadata<'_>) -> bool {
    metadata.is_span() && metadata.target().starts_with("kube_client")
}

/// Where and how spans are sent.
#[derive(Debug)]
struct Settings {
    /// With the path of traces.
    endpoint: Uri,
    /// Whom to trust, instead of the system's authorities.
    authority: Option<String>,
    timeout: Duration,
}

impl Settings {
    /// What only the collector's client needs; all else the SDK reads itself. `None` where no collector
    /// is named. An empty variable is one that is not set.
    fn read(
        variable: impl Fn(&str) -> Option<String>,
        problems: &mut Vec<String>,
    ) -> Result<Option<Self>, String> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        // What is set for traces alone comes first.
        let setting = |name: &str| {
            [
                format!("OTEL_EXPORTER_OTLP_TRACES_{name}"),
                format!("OTEL_EXPORTER_OTLP_{name}"),
            ]
            .into_iter()
            .find_map(|name| Some((variable(&name)?, name)))
        };
        let Some((given, name)) = setting("ENDPOINT") else {
            return Ok(None);
        };
        // That of traces is taken as it is, as OpenTelemetry wants it.
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
        Ok(Some(Self {
            endpoint,
            authority: setting("CERTIFICATE").map(|(path, _)| path),
            timeout: milliseconds.map_or(TIMEOUT, Duration::from_millis),
        }))
    }

    fn start(self) -> Result<SdkTracerProvider, String> {
        let authority = self.authority.as_deref().map(Path::new);
        let collector = Collector::new(&self.endpoint, authority, self.timeout)?;
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(collector)
            .with_endpoint(self.endpoint.to_string())
            .with_protocol(opentelemetry_otlp::Protocol::HttpBinary)
            .with_timeout(self.timeout)
            .build()
            .map_err(|error| error.to_string())?;
        let provider = SdkTracerProvider::builder()
            .with_resource(resource())
            .with_batch_exporter(exporter)
            .build();
        Ok(provider)
    }
}

/// `given` with `path` added to it, if it is a URL of HTTP.
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

/// Who sends the spans: what the environment says, with the name of the program where it says none.
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
