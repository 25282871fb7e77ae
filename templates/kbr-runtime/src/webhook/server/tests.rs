// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The server as seen by API servers: over TLS.

mod served;

use super::*;
use crate::certificate::tests::{Mount, Pair};
use crate::lock::lock;
use crate::logging::tests::logged;
use crate::webhook::tests::{MUTATE, VALIDATE, cron_job, review, webhooks};
use crate::webhook::{
    AdmissionRequest, BoxError, FieldError, FieldPath, ValidationOutcome, Validator,
};
use crate::{Cache, Manager};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::reflector::ObjectRef;
use serde_json::{Value, json};
use served::{Served, connect, flags, request, trusting, trusting_as};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;
use tokio::runtime::Runtime;

const SHORT: Limits = Limits {
    server: http_server::Limits {
        handshake: Duration::from_millis(300),
        idle: Duration::from_millis(300),
        lame_duck: Duration::from_millis(100),
        drain: Duration::from_millis(300),
        ..LIMITS.server
    },
    review: Duration::from_millis(300),
    block: Duration::from_millis(300),
};

fn creation(name: &str) -> Value {
    review("CREATE", &cron_job(name), &Value::Null)
}

#[test]
fn answers_reviews() {
    let served = Served::start(LIMITS);

    let answer = served.post(MUTATE, &creation("a"));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(
        answer.contains("content-type: application/json"),
        "{answer}"
    );
    assert!(answer.contains("JSONPatch"), "{answer}");

    // The API server says how long it will wait.
    let answer = served.post(&format!("{VALIDATE}?timeout=10s"), &creation("bad"));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains(r#""allowed":false"#), "{answer}");
}

#[test]
fn only_clients_of_the_authority_are_answered_if_there_is_one() {
    let (mut mount, server, client, stranger) =
        (Mount::new(), Pair::new(), Pair::new(), Pair::new());
    mount.swap(&server);
    let file = mount.folder.join("clients.crt");
    let flags = Flags {
        webhook_client_ca: Some(file.clone()),
        ..flags(&mount)
    };
    let start = || Server::start_if(None, &flags, (webhooks(), None), &Metrics::new(), LIMITS);
    for wrong in [None, Some(""), Some("no certificate")] {
        if let Some(wrong) = wrong {
            std::fs::write(&file, wrong).unwrap();
        }
        let error = start().err().unwrap().to_string();
        let expected = "`--webhook-client-ca` must be a file with certificates in PEM: ";
        assert!(error.starts_with(expected), "{error}");
    }
    std::fs::write(&file, client.pem()).unwrap();
    let running = start().unwrap();

    let ask = |client: Option<&Pair>| {
        let config = trusting_as([&server], client);
        let stream = TcpStream::connect(("127.0.0.1", flags.webhook_port)).unwrap();
        let mut stream = connect(stream, config)?;
        let head = format!("POST {MUTATE} HTTP/1.1\r\ncontent-type: application/json");
        request(&mut stream, &head, creation("a").to_string().as_bytes())
    };
    assert!(ask(None).is_err());
    assert!(ask(Some(&stranger)).is_err());
    let answer = ask(Some(&client)).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    Runtime::new().unwrap().block_on(running.stop());
}

#[test]
fn a_connection_is_used_again() {
    let served = Served::start(LIMITS);
    let mut stream = served.connect();
    let body = creation("a").to_string();
    for _ in 0..3 {
        let length = body.len();
        let head = "host: a\r\ncontent-type: application/json";
        write!(
            stream,
            "POST {VALIDATE} HTTP/1.1\r\n{head}\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"}}") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            answer.push(byte[0]);
        }
    }
}

#[test]
fn a_body_that_is_no_review_is_refused_with_a_reason() {
    let served = Served::start(LIMITS);
    let json = "content-type: application/json";
    for (head, body, code, reason) in [
        (
            format!("POST / HTTP/1.1\r\n{json}"),
            &b""[..],
            404,
            "no webhook is served at `/`",
        ),
        (
            format!("POST /convert HTTP/1.1\r\n{json}"),
            b"",
            404,
            "no webhook is served at `/convert`",
        ),
        (
            format!("GET {MUTATE} HTTP/1.1"),
            b"",
            405,
            "a review must be sent with POST, not GET",
        ),
        (
            format!("POST {MUTATE} HTTP/1.1\r\ncontent-type: text/plain"),
            b"",
            415,
            "a review must be application/json, not text/plain",
        ),
        (
            format!("POST {MUTATE} HTTP/1.1\r\n{json}"),
            b"{",
            400,
            "expected AdmissionReview of admission.k8s.io/v1: EOF",
        ),
        (
            format!("POST {MUTATE} HTTP/1.1\r\n{json}"),
            b"",
            400,
            "expected AdmissionReview",
        ),
    ] {
        let answer = served.send(&head, body);
        assert!(answer.starts_with(&format!("HTTP/1.1 {code}")), "{answer}");
        assert!(answer.contains(reason), "{answer}");
    }
}

/// Whoever reaches the port could fill the log.
#[test]
fn refused_requests_do_not_fill_the_log() {
    let refusals = http::Refusals::default();
    let webhooks = webhooks();
    let refuse = |path: &str, status: u16, reason: &str| {
        let status = ::http::StatusCode::from_u16(status).unwrap();
        http::log_refusal(&webhooks, &refusals, path, status, reason);
    };
    let lines = logged("info".into(), || {
        for number in 0..1000 {
            refuse(&format!("/{number}"), 404, "no");
            refuse(
                &format!("/{}{number}", "é".repeat(5000)),
                405,
                &"a".repeat(5000),
            );
            refuse(MUTATE, 400, "no");
            refuse(VALIDATE, 400, "no");
        }
    });

    let told: Vec<_> = lines
        .iter()
        .map(|line| (&line["path"], &line["status"]))
        .collect();
    let long = Value::from(format!("/{}", "é".repeat(199)));
    let paths = [&Value::from("/0"), &long, &MUTATE.into(), &VALIDATE.into()];
    let statuses = [404, 405, 400, 400].map(Value::from);
    assert_eq!(told, Vec::from_iter(paths.into_iter().zip(&statuses)));
    assert_eq!(lines[1]["error"].as_str().unwrap().len(), 200);
}

/// The head of a review of this length.
fn head(path: &str, length: usize) -> String {
    let fixed = "host: a\r\ncontent-type: application/json";
    format!("POST {path} HTTP/1.1\r\n{fixed}\r\ncontent-length: {length}\r\n\r\n")
}

/// The greatest length that a review may announce.
fn longest() -> usize {
    (LIMITS.server.memory - LIMITS.server.reserve) / http::SHARE
}

#[test]
fn a_review_that_is_too_long_is_refused_unread() {
    let served = Served::start(LIMITS);
    for (length, expected) in [(longest() + 1, 413), (1 << 40, 413), (longest(), 100)] {
        let mut stream = served.connect();
        let asking = head(MUTATE, length).replace("host: a", "host: a\r\nexpect: 100-continue");
        stream.write_all(asking.as_bytes()).unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer, *format!("HTTP/1.1 {expected}").as_bytes());
    }

    let mut stream = served.connect();
    let chunked = head(MUTATE, 0).replace("content-length: 0", "transfer-encoding: chunked");
    stream.write_all(chunked.as_bytes()).unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 411");
}

#[test]
fn a_review_that_would_take_too_much_memory_is_refused_and_says_why() {
    let served = Served::start(LIMITS);
    let body = format!("[{}0]", r#"{"":0},"#.repeat(300_000));

    let answer = served.send(
        &format!("POST {MUTATE} HTTP/1.1\r\ncontent-type: application/json"),
        body.as_bytes(),
    );

    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    let reason = format!("a review of {} bytes may take ", body.len());
    assert!(answer.contains(&reason), "{answer}");
}

#[test]
fn reviews_that_stall_give_way_to_others() {
    let served = Served::start(LIMITS);
    let mut stalled: Vec<_> = (0..2)
        .map(|_| {
            let mut stream = served.connect();
            let length = longest() / 2;
            write!(stream, "{}[", head(MUTATE, length)).unwrap();
            stream
        })
        .collect();
    let mut large = creation("a");
    // As much as an API server accepts.
    large["request"]["object"]["metadata"]["annotations"]["a"] = "a".repeat(3 << 20).into();
    let begun = Instant::now();

    let answer = served.post(MUTATE, &large);

    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(begun.elapsed() < Duration::from_secs(10));
    // Which of the two came first depends on their handshakes.
    let answers = stalled.iter_mut().map(|stream| {
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    });
    let answer: String = answers.collect();
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.contains("retry-after: 1"), "{answer}");
    assert!(answer.contains("had to give way"), "{answer}");
}

#[test]
fn small_reviews_are_answered_beside_large_ones() {
    let served = Served::start(LIMITS);
    let mut large = served.connect();
    // The rest is for what is parsed.
    let body = creation("a").to_string() + &" ".repeat(longest() - (64 << 10));
    let (first, rest) = body.split_at(1 << 20);
    write!(large, "{}{first}", head(MUTATE, body.len())).unwrap();

    let small = creation("b").to_string() + &" ".repeat(256 << 10);
    let line = format!("POST {MUTATE} HTTP/1.1\r\ncontent-type: application/json");
    let answer = served.send(&line, small.as_bytes());
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");

    // The large review continues as if nothing had happened.
    large.write_all(rest.as_bytes()).unwrap();
    let mut answer = [0; 12];
    large.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
}

#[test]
fn connections_without_a_handshake_give_way_to_reviews() {
    let served = Served::start(Limits {
        server: http_server::Limits {
            connections: 20,
            ..LIMITS.server
        },
        ..LIMITS
    });
    let _silent: Vec<_> = (0..100).map(|_| served.tcp()).collect();
    let _idle: Vec<_> = (0..30).map(|_| served.connect()).collect();
    let mut bad: Vec<_> = (0..100).map(|_| served.tcp()).collect();
    for stream in &mut bad {
        // Some are already closed.
        let _ = stream.write_all(b"GET / HTTP/1.1\r\n\r\n");
    }
    let begun = Instant::now();

    let answer = served.post(MUTATE, &creation("a"));

    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn silent_and_slow_clients_are_disconnected() {
    let served = Served::start(SHORT);
    let begun = Instant::now();

    let mut silent = served.tcp();
    let mut idle = served.connect();
    let mut slow = served.connect();
    let head = format!("POST {MUTATE} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json");
    write!(slow, "{head}\r\ncontent-length: 10\r\n\r\n[").unwrap();
    // Others need not wait for them.
    assert!(
        served
            .post(MUTATE, &creation("a"))
            .starts_with("HTTP/1.1 200")
    );

    assert_eq!(silent.read(&mut [0; 8]).unwrap_or(0), 0);
    // Without a TLS `close_notify`, the end is an error.
    let _ = idle.read_to_end(&mut Vec::new());
    let mut answer = [0; 12];
    slow.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 408");
    assert!(begun.elapsed() < Duration::from_secs(5));
}

/// An API server that is configured to trust another CA logs its reason where few people can read it.
#[test]
fn a_client_that_refuses_the_certificate_is_logged() {
    crate::client::install_tls_provider();
    let (mut mount, pair, stranger) = (Mount::new(), Pair::new(), Pair::new());
    mount.swap(&pair);
    let flags = flags(&mount);
    let stop = CancellationToken::new();
    let listener = listen(&flags).unwrap().unwrap();
    let files = Files::new(
        "webhooks",
        &mount.folder,
        ("tls.crt", "tls.key"),
        Metrics::new().certificate_reads(),
    );
    let counts = Metrics::new().webhooks().at(webhooks().paths());
    let (port, over) = (flags.webhook_port, stop.clone());
    let client = std::thread::spawn(move || {
        // A probe of the port leaves without sending anything.
        drop(TcpStream::connect(("127.0.0.1", port)).unwrap());
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let refused = connect(stream, trusting([&stranger])).is_err();
        std::thread::sleep(Duration::from_millis(300));
        over.cancel();
        refused
    });
    let lines = crate::logging::tests::logged("warn".into(), || {
        let tls = Tls {
            certificate: files.certificate(),
            follow: Some(files.follow().boxed()),
            clients: None,
        };
        let server = run(listener, (webhooks(), counts), tls, stop, LIMITS);
        // Only the log of this thread is captured.
        let mut own = tokio::runtime::Builder::new_current_thread();
        own.enable_all().build().unwrap().block_on(server);
    });
    assert!(client.join().unwrap());
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["message"], "a client refused the certificate");
}

#[test]
fn a_webhook_that_takes_too_long_is_a_failure_of_the_call() {
    let served = Served::start(SHORT);

    let answer = served.post(VALIDATE, &creation("slow"));

    assert!(answer.starts_with("HTTP/1.1 504"), "{answer}");
    assert!(
        answer.ends_with("the webhook gave no answer within 300ms"),
        "{answer}"
    );
}

/// The thread cannot answer anybody any more.
#[test]
fn a_webhook_that_never_returns_ends_the_server_and_is_named() {
    let mut served = Served::start(SHORT);
    let mut stream = served.connect();
    let body = creation("loop").to_string();
    stream
        .write_all(format!("{}{body}", head(VALIDATE, body.len())).as_bytes())
        .unwrap();

    let runtime = Runtime::new().unwrap();
    let error = runtime.block_on(served.server.ended()).to_string();

    assert_eq!(
        error,
        format!(
            "the webhook `{VALIDATE}` (Create CronJob `default/loop`) blocks all others: it has not returned for 300ms"
        )
    );
}

#[test]
fn webhooks_that_only_wait_or_are_often_called_do_not_count_as_blocked() {
    let mut served = Served::start(Limits {
        review: Duration::from_secs(2),
        ..SHORT
    });
    let runtime = Runtime::new().unwrap();
    let (port, first) = (served.flags.webhook_port, trusting([&served.first]));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(1) {
                for name in ["nap", "a"] {
                    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
                    let mut tls = connect(stream, first.clone()).unwrap();
                    let head =
                        format!("POST {VALIDATE} HTTP/1.1\r\ncontent-type: application/json");
                    request(&mut tls, &head, creation(name).to_string().as_bytes()).unwrap();
                }
            }
        });
        let ended =
            async { tokio::time::timeout(Duration::from_secs(1), served.server.ended()).await };
        assert!(runtime.block_on(ended).is_err());
    });
}

#[test]
fn a_review_waits_for_the_caches_that_are_read_and_names_the_one_that_is_not_listed() {
    let maps = crate::cache::tests::empty::<ConfigMap>();
    let mut webhooks = webhooks();
    webhooks.reads(VALIDATE, &maps);
    let served = Served::serve(webhooks, LIMITS);
    // It reads nothing.
    let answer = served.post(&format!("{MUTATE}?timeout=500ms"), &creation("a"));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let post = |timeout: &str| {
        let path = format!("{VALIDATE}?timeout={timeout}");
        served.post(&path, &creation("a"))
    };

    let answer = post("500ms");
    assert!(answer.starts_with("HTTP/1.1 504"), "{answer}");
    assert!(
        answer.contains("the cache of configmaps was not listed"),
        "{answer}"
    );

    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| post("10s"));
        std::thread::sleep(Duration::from_millis(200));
        assert!(!waiting.is_finished());
        crate::cache::tests::list(&maps, &[]);
        let answer = waiting.join().unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    });
}

/// Denies the name of an object that is in the cache.
struct Unique(Cache<ConfigMap>);

impl Validator for Unique {
    type Object = ConfigMap;

    async fn validate_create(
        &self,
        _: &AdmissionRequest,
        object: &ConfigMap,
    ) -> Result<ValidationOutcome, BoxError> {
        let mut outcome = ValidationOutcome::default();
        if self.0.get(&ObjectRef::from_obj(object)).is_some() {
            outcome.deny(FieldError::forbidden(&FieldPath::new("metadata"), "taken"));
        }
        Ok(outcome)
    }
}

/// An API server that shows only the namespace `here`, which has the ConfigMap `a`. Returns its address, and what it has
/// refused.
fn with_one_namespace() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let (namespace, maps) = (
        "GET /api/v1/namespaces/here ",
        "GET /api/v1/namespaces/here/configmaps?",
    );
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, refused) = (listener.local_addr().unwrap(), Arc::default());
    let noted: Arc<Mutex<Vec<String>>> = Arc::clone(&refused);
    let answer = move |request: &str| {
        let a = json!({ "name": "a", "namespace": "here", "uid": "1", "resourceVersion": "4" });
        if request.starts_with(namespace) {
            return Some((200, json!({ "metadata": { "name": "here" } })));
        }
        if request.starts_with(maps) {
            let list =
                json!({ "metadata": { "resourceVersion": "5" }, "items": [{ "metadata": a }] });
            // A watch shows nothing.
            return (!request.contains("watch=true")).then_some((200, list));
        }
        lock(&noted).push(request.lines().next().unwrap_or_default().to_owned());
        Some((403, json!({ "kind": "Status", "code": 403 })))
    };
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, answer) = (stream.unwrap(), answer.clone());
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                while let Ok(length @ 1..) = stream.read(&mut buffer) {
                    let request = String::from_utf8_lossy(&buffer[..length]);
                    if let Some((code, body)) = answer(&request) {
                        let (body, json) = (body.to_string(), "content-type: application/json");
                        let length = body.len();
                        let head = format!("{code} Some\r\n{json}\r\ncontent-length: {length}");
                        let _ = write!(stream, "HTTP/1.1 {head}\r\n\r\n{body}");
                    }
                }
            });
        }
    });
    (address, refused)
}

#[test]
fn a_review_finds_the_objects_of_a_watched_namespace_and_needs_no_rights_elsewhere() {
    let (address, refused) = with_one_namespace();
    let runtime = Runtime::new().unwrap();
    let _entered = runtime.enter();
    let flags = Flags {
        health_probe_bind_address: BindAddress::Off,
        watch_namespace: vec!["here".to_owned()],
        ..Flags::default()
    };
    let config = kube::Config::new(format!("http://{address}").parse().unwrap());
    let mut manager = Manager::with_config(flags, config).unwrap();
    for namespace in manager.namespaces() {
        let maps = manager.namespaced(&namespace);
        manager.webhooks().validate(VALIDATE, Unique(maps.clone()));
        manager.webhooks().reads(VALIDATE, &maps);
    }
    let served = Served::serve(std::mem::take(manager.webhooks()), LIMITS);
    let stop = manager.stop_token();
    let running = runtime.spawn(async move { manager.run_until_stopped().await });
    let is_allowed = |namespace: &str, name: &str| {
        let mut map = ConfigMap::default();
        map.metadata.namespace = Some(namespace.to_owned());
        map.metadata.name = Some(name.to_owned());
        let map = serde_json::to_value(map).unwrap();
        let mut review = review("CREATE", &map, &Value::Null);
        review["request"]["kind"] = json!({ "group": "", "version": "v1", "kind": "ConfigMap" });
        let answer = served.post(VALIDATE, &review);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        answer.contains(r#""allowed":true"#)
    };

    assert!(!is_allowed("here", "a"));
    assert!(is_allowed("here", "b"));
    assert!(is_allowed("there", "a"));
    stop.cancel();
    runtime.block_on(running).unwrap().unwrap();
    assert_eq!(*lock(&refused), Vec::<String>::new());
}

#[test]
fn a_review_ends_before_the_time_that_the_api_server_gives_it() {
    let served = Served::start(LIMITS);
    let begun = Instant::now();

    let answer = served.post(&format!("{VALIDATE}?timeout=500ms"), &creation("slow"));

    assert!(answer.starts_with("HTTP/1.1 504"), "{answer}");
    assert!(answer.ends_with("no answer within 450ms"), "{answer}");
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn the_time_for_a_review_is_written_as_in_go() {
    for (query, expected) in [
        ("timeout=10s", Some(10_000)),
        ("a=b&timeout=1m0s", Some(60_000)),
        ("timeout=1h2m3.5s&c", Some(3_723_500)),
        ("timeout=500ms", Some(500)),
        ("timeout=", Some(0)),
        ("timeout=0s", Some(0)),
        ("timeout=10", None),
        ("timeout=s", None),
        ("timeout=1y", None),
        ("timeout=-1s", None),
        ("timeout=99999999999999999999h", None),
        ("retimeout=1s", None),
        ("", None),
    ] {
        let uri = format!("/validate?{query}").parse().unwrap();
        let expected = expected.map(Duration::from_millis);
        assert_eq!(http::timeout(&uri), expected, "{query}");
    }
}

#[test]
fn answers_are_counted_by_path() {
    let served = Served::start(LIMITS);
    served.post(VALIDATE, &creation("a"));
    served.post(VALIDATE, &creation("panic"));
    served.send(&format!("GET {VALIDATE} HTTP/1.1"), b"");
    served.post("/nowhere", &creation("a"));

    let text = served.metrics.text().unwrap();
    let webhook = format!(r#"webhook="{VALIDATE}""#);
    for line in [
        // A review that is denied is answered with 200, and so is one after a panic.
        format!(r#"requests_total{{{webhook},code="200"}} 2"#),
        format!(r#"requests_total{{{webhook},code="405"}} 1"#),
        format!(r#"requests_total{{{webhook},code="500"}} 0"#),
        format!(r#"requests_total{{webhook="{MUTATE}",code="200"}} 0"#),
        format!("latency_seconds_count{{{webhook}}} 3"),
        format!("requests_in_flight{{{webhook}}} 0"),
        "panics_total 1".to_owned(),
    ] {
        let line = format!("controller_runtime_webhook_{line}");
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    assert!(!text.contains("nowhere"), "{text}");
}

#[test]
fn a_panic_ends_nothing() {
    let served = Served::start(LIMITS);
    for _ in 0..3 {
        let answer = served.post(VALIDATE, &creation("panic"));
        assert!(answer.contains("InternalError"), "{answer}");
    }
    assert!(
        served
            .post(VALIDATE, &creation("a"))
            .contains(r#""allowed":true"#)
    );
}

#[test]
fn every_swap_of_the_certificate_is_served_and_no_connection_fails() {
    let mut served = Served::start(LIMITS);
    let pairs = [Pair::new(), Pair::new(), Pair::new()];
    let trusted = trusting(pairs.iter().chain([&served.first]));
    let (over, requests) = (AtomicBool::new(false), AtomicUsize::new(0));
    let port = served.flags.webhook_port;
    let call = || {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let mut tls = connect(stream, trusted.clone()).unwrap();
        let head = format!("POST {MUTATE} HTTP/1.1\r\ncontent-type: application/json");
        let body = creation("a").to_string();
        let answer = request(&mut tls, &head, body.as_bytes()).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        requests.fetch_add(1, Ordering::Relaxed);
        tls.conn.peer_certificates().unwrap()[0].clone()
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    call();
                }
            });
        }
        for pair in &pairs {
            served.mount.swap(pair);
            let swapped = Instant::now();
            while call() != pair.der {
                // A second is promised; this machine may be busy with other tests.
                if swapped.elapsed() > Duration::from_secs(10) {
                    over.store(true, Ordering::Relaxed);
                    panic!("the certificate is not served");
                }
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    assert!(requests.load(Ordering::Relaxed) > pairs.len());
}

#[test]
fn the_stop_lets_requests_finish_and_frees_the_port() {
    let served = Served::start(LIMITS);
    let flags = served.flags.clone();
    let (mut idle, mut busy) = (served.connect(), served.connect());
    let calling = std::thread::spawn(move || {
        let head = format!("POST {VALIDATE} HTTP/1.1\r\ncontent-type: application/json");
        let body = creation("nap").to_string();
        request(&mut busy, &head, body.as_bytes()).unwrap()
    });
    std::thread::sleep(Duration::from_millis(200));
    served.stop();

    assert!(calling.join().unwrap().starts_with("HTTP/1.1 200"));
    assert_eq!(idle.read(&mut [0; 8]).unwrap_or(0), 0);
    let again =
        Server::start_if(None, &flags, (webhooks(), None), &Metrics::new(), LIMITS).unwrap();
    Runtime::new().unwrap().block_on(again.stop());
}

#[test]
fn a_port_in_use_is_named() {
    let served = Served::start(LIMITS);

    let error = Server::start_if(
        None,
        &served.flags,
        (webhooks(), None),
        &Metrics::new(),
        LIMITS,
    )
    .err()
    .unwrap();

    let expected = format!(
        "could not listen on `127.0.0.1:{}` for the webhooks: ",
        served.flags.webhook_port
    );
    assert!(error.to_string().starts_with(&expected), "{error}");
}

#[test]
fn webhooks_can_be_off_and_the_log_says_why() {
    let mount = Mount::new();
    let (with, without) = (flags(&mount), Flags::default());
    for (enabled, flags, webhooks, expected) in [
        (None, &without, Webhooks::default(), None),
        (
            None,
            &without,
            webhooks(),
            Some("webhooks are off: neither --webhook-cert-path nor --webhook-cert-secret is set"),
        ),
        (
            Some("false"),
            &with,
            webhooks(),
            Some("webhooks are off: ENABLE_WEBHOOKS is false"),
        ),
    ] {
        let lines = crate::logging::tests::logged("info".into(), || {
            let server =
                Server::start_if(enabled, flags, (webhooks, None), &Metrics::new(), LIMITS)
                    .unwrap();
            assert!(server.certificate().is_none());
        });
        let messages: Vec<_> = lines
            .iter()
            .map(|line| line["message"].as_str().unwrap())
            .collect();
        assert_eq!(messages, Vec::from_iter(expected));
    }
    for enabled in ["true", "yes", ""] {
        let server = Server::start_if(
            Some(enabled),
            &with,
            (webhooks(), None),
            &Metrics::new(),
            LIMITS,
        )
        .unwrap();
        assert!(server.certificate().is_some());
        Runtime::new().unwrap().block_on(server.stop());
    }
}
