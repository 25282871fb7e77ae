// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What a collector receives from a process that reconciles, and what the process does without one.

use super::*;
use crate::Action;
use crate::api_server::ApiServer;
use crate::backoff::Backoff;
use crate::cache::tests::{empty, list, nowhere};
use crate::certificate::tests::{Mount, Pair};
use crate::handle::tests::context;
use crate::key::Key;
use crate::metrics::Counts;
use crate::queue::Queue;
use crate::reconciler::Reconciler;
use crate::watch::FailingWatches;
use crate::{Flags, LogFormat};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Config};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::{Span, status::StatusCode};
use prost::Message;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// In a process that reconciles: the number of its reconciles that fail.
const FAILURES: &str = "KBR_TEST_FAILURES";

/// One reconcile that succeeds, and `failures` that fail after a request that is refused.
async fn reconcile(failures: usize) {
    crate::client::install_tls_provider();
    let server = ApiServer::new(Config::new("http://127.0.0.1:1".parse().unwrap()));
    let api = Api::<ConfigMap>::namespaced(server.client().unwrap(), "default");
    let mut object = ConfigMap::default();
    object.metadata.namespace = Some("default".to_owned());
    object.metadata.name = Some("sample".to_owned());
    let run = |fails: bool| {
        let reconciler = Reconciler {
            controller: "test",
            backoff: Backoff::default(),
            timeout: Duration::from_secs(60),
            // Not the server of the requests, which would be in an outage.
            server: ApiServer::new(Config::new("http://127.0.0.1:1".parse().unwrap())),
            queue: Queue::new(Counts::unread()),
            stop: CancellationToken::new(),
            failing: Arc::new([FailingWatches::default()]),
            restless: crate::restless::Restless::new(),
        };
        let api = api.clone();
        let reconcile = move |_| {
            let api = api.clone();
            async move {
                tracing::info!("it begins");
                if fails {
                    api.get("other").await?;
                }
                Ok::<_, kube::Error>(Action::await_change())
            }
        };
        let policy = |_: &ConfigMap, _: &kube::Error| None;
        let cache = empty();
        list(&cache, &[object.clone()]);
        let work = reconciler.wrap(
            Arc::new(context(cache, nowhere())),
            reconcile,
            Arc::new(policy),
            None,
        );
        work(Arc::new(Key::of(&object)))
    };
    assert!(run(false).await.is_none());
    for _ in 0..failures {
        assert!(run(true).await.is_some());
    }
}

/// A whole process, with its environment and its end.
#[test]
#[ignore = "the other tests start it as a process of its own"]
fn process() {
    let Ok(failures) = std::env::var(FAILURES) else {
        return;
    };
    let flags = Flags {
        log_format: Some(LogFormat::Text),
        log_level: LevelFilter::WARN,
        ..Flags::default()
    };
    let event_loop = tokio::runtime::Runtime::new().unwrap();
    event_loop.block_on(async {
        crate::init_logging(&flags);
        reconcile(failures.parse().unwrap()).await;
        crate::exit(Ok(()))
    })
}

/// The log of a process that reconciles and ends normally.
fn run(failures: usize, environment: &[(&str, &str)]) -> String {
    let mut process = Command::new(std::env::current_exe().unwrap());
    process
        .args(["otlp::tests::process", "--exact", "--ignored"])
        .args(["--nocapture"])
        .env(FAILURES, failures.to_string())
        .envs(environment.iter().copied());
    let output = process.output().unwrap();
    let lines = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{lines}");
    lines
}

/// A request to a collector.
struct Received {
    head: String,
    traces: ExportTraceServiceRequest,
}

/// A collector that answers each request with `status`.
fn collector(
    tls: Option<Arc<rustls::ServerConfig>>,
    status: &'static str,
) -> (SocketAddr, mpsc::Receiver<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, received) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming().map(Result::unwrap) {
            let request = match &tls {
                None => answer(stream, status),
                Some(tls) => {
                    let server = rustls::ServerConnection::new(tls.clone()).unwrap();
                    answer(rustls::StreamOwned::new(server, stream), status)
                }
            };
            if sender.send(request).is_err() {
                break;
            }
        }
    });
    (address, received)
}

fn answer(stream: impl Read + Write, status: &str) -> Received {
    let mut stream = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(stream.read_line(&mut head).unwrap(), 0);
    }
    let mut headers = head.lines().filter_map(|line| line.split_once(": "));
    let (_, length) = headers.find(|(name, _)| *name == "content-length").unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
    stream.get_mut().write_all(answer.as_bytes()).unwrap();
    let traces = ExportTraceServiceRequest::decode(&*body).unwrap();
    Received { head, traces }
}

fn spans(request: &Received) -> Vec<&Span> {
    let scopes = request.traces.resource_spans.iter();
    let scopes = scopes.flat_map(|resource| &resource.scope_spans);
    scopes.flat_map(|scope| &scope.spans).collect()
}

fn text<'a>(attributes: &'a [KeyValue], key: &str) -> &'a str {
    let attribute = attributes.iter().find(|attribute| attribute.key == key);
    let value = attribute.and_then(|attribute| attribute.value.as_ref()?.value.as_ref());
    match value {
        Some(Value::StringValue(text)) => text,
        other => panic!("{key}: {other:?}"),
    }
}

fn status(span: &Span) -> StatusCode {
    span.status.clone().unwrap_or_default().code()
}

#[test]
fn a_collector_receives_reconciles_with_their_requests_and_messages() {
    let (address, received) = collector(None, "200 OK");
    let endpoint = format!("http://{address}");
    run(
        1,
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=one"),
        ],
    );

    let request = received.try_recv().unwrap();
    assert!(request.head.starts_with("POST /v1/traces HTTP/1.1\r\n"));
    for header in ["content-type: application/x-protobuf", "x-tenant: one"] {
        assert!(request.head.contains(header), "{}", request.head);
    }
    let resource = request.traces.resource_spans[0].resource.as_ref().unwrap();
    let program = text(&resource.attributes, "service.name");
    assert!(program.starts_with("kbr_runtime-"), "{program}");

    let spans = spans(&request);
    let [fine, sent, failed] = &*spans else {
        panic!("{spans:#?}");
    };
    for span in [fine, failed] {
        assert_eq!(span.name, "reconcile");
        assert!(span.parent_span_id.is_empty());
        assert_eq!(text(&span.attributes, "controller"), "test");
        assert_eq!(text(&span.attributes, "object"), "default/sample");
        assert_eq!(text(&span.attributes, "reconcile_id").len(), 16);
        assert_eq!(span.events[0].name, "it begins");
    }
    assert_eq!((status(fine), fine.events.len()), (StatusCode::Unset, 1));
    assert_eq!(
        (status(failed), failed.events.len()),
        (StatusCode::Error, 2)
    );
    assert_eq!(failed.events[1].name, "reconcile failed");
    let error = text(&failed.events[1].attributes, "error");
    assert!(error.contains("refused"), "{error}");

    assert_eq!(sent.trace_id, failed.trace_id);
    assert_eq!(sent.parent_span_id, failed.span_id);
    assert_eq!(
        (status(sent), sent.kind()),
        (StatusCode::Error, SpanKind::Client)
    );
    let url = "/api/v1/namespaces/default/configmaps/other";
    let sent_to = text(&sent.attributes, "http.url");
    assert!(sent_to.ends_with(url), "{sent_to}");
    assert!(sent.events.is_empty());
}

#[test]
fn the_environment_names_the_service_and_the_path() {
    let (address, received) = collector(None, "200 OK");
    let endpoint = format!("http://{address}/at/my/place");
    run(
        0,
        &[
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &endpoint),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "not heeded"),
            ("OTEL_SERVICE_NAME", "mine"),
        ],
    );

    let request = received.try_recv().unwrap();
    assert!(request.head.starts_with("POST /at/my/place HTTP/1.1\r\n"));
    let resource = request.traces.resource_spans[0].resource.as_ref().unwrap();
    assert_eq!(text(&resource.attributes, "service.name"), "mine");
    assert_eq!(spans(&request).len(), 1);
}

#[test]
fn a_collector_with_a_certificate_is_trusted_by_its_authority_only() {
    let (pair, mut mount) = (Pair::new(), Mount::new());
    mount.swap(&pair);
    let file = mount.folder.join("tls.crt");
    let key = PrivateKeyDer::from_pem_file(mount.folder.join("tls.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from_pem_file(&file).unwrap()], key)
        .unwrap();
    let (address, received) = collector(Some(Arc::new(tls)), "200 OK");
    let endpoint = format!("https://{address}");
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", &*endpoint);
    let authority = ("OTEL_EXPORTER_OTLP_CERTIFICATE", file.to_str().unwrap());

    run(0, &[endpoint, authority]);
    assert_eq!(spans(&received.try_recv().unwrap()).len(), 1);

    let other = Pair::new();
    mount.swap(&other);
    let lines = run(0, &[endpoint, authority]);
    assert!(lines.contains("invalid peer certificate"), "{lines}");
}

#[test]
fn a_collector_that_never_answers_delays_neither_reconciles_nor_the_end() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let (sender, connections) = mpsc::channel();
    thread::spawn(move || {
        let open: Vec<TcpStream> = listener
            .incoming()
            .map(Result::unwrap)
            .inspect(|_| sender.send(()).unwrap())
            .collect();
        drop(open);
    });
    let start = Instant::now();
    // More than the queue has room for.
    run(
        1300,
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "120000"),
        ],
    );
    let took = start.elapsed();

    // Half of the collector's timeout; a busy machine needs half a minute for the spans themselves.
    assert!(took < 60 * LAST_SPANS, "{took:?}");
    assert_eq!(connections.try_iter().count(), 1);
}

#[test]
fn a_collector_that_does_not_take_spans_is_one_warning() {
    let (refusing, _received) = collector(None, "401 Unauthorized");
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let absent = free.local_addr().unwrap();
    drop(free);
    for (address, reason) in [(refusing, "401 Unauthorized"), (absent, "refused")] {
        let endpoint = format!("http://{address}/v1/traces");
        // Several batches.
        let lines = run(
            10,
            &[
                ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &endpoint),
                ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2"),
            ],
        );
        let warnings: Vec<_> = lines
            .lines()
            .filter(|line| line.contains("traces could not be sent"))
            .collect();
        assert_eq!(warnings.len(), 1, "{lines}");
        for part in ["WARN", &endpoint, reason] {
            assert!(warnings[0].contains(part), "{lines}");
        }
    }
}

#[test]
fn an_environment_that_cannot_be_used_is_a_warning_that_names_the_variable() {
    let problems = |variables: &[(&str, &str)]| {
        let find = |name: &str| variables.iter().find(|(other, _)| *other == name);
        let traces = Traces::of(|name| Some(find(name)?.1.to_owned()));
        (traces.problems, traces.provider.is_some())
    };
    let none = Vec::<String>::new();
    assert_eq!(problems(&[]), (none.clone(), false));
    assert_eq!(
        problems(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "")]),
        (none.clone(), false)
    );
    assert_eq!(
        problems(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")]),
        (none, true)
    );
    for given in ["collector:4318", "collector", "tcp://collector", "http://"] {
        for (name, path) in [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", ""),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "/v1/traces"),
        ] {
            let problem = format!(
                "`{name}` is `{given}`: give a URL such as `http://collector:4318{path}`; no traces are \
                 sent"
            );
            assert_eq!(problems(&[(name, given)]), (vec![problem], false));
        }
    }
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://127.0.0.1:1");
    let (found, starts) = problems(&[endpoint, ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere")]);
    assert!(
        found[0].starts_with("`OTEL_EXPORTER_OTLP_CERTIFICATE`, /nowhere: "),
        "{found:?}"
    );
    assert!(found.len() == 1 && !starts);
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1");
    assert_eq!(
        problems(&[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]),
        (
            vec![
                "`OTEL_EXPORTER_OTLP_PROTOCOL` is `grpc`, but traces are sent as `http/protobuf` only, to \
                 http://127.0.0.1:1/v1/traces"
                    .to_owned()
            ],
            true
        )
    );
}

#[test]
fn a_problem_of_the_environment_is_logged_and_ends_nothing() {
    let lines = run(0, &[("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317")]);
    assert!(
        lines.contains("WARN") && lines.contains("`collector:4317`: give a URL"),
        "{lines}"
    );
}
