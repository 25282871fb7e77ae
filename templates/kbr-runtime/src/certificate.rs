// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The certificate of a server, reloaded whenever its files change.
//!
//! The files are polled several times a second. File system notifications would not do: the kubelet
//! updates a mounted Secret by renaming a link to another folder.

pub(crate) mod validity;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{
    ClientHello, NoServerSessionStorage, ResolvesServerCert, WebPkiClientVerifier,
};
use rustls::sign::CertifiedKey;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use crate::chain::chain;
use crate::lock::lock;
use crate::metrics::CertificateReads;

/// How often the files are read. They are small, and held in memory if the kubelet mounts them.
const PERIOD: Duration = Duration::from_millis(250);

/// The certificate for new connections.
#[derive(Clone, Debug)]
pub(crate) struct Certificate(Arc<Mutex<Result<Arc<CertifiedKey>, String>>>);

impl Certificate {
    /// Why there is no certificate; `None` if there is one.
    pub(crate) fn missing(&self) -> Option<String> {
        lock(&self.0).as_ref().err().cloned()
    }

    pub(crate) fn set(&self, certificate: Result<Arc<CertifiedKey>, String>) {
        *lock(&self.0) = certificate;
    }

    /// No certificate yet, because of `reason`.
    pub(crate) fn none(reason: &str) -> Self {
        Self(Arc::new(Mutex::new(Err(reason.to_owned()))))
    }

    /// A self-signed certificate that lives as long as the process.
    ///
    /// # Errors
    ///
    /// Why it could not be generated.
    pub(crate) fn self_signed() -> Result<Self, String> {
        let names = ["localhost".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).map_err(|error| error.to_string())?;
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der())?;
        let chain = vec![made.cert.der().clone()];
        let loaded = CertifiedKey::from_der(chain, key, &ring::default_provider())
            .map_err(|error| error.to_string())?;
        Ok(Self(Arc::new(Mutex::new(Ok(Arc::new(loaded))))))
    }

    /// The TLS configuration for HTTPS over HTTP/1.1 with this certificate, for all clients, or those that `clients` accepts.
    ///
    /// # Errors
    ///
    /// When ring has no cipher for TLS.
    pub(crate) fn tls(self, clients: Option<Clients>) -> Result<TlsAcceptor, rustls::Error> {
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?;
        let config = match clients {
            Some(clients) => config.with_client_cert_verifier(clients),
            None => config.with_no_client_auth(),
        };
        let mut config = config.with_cert_resolver(Arc::new(self));
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        // The API server does not resume sessions. A client that does would keep using an old
        // certificate.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Arc::new(config).into())
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        lock(&self.0).as_ref().ok().cloned()
    }
}

/// The clients that a server accepts.
pub(crate) type Clients = Arc<dyn ClientCertVerifier>;

/// Accepts clients with a certificate of one of the authorities in the PEM file `path`, and no others.
///
/// # Errors
///
/// What is wrong with the file.
pub(crate) fn clients_of(path: &Path) -> Result<Clients, String> {
    let read = || -> Result<RootCertStore, Box<dyn std::error::Error>> {
        let mut authorities = RootCertStore::empty();
        for authority in CertificateDer::pem_file_iter(path)? {
            authorities.add(authority?)?;
        }
        Ok(authorities)
    };
    let authorities = read().map_err(|error| chain(&*error))?;
    let provider = Arc::new(ring::default_provider());
    let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), provider);
    clients.build().map_err(|error| error.to_string())
}

/// The files of a certificate.
pub(crate) struct Files {
    /// What is served with the certificate, for the log.
    served: &'static str,
    reads: CertificateReads,
    certificate: PathBuf,
    key: PathBuf,
    /// The content of the files when they were last read.
    seen: Option<Result<Content, String>>,
    current: Certificate,
}

/// The certificate and the key, as PEM.
type Content = [Vec<u8>; 2];

impl Files {
    /// Reads the files for the first time; they may not exist yet.
    pub(crate) fn new(
        served: &'static str,
        folder: &Path,
        (certificate, key): (&str, &str),
        reads: CertificateReads,
    ) -> Self {
        let mut files = Self {
            served,
            reads,
            certificate: folder.join(certificate),
            key: folder.join(key),
            seen: None,
            current: Certificate::none("its files have not been read yet"),
        };
        files.reload();
        files
    }

    pub(crate) fn certificate(&self) -> Certificate {
        self.current.clone()
    }

    /// Keeps reading the files. Never returns.
    pub(crate) async fn follow(mut self) {
        loop {
            tokio::time::sleep(PERIOD).await;
            self.reload();
        }
    }

    fn reload(&mut self) {
        let content = self.read();
        // The two files belong together only if nothing changed while they were read.
        if self.seen.as_ref() == Some(&content) || content != self.read() {
            return;
        }
        let loaded = content.clone().and_then(|content| self.load(&content));
        self.reads.count(loaded.is_ok());
        let served = self.served;
        match loaded {
            Ok(loaded) => {
                self.reads
                    .expires(served, validity::end(loaded.cert.first()));
                self.current.set(Ok(Arc::new(loaded)));
                let file = self.certificate.display();
                tracing::info!(%file, "loaded the certificate of {served}");
            }
            Err(reason) if self.current.missing().is_some() => {
                tracing::warn!(error = reason, "{served} have no certificate yet");
                self.current.set(Err(reason));
            }
            Err(reason) => {
                tracing::error!(error = reason, "{served} keep their old certificate");
            }
        }
        self.seen = Some(content);
    }

    fn read(&self) -> Result<Content, String> {
        let read = |file: &Path| {
            std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))
        };
        Ok([read(&self.certificate)?, read(&self.key)?])
    }

    fn load(&self, [chain, private]: &Content) -> Result<CertifiedKey, String> {
        let (certificate, key) = (self.certificate.display(), self.key.display());
        let chain: Vec<_> = CertificateDer::pem_slice_iter(chain)
            .collect::<Result<_, _>>()
            .map_err(|error| format!("{certificate}: {error}"))?;
        if chain.is_empty() {
            return Err(format!("{certificate}: it contains no certificate"));
        }
        let private =
            PrivateKeyDer::from_pem_slice(private).map_err(|error| format!("{key}: {error}"))?;
        CertifiedKey::from_der(chain, private, &ring::default_provider())
            .map_err(|error| format!("{certificate} with {key}: {error}"))
    }
}

#[cfg(test)]
pub(crate) mod tests;
