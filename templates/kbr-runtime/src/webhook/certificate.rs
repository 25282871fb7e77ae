// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The certificate that webhooks are served with, read again whenever it changes.
//!
//! Its files are looked at several times a second. Notices of the file system would not do: the
//! kubelet changes a mounted Secret by renaming a link to another folder.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

/// How often the files are read. They are small, and in memory where the kubelet mounts them.
const PERIOD: Duration = Duration::from_millis(250);

/// The certificate of every new connection.
#[derive(Clone, Debug)]
pub(crate) struct Certificate(Arc<RwLock<Result<Arc<CertifiedKey>, String>>>);

impl Certificate {
    /// Why there is none, unless there is one.
    pub(crate) fn missing(&self) -> Option<String> {
        let current = self.0.read().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().err().cloned()
    }

    /// No certificate yet, because of `reason`.
    pub(crate) fn none(reason: &str) -> Self {
        Self(Arc::new(RwLock::new(Err(reason.to_owned()))))
    }

    fn set(&self, certificate: Result<Arc<CertifiedKey>, String>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = certificate;
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let current = self.0.read().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().ok().cloned()
    }
}

/// The files of a certificate.
pub(super) struct Files {
    certificate: PathBuf,
    key: PathBuf,
    /// What was in them when they were read last.
    seen: Option<Content>,
    current: Certificate,
}

type Content = Result<Pem, String>;

#[derive(Eq, PartialEq)]
struct Pem {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Files {
    /// Reads the files for the first time; they may come later.
    pub(super) fn new(folder: &Path, certificate: &str, key: &str) -> Self {
        let mut files = Self {
            certificate: folder.join(certificate),
            key: folder.join(key),
            seen: None,
            current: Certificate::none("its files were not read yet"),
        };
        files.look();
        files
    }

    pub(super) fn certificate(&self) -> Certificate {
        self.current.clone()
    }

    /// Reads the files again and again.
    pub(super) async fn follow(mut self) {
        loop {
            tokio::time::sleep(PERIOD).await;
            self.look();
        }
    }

    fn look(&mut self) {
        let content = self.read();
        if self.seen.as_ref() == Some(&content) {
            return;
        }
        // Both are of one time only if nothing changed while they were read.
        if content != self.read() {
            return;
        }
        match content
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|pem| self.load(pem))
        {
            Ok(loaded) => {
                self.current.set(Ok(Arc::new(loaded)));
                tracing::info!(file = %self.certificate.display(), "webhooks have a certificate");
            }
            Err(reason) if self.current.missing().is_some() => {
                tracing::warn!(error = reason, "webhooks have no certificate yet");
                self.current.set(Err(reason));
            }
            Err(reason) => {
                tracing::error!(error = reason, "webhooks keep their old certificate");
            }
        }
        self.seen = Some(content);
    }

    fn read(&self) -> Content {
        let read = |file: &Path| {
            std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))
        };
        Ok(Pem {
            certificate: read(&self.certificate)?,
            key: read(&self.key)?,
        })
    }

    fn load(&self, pem: &Pem) -> Result<CertifiedKey, String> {
        let (certificate, key) = (self.certificate.display(), self.key.display());
        let chain: Vec<_> = CertificateDer::pem_slice_iter(&pem.certificate)
            .collect::<Result<_, _>>()
            .map_err(|error| format!("{certificate}: {error}"))?;
        if chain.is_empty() {
            return Err(format!("{certificate}: there is no certificate in it"));
        }
        let private =
            PrivateKeyDer::from_pem_slice(&pem.key).map_err(|error| format!("{key}: {error}"))?;
        CertifiedKey::from_der(chain, private, &ring::default_provider())
            .map_err(|error| format!("{certificate} with {key}: {error}"))
    }
}

#[cfg(test)]
pub(super) mod tests;
