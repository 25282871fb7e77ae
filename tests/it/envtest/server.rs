//! An HTTP server on loopback, and what it serves: an index of releases, and real archives.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use sha2::{Digest, Sha512};

/// The response to a request for a path.
#[derive(Clone)]
pub struct Answer {
    pub status: u16,
    /// The value of `Content-Length`; a shorter body is one that was cut off.
    pub length: usize,
    pub body: Vec<u8>,
    /// Whether the connection then stays open without sending more.
    pub hangs: bool,
}

impl Answer {
    pub fn ok(body: Vec<u8>) -> Self {
        Self {
            status: 200,
            length: body.len(),
            body,
            hangs: false,
        }
    }

    pub fn status(status: u16) -> Self {
        Self {
            status,
            ..Self::ok(Vec::new())
        }
    }
}

/// Serves until it is dropped; then nothing listens on its port any more.
pub struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// `routes` takes the server's own URL, and returns the responses by path; every other path
    /// gets a 404.
    pub fn start(routes: impl FnOnce(&str) -> Vec<(String, Answer)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let routes = routes(&format!("http://{address}"));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let is_over = Arc::new(AtomicBool::new(false));
        let (seen, over) = (Arc::clone(&requests), Arc::clone(&is_over));
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if over.load(Ordering::SeqCst) {
                    break;
                }
                let (routes, seen) = (routes.clone(), Arc::clone(&seen));
                thread::spawn(move || answer(stream.expect("a connection"), &routes, &seen));
            }
        });
        Self {
            address,
            requests,
            is_over,
            thread: Some(thread),
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requested paths, in order.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("the list").clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer(mut stream: TcpStream, routes: &[(String, Answer)], seen: &Mutex<Vec<String>>) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if !matches!(stream.read(&mut byte), Ok(1)) {
            return;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head);
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let found = routes.iter().find(|(route, _)| *route == path);
    let answer = found.map_or(Answer::status(404), |(_, answer)| answer.clone());
    seen.lock().expect("the list").push(path);
    let head = format!(
        "HTTP/1.1 {} Answer\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        answer.status, answer.length
    );
    // Some tests are about clients that disconnect.
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(&answer.body);
    let _ = stream.flush();
    if answer.hangs {
        let _ = stream.read(&mut byte);
    }
}

/// A `.tar.gz` like the official ones, of binaries that print their name and version.
pub fn archive(version: &str, binaries: &[&str]) -> Vec<u8> {
    let mut files: Vec<(String, String)> = vec![(
        // A file that is not needed: its path begins and ends like that of a binary.
        "controller-tools/envtest/not-etcd".to_owned(),
        "nothing".to_owned(),
    )];
    files.extend(binaries.iter().map(|name| {
        let path = format!("controller-tools/envtest/{name}");
        (path, script(name, version))
    }));
    pack(&files)
}

/// The script that replaces a binary.
pub fn script(name: &str, version: &str) -> String {
    format!("#!/bin/sh\necho {name} v{version}\n")
}

/// Packs files under exactly these names, whatever they are; a file without text becomes a link.
pub fn pack(files: &[(String, String)]) -> Vec<u8> {
    let gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut builder = tar::Builder::new(gz);
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        if text.is_empty() {
            header.set_entry_type(tar::EntryType::Symlink);
            header.set_link_name("/etc/passwd").expect("a link");
        }
        header.set_cksum();
        builder.append(&header, text.as_bytes()).expect("a file");
    }
    let gz = builder.into_inner().expect("an archive");
    gz.finish().expect("an archive")
}

pub fn sha512(bytes: &[u8]) -> String {
    format!("{:x}", Sha512::digest(bytes))
}

/// The index of one version with one archive, in the format of the official index.
pub fn index(version: &str, platform: &str, hash: &str, link: &str) -> String {
    format!(
        "releases:\n  v1.37.0-beta.0:\n    envtest-v1.37.0-beta.0-{platform}.tar.gz:\n      \
         hash: none\n      selfLink: {link}-beta\n  v{version}:\n    \
         envtest-v{version}-{platform}.tar.gz:\n      hash: {hash}\n      selfLink: {link}\n"
    )
}
