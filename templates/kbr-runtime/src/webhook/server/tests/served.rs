// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! A server to call, and the client that calls it.

use super::*;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{self, Read, Write};
use std::net::TcpStream;

/// A running server with a certificate, and everything that a client needs.
pub(super) struct Served {
    pub(super) server: Server,
    pub(super) flags: Flags,
    pub(super) mount: Mount,
    pub(super) first: Pair,
    pub(super) metrics: Metrics,
}

impl Served {
    pub(super) fn start(limits: Limits) -> Self {
        Self::serve(webhooks(), limits)
    }

    pub(super) fn serve(webhooks: Webhooks, limits: Limits) -> Self {
        let (mut mount, first) = (Mount::new(), Pair::new());
        mount.swap(&first);
        let flags = flags(&mount);
        let metrics = Metrics::new();
        metrics.count_panics(webhooks.panics(), webhooks.conversion_panics());
        let server = Server::start_if(None, &flags, (webhooks, None), &metrics, limits).unwrap();
        Self {
            server,
            flags,
            mount,
            first,
            metrics,
        }
    }

    pub(super) fn tcp(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.flags.webhook_port)).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        stream
    }

    pub(super) fn connect(&self) -> Tls {
        connect(self.tcp(), trusting([&self.first])).unwrap()
    }

    /// Sends a request on its own connection and returns the response.
    pub(super) fn send(&self, head: &str, body: &[u8]) -> String {
        let mut stream = self.connect();
        request(&mut stream, head, body).unwrap()
    }

    pub(super) fn post(&self, path: &str, review: &Value) -> String {
        let json = "content-type: application/json";
        self.send(
            &format!("POST {path} HTTP/1.1\r\n{json}"),
            review.to_string().as_bytes(),
        )
    }

    pub(super) fn stop(self) {
        Runtime::new().unwrap().block_on(self.server.stop());
    }
}

pub(super) type Tls = StreamOwned<ClientConnection, TcpStream>;

/// Flags for a free port.
pub(super) fn flags(mount: &Mount) -> Flags {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    Flags {
        webhook_cert_path: Some(mount.folder.clone()),
        webhook_host: "127.0.0.1".to_owned(),
        webhook_port: free.local_addr().unwrap().port(),
        ..Flags::default()
    }
}

pub(super) fn trusting<'a>(pairs: impl IntoIterator<Item = &'a Pair>) -> Arc<ClientConfig> {
    trusting_as(pairs, None)
}

/// With the certificate of `client`, if there is one.
pub(super) fn trusting_as<'a>(
    pairs: impl IntoIterator<Item = &'a Pair>,
    client: Option<&Pair>,
) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for pair in pairs {
        roots.add(pair.der.clone()).unwrap();
    }
    let config =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots);
    Arc::new(match client {
        Some(client) => config
            .with_client_auth_cert(vec![client.der.clone()], client.private())
            .unwrap(),
        None => config.with_no_client_auth(),
    })
}

/// Connects, and completes the handshake.
pub(super) fn connect(mut stream: TcpStream, config: Arc<ClientConfig>) -> io::Result<Tls> {
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let mut tls = ClientConnection::new(config, name).unwrap();
    while tls.is_handshaking() {
        tls.complete_io(&mut stream)?;
    }
    Ok(StreamOwned::new(tls, stream))
}

/// Sends a last request and returns the response.
pub(super) fn request(stream: &mut Tls, head: &str, body: &[u8]) -> io::Result<String> {
    let length = body.len();
    write!(
        stream,
        "{head}\r\nhost: a\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
    )?;
    stream.write_all(body)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
