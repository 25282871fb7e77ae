// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use crate::api_server::ApiServer;
use crate::metrics::Counts;
use crate::queue::Queue;
use crate::thread::Thread;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

/// An address that nothing listens on.
fn closed() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 1))
}

fn config(api_server: SocketAddr) -> Config {
    Config::new(format!("http://{api_server}").parse().unwrap())
}

/// The health of a process without work that uses this API server.
fn health(api_server: SocketAddr) -> Health {
    crate::client::install_tls_provider();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let _entered = runtime.enter();
    Health::new(ApiServer::new(config(api_server)))
}

/// The same, with work that makes no progress.
fn stuck(api_server: SocketAddr) -> Health {
    let mut health = health(api_server);
    let queue = Queue::new(Counts::unread());
    queue.has_waited(Duration::from_secs(3600));
    health.add("busy", queue);
    health.server().has_answered_for(Duration::from_secs(3600));
    health
}

/// Starts probes and returns the response to `GET path`.
fn probe(
    certificate: Option<Certificate>,
    api_server: SocketAddr,
    health: Health,
    path: &str,
) -> String {
    let (address, _thread) = start(certificate, api_server, health);
    get(address, path)
}

fn start(
    certificate: Option<Certificate>,
    api_server: SocketAddr,
    health: Health,
) -> (SocketAddr, Thread) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let task = serve(
        listener,
        config(api_server),
        certificate,
        health,
        Added::default(),
    );
    (address, Thread::spawn("probes", task).unwrap())
}

fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn an_outage_of_the_api_server_changes_no_probe() {
    for path in ["/healthz", "/readyz"] {
        let answer = probe(None, closed(), health(closed()), path);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    let answer = probe(None, closed(), stuck(closed()), "/healthz");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn connections_that_send_half_a_request_keep_no_probe_from_its_answer() {
    let (address, _thread) = start(None, closed(), health(closed()));
    let begun = Instant::now();
    let half: Vec<_> = (0..1000)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"GET /healthz HTTP/1.1\r\n").unwrap();
            stream
        })
        .collect();

    assert!(get(address, "/healthz").starts_with("HTTP/1.1 200"));

    assert!(begun.elapsed() < Duration::from_secs(20));
    drop(half);
}

#[test]
fn probes_ask_the_api_server_nothing() {
    let api_server = TcpListener::bind("127.0.0.1:0").unwrap();
    api_server.set_nonblocking(true).unwrap();
    let address = api_server.local_addr().unwrap();
    let (probes, _thread) = start(None, address, health(address));

    for path in ["/healthz", "/readyz"].repeat(20) {
        let answer = get(probes, path);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    let asked = api_server.accept().unwrap_err();
    assert_eq!(asked.kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn probes_are_answered_while_every_worker_spins() {
    let (address, _thread) = start(None, closed(), health(closed()));
    let workers = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .build()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(3);
    for _ in 0..8 {
        workers.spawn(async move {
            while Instant::now() < until {
                std::hint::spin_loop();
            }
        });
    }
    let begun = Instant::now();

    assert!(get(address, "/healthz").starts_with("HTTP/1.1 200"));

    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn a_process_that_is_stuck_while_the_api_server_answers_is_not_healthy() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let api_server = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]).unwrap();
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
        }
    });

    let answer = probe(None, api_server, stuck(api_server), "/healthz");

    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(
        answer.contains("controller `busy` has work and has finished none for 3600s"),
        "{answer}"
    );
    let answer = probe(None, api_server, stuck(api_server), "/readyz");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn not_ready_without_the_certificate_of_webhooks() {
    let certificate = || Some(Certificate::none("/certs/tls.crt: gone"));

    let answer = probe(certificate(), closed(), health(closed()), "/readyz");
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(
        answer.ends_with("webhooks have no certificate: /certs/tls.crt: gone"),
        "{answer}"
    );

    let answer = probe(certificate(), closed(), health(closed()), "/healthz");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn an_address_in_use_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = BindAddress::Host(taken.local_addr().unwrap().to_string());

    let error = super::start(
        &address,
        config(closed()),
        None,
        health(closed()),
        Added::default(),
    )
    .err()
    .unwrap();

    let expected = format!("could not listen on `{address}` for the health probes: ");
    assert!(error.to_string().starts_with(&expected), "{error}");
}

#[tokio::test]
async fn a_server_that_cannot_go_on_says_why() {
    crate::client::install_tls_provider();
    let mut config = config(closed());
    config.root_cert = Some(vec![b"no certificate".to_vec()]);
    let address = "127.0.0.1:0".parse().unwrap();

    let health = Health::new(ApiServer::new(Config::new(
        "http://127.0.0.1:1".parse().unwrap(),
    )));
    let mut probes = super::start(&address, config, None, health, Added::default()).unwrap();

    let error = probes.ended().await.to_string();
    assert!(error.starts_with("the probes thread ended: "), "{error}");
}

#[test]
fn checks_are_answered_with_the_name_of_the_one_that_failed() {
    let mut checks = Added::default();
    checks.health.add("queue", || async { Err("it is full") });
    checks.health.add("disk", || async { Ok::<_, String>(()) });
    checks.ready.add("warm", || async { Ok::<_, String>(()) });
    checks.ready.add("stuck", || async {
        std::thread::sleep(Duration::from_secs(5));
        Ok::<_, String>(())
    });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let task = serve(listener, config(closed()), None, health(closed()), checks);
    let _thread = Thread::spawn("probes", task).unwrap();

    for (path, code, body) in [
        ("/healthz", 503, "[-]queue failed: it is full\n[+]disk ok\n"),
        ("/healthz/queue", 503, "[-]queue failed: it is full\n"),
        ("/healthz/disk", 200, "ok"),
        ("/healthz/disk?verbose", 200, "[+]disk ok\nok"),
        ("/healthz/warm", 404, "there is no such check"),
        (
            "/readyz",
            503,
            "[+]warm ok\n[-]stuck failed: no answer within 800ms\n",
        ),
        // While that check still blocks.
        ("/readyz/warm", 200, "ok"),
    ] {
        let answer = get(address, path);
        let start = format!("HTTP/1.1 {code}");
        assert!(answer.starts_with(&start), "{path}: {answer}");
        let end = format!("\r\n\r\n{body}");
        assert!(answer.ends_with(&end), "{path}: {answer}");
    }
}
