// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! Calls the webhooks as the API server does: HTTP/1.1 over TLS, with a review of the sample.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::ByteString;
use kbr_runtime::Flags;
use kbr_testing::TestEnv;
use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;

pub const MUTATE: &str = "/mutate-batch-tutorial-kubebuilder-io-v1-cronjob";
pub const VALIDATE: &str = "/validate-batch-tutorial-kubebuilder-io-v1-cronjob";

/// The review that an API server sent for the sample.
pub const REVIEW: &str = include_str!("review.json");

/// The fields that the sample omits.
const DEFAULTED: [&str; 3] = [
    "/spec/failedJobsHistoryLimit",
    "/spec/successfulJobsHistoryLimit",
    "/spec/suspend",
];

/// An API server waits no longer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Calls the webhooks of an environment.
pub struct Client {
    port: u16,
    folder: PathBuf,
    tls: Arc<ClientConfig>,
}

impl Client {
    pub fn of(env: &TestEnv) -> io::Result<Self> {
        let mut flags = Flags::default();
        env.serve_webhooks(&mut flags);
        let folder = flags.webhook_cert_path;
        let folder = folder.ok_or_else(|| io::Error::other("no webhooks are called"))?;
        let mut roots = RootCertStore::empty();
        let authority = CertificateDer::from_pem_file(folder.join("ca.crt"));
        roots
            .add(authority.map_err(io::Error::other)?)
            .map_err(io::Error::other)?;
        let tls = ClientConfig::builder().with_root_certificates(roots);
        let mut tls = tls.with_no_client_auth();
        // Nor does the API server.
        tls.resumption = Resumption::disabled();
        Ok(Self {
            port: flags.webhook_port,
            folder,
            tls: Arc::new(tls),
        })
    }

    /// The certificate that it should serve new connections with.
    pub fn certificate(&self) -> io::Result<CertificateDer<'static>> {
        CertificateDer::from_pem_file(self.folder.join("tls.crt")).map_err(io::Error::other)
    }

    /// A new TCP connection, without TLS.
    pub fn tcp(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        Ok(stream)
    }

    pub fn connect(&self) -> io::Result<Connection> {
        let mut stream = self.tcp()?;
        let name = ServerName::from(IpAddr::from(Ipv4Addr::LOCALHOST));
        let tls = ClientConnection::new(self.tls.clone(), name);
        let mut tls = tls.map_err(io::Error::other)?;
        while tls.is_handshaking() {
            tls.complete_io(&mut stream)?;
        }
        Ok(Connection(BufReader::new(StreamOwned::new(tls, stream))))
    }
}

pub struct Connection(pub BufReader<StreamOwned<ClientConnection, TcpStream>>);

impl Connection {
    /// The serving certificate.
    pub fn certificate(&self) -> Option<&CertificateDer<'static>> {
        self.0.get_ref().conn.peer_certificates()?.first()
    }

    /// Sends the review to `path`. Any response but the expected one is an error.
    pub fn review(&mut self, path: &str) -> io::Result<()> {
        self.write((head(path, REVIEW.len()) + REVIEW).as_bytes())?;
        let response = self.response()?;
        match is_right(path, &response) {
            true => Ok(()),
            false => Err(io::Error::other(format!("unexpected response {response}"))),
        }
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.get_mut().write_all(bytes)
    }

    fn response(&mut self) -> io::Result<Value> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.0.read_line(&mut head)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let head = head.to_ascii_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
        match length {
            Some(length) if head.starts_with("http/1.1 200 ") => {
                let mut body = vec![0; length];
                self.0.read_exact(&mut body)?;
                Ok(serde_json::from_slice(&body)?)
            }
            _ => Err(io::Error::other(format!("unexpected response {head}"))),
        }
    }
}

pub fn head(path: &str, length: usize) -> String {
    format!(
        "POST {path}?timeout=10s HTTP/1.1\r\n\
         Host: webhook-service.system.svc:443\r\n\
         Content-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n"
    )
}

fn is_right(path: &str, review: &Value) -> bool {
    let response = &review["response"];
    response["allowed"] == true && (path != MUTATE || fills_in(response).unwrap_or_default())
}

/// Whether the patch adds all fields that the sample omits.
fn fills_in(response: &Value) -> Option<bool> {
    let patch: ByteString = serde_json::from_value(response["patch"].clone()).ok()?;
    let patch: Vec<Value> = serde_json::from_slice(&patch.0).ok()?;
    let adds = |field: &&str| {
        let is_it = |change: &Value| change["op"] == "add" && change["path"] == *field;
        patch.iter().any(is_it)
    };
    Some(DEFAULTED.iter().all(adds))
}
