// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The proxy, in front of a server that answers each request with its number.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use super::*;

/// How long to wait for what must arrive.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long to wait for what must not arrive: a proxy that passes it on needs less.
const MOMENT: Duration = Duration::from_millis(300);

/// A proxy in front of a server, and how many requests the server has received.
struct Server {
    proxy: FaultProxy,
    requests: Arc<AtomicUsize>,
}

impl Server {
    fn start() -> Self {
        install_tls_provider();
        let listener = TcpListener::bind((LOOPBACK, 0)).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let counter = Arc::clone(&counter);
                thread::spawn(move || answer_each(stream.unwrap(), &counter));
            }
        });
        let config = Config::new(url.parse().unwrap());
        Self {
            proxy: FaultProxy::in_front_of(config).unwrap(),
            requests,
        }
    }

    fn connect(&self) -> Connection {
        let stream = TcpStream::connect(self.proxy.address).unwrap();
        Connection(BufReader::new(stream))
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    fn until_requests(&self, number: usize) {
        let start = Instant::now();
        while self.requests() < number {
            assert!(start.elapsed() < PATIENCE, "the request did not arrive");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A watch is answered with a line every 10 ms, anything else with the number of the request.
fn answer_each(stream: TcpStream, requests: &AtomicUsize) {
    let mut stream = BufReader::new(stream);
    while let Some(head) = head(&mut stream) {
        let number = requests.fetch_add(1, Ordering::SeqCst) + 1;
        if head.contains("watch=true") {
            let begin = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
            let mut written = stream.get_mut().write_all(begin.as_bytes());
            while written.is_ok() {
                written = stream.get_mut().write_all(b"5\r\ntick\n\r\n");
                thread::sleep(Duration::from_millis(10));
            }
            return;
        }
        let (text, length) = (number.to_string(), number.to_string().len());
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{text}");
        if stream.get_mut().write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn head(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    Some(head)
}

/// An operator's connection to the proxy.
struct Connection(BufReader<TcpStream>);

impl Connection {
    fn send(&mut self, method: &str, path: &str) {
        let request = format!("{method} {path} HTTP/1.1\r\nhost: a\r\n\r\n");
        self.0.get_mut().write_all(request.as_bytes()).unwrap();
    }

    /// The head and the body of a response that has a length.
    fn answer(&mut self) -> (String, String) {
        self.0.get_mut().set_read_timeout(Some(PATIENCE)).unwrap();
        let head = head(&mut self.0).unwrap().to_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).unwrap();
        (head, String::from_utf8(body).unwrap())
    }

    fn get(&mut self, path: &str) -> String {
        self.send("GET", path);
        self.answer().1
    }

    /// Begins a watch and waits for its first lines.
    fn watch(&mut self) {
        self.send("GET", "/jobs?watch=true");
        self.0.get_mut().set_read_timeout(Some(PATIENCE)).unwrap();
        head(&mut self.0).unwrap();
        self.0.read_exact(&mut [0; 30]).unwrap();
    }

    /// How much arrives within a moment: `None` when the connection is open and nothing does.
    fn next(&mut self) -> Option<usize> {
        self.0.get_mut().set_read_timeout(Some(MOMENT)).unwrap();
        let start = Instant::now();
        // Data in transit when the fault began may still arrive.
        loop {
            match self.0.read(&mut [0; 4096]) {
                Ok(0) => return Some(0),
                Ok(read) if start.elapsed() > MOMENT * 10 => return Some(read),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Some(0),
                Err(_) => return None,
            }
        }
    }

    fn is_silent(&mut self) -> bool {
        self.next().is_none()
    }

    fn is_closed(&mut self) -> bool {
        self.0.get_mut().set_read_timeout(Some(PATIENCE)).unwrap();
        let rest = self.0.read_to_end(&mut Vec::new());
        rest.map_or_else(|error| error.kind() == ErrorKind::ConnectionReset, |_| true)
    }
}

fn is_watch(request: &ProxiedRequest) -> bool {
    request.is_watch
}

fn is_post(request: &ProxiedRequest) -> bool {
    request.method == "POST"
}

#[test]
fn requests_and_watches_pass_without_a_fault() {
    let server = Server::start();
    let mut connection = server.connect();
    assert_eq!(connection.get("/a"), "1");
    assert_eq!(connection.get("/b"), "2");
    // Its lines arrive while it continues.
    connection.watch();
    assert_eq!(server.proxy.hits(), 0);
}

#[test]
fn a_connection_never_recovers_from_a_black_hole_and_new_ones_work() {
    let server = Server::start();
    let (mut idle, mut watching) = (server.connect(), server.connect());
    idle.get("/a");
    watching.watch();

    server.proxy.black_hole();
    let mut new = server.connect();
    new.send("GET", "/b");
    idle.send("GET", "/c");
    for connection in [&mut idle, &mut watching, &mut new] {
        assert!(connection.is_silent());
    }

    server.proxy.heal();
    assert_eq!(server.connect().get("/d"), "3");
    for connection in [&mut idle, &mut watching, &mut new] {
        assert!(connection.is_silent());
    }
    assert_eq!((server.requests(), server.proxy.hits()), (3, 3));
}

#[test]
fn a_black_hole_of_some_requests_spares_the_others() {
    let server = Server::start();
    let (mut watching, mut posting) = (server.connect(), server.connect());
    watching.watch();
    // It has no request in progress.
    posting.get("/a");

    server.proxy.black_hole_requests(is_watch);
    assert!(watching.is_silent());
    assert_eq!(posting.get("/b"), "3");

    server.proxy.black_hole_requests(is_post);
    posting.send("POST", "/c");
    assert!(posting.is_silent());
    assert_eq!(server.connect().get("/d"), "4");
    assert_eq!(server.proxy.hits(), 2);
}

#[test]
fn a_request_whose_answer_is_lost_was_carried_out() {
    let server = Server::start();
    server.proxy.lose_answers(is_post);
    let mut posting = server.connect();

    posting.send("POST", "/a");
    server.until_requests(1);

    assert!(posting.is_silent());
    server.proxy.heal();
    assert!(posting.is_silent());
    assert_eq!(server.connect().get("/b"), "2");
}

#[test]
fn a_refusal_is_a_status_object_and_leaves_the_connection_open() {
    let server = Server::start();
    let after = Some(Duration::from_secs(7));
    server.proxy.refuse(is_post, 429, after);
    let mut connection = server.connect();

    connection.send("POST", "/a");
    let (head, body) = connection.answer();

    assert!(head.starts_with("http/1.1 429 "), "{head}");
    assert!(head.contains("\r\nretry-after: 7\r\n"), "{head}");
    let status: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(status["reason"], "TooManyRequests");
    assert_eq!(status["code"], 429);
    assert_eq!((server.requests(), server.proxy.hits()), (0, 1));
    assert_eq!(connection.get("/b"), "1");
    server.proxy.heal();
    connection.send("POST", "/c");
    assert_eq!(connection.answer().1, "2");
}

#[test]
fn a_cut_closes_what_is_open_and_nothing_later() {
    let server = Server::start();
    let (mut idle, mut watching) = (server.connect(), server.connect());
    idle.get("/a");
    watching.watch();

    server.proxy.cut_requests(is_watch);
    assert!(watching.is_closed());
    assert_eq!(idle.get("/b"), "3");

    server.proxy.cut();
    assert!(idle.is_closed());
    assert_eq!(server.connect().get("/c"), "4");
}

#[test]
fn refused_connections_are_closed_and_others_continue() {
    let server = Server::start();
    let mut old = server.connect();
    old.get("/a");

    server.proxy.refuse_connections();
    assert!(server.connect().is_closed());
    assert_eq!(old.get("/b"), "2");

    server.proxy.heal();
    assert_eq!(server.connect().get("/c"), "3");
}

#[test]
fn an_unreachable_server_closes_the_connection() {
    let port = TcpListener::bind((LOOPBACK, 0)).unwrap();
    let url = format!("http://{}", port.local_addr().unwrap());
    drop(port);
    install_tls_provider();
    let proxy = FaultProxy::in_front_of(Config::new(url.parse().unwrap())).unwrap();
    let mut connection = Connection(BufReader::new(TcpStream::connect(proxy.address).unwrap()));

    connection.send("GET", "/a");

    assert!(connection.is_closed());
}

#[test]
fn a_kubeconfig_is_copied_with_its_credentials_and_without_its_certificate() {
    let server = Server::start();
    let folder = std::env::temp_dir().join(format!("fault-proxy-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("kubeconfig");
    let original = json!({
        "clusters": [{ "name": "a", "cluster": {
            "server": "https://127.0.0.1:1", "certificate-authority": "/ca.crt",
        } }],
        "users": [{ "name": "b", "user": { "token": "secret" } }],
    });
    fs::write(&path, original.to_string()).unwrap();

    let copy = server.proxy.kubeconfig(&path).unwrap();

    let copied: Value = serde_json::from_slice(&fs::read(&copy).unwrap()).unwrap();
    let url = format!("http://{}", server.proxy.address);
    assert_eq!(copied["clusters"][0]["cluster"], json!({ "server": url }));
    assert_eq!(copied["users"], original["users"]);
    fs::remove_dir_all(folder).unwrap();
}
