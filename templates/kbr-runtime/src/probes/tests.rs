// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
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

/// Starts probes for that API server and returns the answer to `GET path`.
fn probe(api_server: SocketAddr, path: &str) -> String {
    probe_with(None, api_server, path)
}

fn probe_with(certificate: Option<Certificate>, api_server: SocketAddr, path: &str) -> String {
    let (address, _thread) = start(certificate, api_server);
    get(address, path)
}

fn start(certificate: Option<Certificate>, api_server: SocketAddr) -> (SocketAddr, Thread) {
    crate::client::install_tls_provider();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let task = serve(listener, config(api_server), certificate);
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
fn healthy_without_an_api_server() {
    assert!(probe(closed(), "/healthz").starts_with("HTTP/1.1 200"));
}

/// found.md, Runtime 6
#[test]
fn connections_that_send_half_a_request_keep_no_probe_from_its_answer() {
    let (address, _thread) = start(None, closed());
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
fn not_ready_when_nothing_listens() {
    let answer = probe(closed(), "/readyz");
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.contains("refused"), "{answer}");
}

#[test]
fn not_ready_when_the_api_server_is_silent() {
    // The kernel takes the connection, and nobody reads from it.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();

    let answer = probe(silent.local_addr().unwrap(), "/readyz");

    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.ends_with("no answer within 800ms"), "{answer}");
}

#[test]
fn not_ready_without_the_certificate_of_webhooks() {
    let certificate = Certificate::none("/certs/tls.crt: gone");

    let answer = probe_with(Some(certificate.clone()), closed(), "/readyz");
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(
        answer.ends_with("webhooks have no certificate: /certs/tls.crt: gone"),
        "{answer}"
    );

    let answer = probe_with(Some(certificate), closed(), "/healthz");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn an_address_in_use_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = BindAddress::Host(taken.local_addr().unwrap().to_string());

    let error = Probes::start(&address, config(closed()), None)
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

    let mut probes = Probes::start(&address, config, None).unwrap();

    let error = probes.ended().await.to_string();
    assert!(error.starts_with("the probes thread ended: "), "{error}");
}
