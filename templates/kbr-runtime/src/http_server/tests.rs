// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests, without TLS.

use super::*;
use crate::thread::Thread;
use futures::FutureExt;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

/// More than the buffers of the system take.
const LARGE: usize = 32 << 20;

/// Ten times the promised maximum.
const SOON: Duration = Duration::from_secs(10);

const LIMITS: Limits = Limits {
    connections: 1000,
    memory: 2 * LARGE,
    reserve: LARGE / 2,
    handshake: Duration::from_secs(100),
    idle: Duration::from_secs(100),
    answer: Duration::from_secs(100),
    lame_duck: Duration::from_secs(1),
    drain: Duration::from_secs(2),
};

struct Served {
    address: SocketAddr,
    stop: DropGuard,
    _thread: Thread,
}

impl Served {
    fn start(limits: Limits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let respond: Respond = Box::new(|peer, request| respond(peer, request).boxed());
        let task = serve(listener, None, limits, stop.clone(), respond);
        Self {
            address,
            stop: stop.drop_guard(),
            _thread: Thread::spawn("tests", task).unwrap(),
        }
    }

    /// Connects, and sends `text`.
    fn send(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    }

    /// The start of the response to a request on its own connection.
    fn get(&self, path: &str) -> String {
        head(&mut self.send(&request(path)))
    }
}

/// Answers `/take/<bytes>` with that many bytes, if it gets the memory for them.
async fn respond(peer: Arc<Peer>, request: Request<Incoming>) -> Answer {
    let Some(bytes) = request.uri().path().strip_prefix("/take/") else {
        return text(StatusCode::OK, "ok");
    };
    let bytes = bytes.parse().unwrap();
    match peer.hold(bytes).await {
        Ok(()) => text(StatusCode::OK, vec![b'a'; bytes]),
        Err(Unavailable::Now) => text(StatusCode::SERVICE_UNAVAILABLE, ""),
        Err(Unavailable::Never(most)) => text(StatusCode::PAYLOAD_TOO_LARGE, most.to_string()),
    }
}

fn request(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n")
}

fn take(bytes: usize) -> String {
    request(&format!("/take/{bytes}"))
}

/// The first bytes of a response: its status line.
fn head(stream: &mut TcpStream) -> String {
    let mut head = [0; 12];
    let read = stream.read_exact(&mut head);
    read.map_or_else(
        |error| error.to_string(),
        |()| String::from_utf8_lossy(&head).into(),
    )
}

/// Waits until the server closes the connection, and returns whether it did.
fn is_closed(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => true,
        Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn half_sent_requests_are_closed_and_others_are_answered() {
    let served = Served::start(Limits {
        idle: Duration::from_millis(300),
        ..LIMITS
    });
    let begun = Instant::now();
    let half = ["", "GET", "GET / HTTP/1.1\r\nhost: a\r\n"];
    let mut half = half.map(|text| served.send(text));

    assert_eq!(served.get("/"), "HTTP/1.1 200");
    assert!(half.iter_mut().all(is_closed));
    assert!(begun.elapsed() < SOON);
}

#[test]
fn a_head_that_never_ends_is_not_kept() {
    let served = Served::start(LIMITS);
    let mut endless = served.send("GET / HTTP/1.1\r\n");
    let header = format!("a: {}\r\n", "a".repeat(1000));
    let sent = (0..10_000).find(|_| endless.write_all(header.as_bytes()).is_err());
    assert!(sent.is_some(), "it took 10 MB");
}

#[test]
fn idle_connections_give_way_to_new_ones_unused_ones_first() {
    let served = Served::start(Limits {
        connections: 10,
        ..LIMITS
    });
    let mut used = served.send(&request("/"));
    assert_eq!(head(&mut used), "HTTP/1.1 200");
    let mut idle: Vec<_> = (0..100).map(|_| served.send("GET")).collect();

    let begun = Instant::now();
    assert_eq!(served.get("/"), "HTTP/1.1 200");
    assert!(begun.elapsed() < SOON);

    // It is older than all of these.
    assert!(is_closed(&mut idle[0]));
    used.write_all(request("/").as_bytes()).unwrap();
    let mut read = Vec::new();
    // After the rest of its first response.
    while !String::from_utf8_lossy(&read).contains("HTTP/1.1 200") {
        let mut some = [0; 100];
        let length = used.read(&mut some).unwrap();
        assert_ne!(length, 0, "it was closed");
        read.extend_from_slice(&some[..length]);
    }
}

#[test]
fn an_answer_takes_memory_until_it_is_read_and_gives_way_if_it_is_not() {
    let served = Served::start(LIMITS);
    let mut unread = served.send(&take(LARGE));
    assert_eq!(head(&mut unread), "HTTP/1.1 200");
    let begun = Instant::now();

    // The second needs what the first has.
    assert_eq!(served.get(&format!("/take/{LARGE}")), "HTTP/1.1 200");

    assert!(begun.elapsed() < SOON);
    let mut rest = Vec::new();
    let _ = unread.read_to_end(&mut rest);
    assert!(rest.len() < LARGE, "all of it was kept");
}

#[test]
fn an_answer_that_nobody_reads_is_dropped_after_a_while() {
    let served = Served::start(Limits {
        answer: Duration::from_millis(300),
        ..LIMITS
    });
    let mut unread = served.send(&take(LARGE));
    std::thread::sleep(Duration::from_secs(3));
    let mut rest = Vec::new();
    let _ = unread.read_to_end(&mut rest);
    assert!(rest.len() < LARGE, "all of it was kept");
}

#[test]
fn small_requests_have_memory_of_their_own() {
    let served = Served::start(LIMITS);
    let most = LIMITS.memory - LIMITS.reserve;
    let mut large = served.send(&take(most));
    assert_eq!(head(&mut large), "HTTP/1.1 200");

    let small = LIMITS.reserve / 4;
    assert_eq!(served.get(&format!("/take/{small}")), "HTTP/1.1 200");

    // The large one did not have to give way.
    let mut rest = vec![0; most];
    large.read_exact(&mut rest).unwrap();
}

#[test]
fn a_request_for_too_much_memory_is_refused() {
    let served = Served::start(LIMITS);
    let most = LIMITS.memory - LIMITS.reserve;
    assert_eq!(served.get(&format!("/take/{}", most + 1)), "HTTP/1.1 413");
}

#[test]
fn after_the_stop_a_request_on_an_idle_connection_is_answered_and_closes_it() {
    let served = Served::start(LIMITS);
    let mut used = served.send(&request("/"));
    let mut idle = served.send(&request("/"));
    for stream in [&mut used, &mut idle] {
        assert_eq!(head(stream), "HTTP/1.1 200");
    }
    let begun = Instant::now();
    drop(served.stop);
    std::thread::sleep(LIMITS.lame_duck / 4);

    used.write_all(request("/").as_bytes()).unwrap();
    let mut answers = String::new();
    used.read_to_string(&mut answers).unwrap();
    let (_, last) = answers.split_once("HTTP/1.1 200").unwrap();
    assert!(last.contains("connection: close"), "{answers}");
    assert!(is_closed(&mut idle));
    assert!(begun.elapsed() >= LIMITS.lame_duck);
}
