// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The keys of one environment: the certificates of the API server and of the webhooks that it
//! calls, and the key that signs tokens.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, CertifiedKey, DnType, IsCa, KeyPair,
    generate_simple_self_signed,
};

use super::TestEnvError;
use super::folder::Folder;

pub(super) const CERTIFICATE: &str = "kube-apiserver.crt";
pub(super) const KEY: &str = "kube-apiserver.key";
pub(super) const SIGNING_KEY: &str = "service-accounts.key";
pub(super) const VERIFYING_KEY: &str = "service-accounts.pub";

const AUTHORITY: &str = "ca.crt";
pub(super) const SERVING_CERTIFICATE: &str = "tls.crt";
pub(super) const SERVING_KEY: &str = "tls.key";

/// Writes the keys of the control plane to `folder`.
///
/// # Errors
///
/// [`TestEnvError::Certificate`] and [`TestEnvError::Folder`].
pub(super) fn write(folder: &Folder) -> Result<(), TestEnvError> {
    // It is its own CA: clients get it as the root to trust.
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(loopback())?;
    folder.write(CERTIFICATE, &cert.pem())?;
    folder.write(KEY, &signing_key.serialize_pem())?;

    let tokens = KeyPair::generate()?;
    folder.write(SIGNING_KEY, &tokens.serialize_pem())?;
    folder.write(VERIFYING_KEY, &tokens.public_key_pem())?;
    Ok(())
}

/// The CA that signs the webhooks' certificates.
pub(super) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    /// # Errors
    ///
    /// [`TestEnvError::Certificate`].
    pub(super) fn create() -> Result<Self, TestEnvError> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let name = &mut params.distinguished_name;
        name.push(DnType::CommonName, "testenv");
        Ok(Self(CertifiedIssuer::self_signed(
            params,
            KeyPair::generate()?,
        )?))
    }

    pub(super) fn pem(&self) -> String {
        self.0.pem()
    }

    #[cfg(feature = "manager")]
    pub(super) fn der(&self) -> &[u8] {
        self.0.der()
    }

    /// Returns a new certificate and its key, as files with the names that they have in a Secret of
    /// cert-manager.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Certificate`].
    pub(super) fn sign(&self) -> Result<[(&'static str, String); 3], TestEnvError> {
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(loopback())?.signed_by(&key, &self.0)?;
        Ok([
            (AUTHORITY, self.pem()),
            (SERVING_CERTIFICATE, certificate.pem()),
            (SERVING_KEY, key.serialize_pem()),
        ])
    }
}

fn loopback() -> [String; 2] {
    ["127.0.0.1".to_owned(), "localhost".to_owned()]
}
