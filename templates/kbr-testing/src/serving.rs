// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Where the API server calls the operator's webhooks: a port of loopback.

use std::path::PathBuf;

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::control_plane::LOOPBACK;
use super::folder::Folder;
use super::keys::Authority;
use super::port::ReservedPort;
use super::{TestEnvError, mount};

/// The folder of the certificate and its key, in the folder of the environment.
const CERTIFICATES: &str = "serving-certs";

/// The port, and the certificates used there.
pub(super) struct Serving {
    pub(super) port: ReservedPort,
    pub(super) authority: Authority,
    pub(super) certificates: PathBuf,
}

impl Serving {
    /// Reserves a port, and writes a certificate and its key to `folder`.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::NoPort`], [`TestEnvError::Certificate`] and [`TestEnvError::Folder`].
    pub(super) fn prepare(folder: &Folder) -> Result<Self, TestEnvError> {
        let serving = Self {
            port: ReservedPort::choose()?,
            authority: Authority::create()?,
            certificates: folder.path().join(CERTIFICATES),
        };
        serving.renew()?;
        Ok(serving)
    }

    /// Replaces the certificate and its key, as the kubelet does.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Certificate`] and [`TestEnvError::Folder`].
    pub(super) fn renew(&self) -> Result<(), TestEnvError> {
        let written = mount::write(&self.certificates, &self.authority.sign()?);
        written.map_err(|source| TestEnvError::Folder {
            path: self.certificates.clone(),
            source,
        })
    }

    /// The `clientConfig` of a webhook at `path`.
    pub(super) fn client_config(&self, path: &str) -> Value {
        let authority = ByteString(self.authority.pem().into_bytes());
        json!({ "url": self.url(path), "caBundle": authority })
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("https://{LOOPBACK}:{}{path}", self.port.number)
    }
}
