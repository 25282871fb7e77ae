// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The certificates that a manager makes for its webhooks: what is in their Secret, and what is to be done about it.
//!
//! Nothing here talks to the cluster, see [`super`]. The Secret has the certificate of the webhooks and its key,
//! the key of the CA that signs the next one, and the certificates of all CAs that are to be trusted: that CA is
//! the first, and earlier ones stay until they expire. A CA lasts for four certificates and is replaced after half of
//! that time, so what it has signed expires before it does, and long before it is no longer trusted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData, date_time_ymd,
};
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;

use crate::certificate::validity::{self, validity};
use crate::chain::chain;

/// The entries of the Secret. Those for the certificate are those of a Secret of type `kubernetes.io/tls`.
const AUTHORITIES: &str = "ca.crt";
const AUTHORITY_KEY: &str = "ca.key";
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";

/// The subject of every CA, without which their keys could not sign.
const SUBJECT: &str = "webhook-ca";

/// How long before it was made a certificate is valid, because clocks differ.
const EARLIER: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How many certificates of CAs are kept at most. Only a Secret that is deleted again and again has that many.
const KEPT: usize = 5;

/// The extension of a certificate that makes it a CA's (RFC 5280, section 4.2.1.9), as it is written here.
const IS_CA: [u8; 15] = [
    6, 3, 0x55, 0x1d, 0x13, 1, 1, 0xff, 4, 5, 0x30, 3, 1, 1, 0xff,
];

/// What must be in the Secret.
pub(super) struct Rules {
    /// The DNS name by which the API server calls the webhooks.
    pub(super) name: String,
    /// How long a certificate of the webhooks is valid. It is renewed after two thirds of that.
    pub(super) validity: Duration,
}

/// The entries of a Secret.
pub(super) type Data = BTreeMap<String, ByteString>;

/// A CA with its key, and the earlier ones.
#[derive(Debug)]
struct Authority {
    /// The first one has the key.
    certificates: Vec<CertificateDer<'static>>,
    key: KeyPair,
}

/// What the Secret contains.
#[derive(Clone, Debug)]
pub(super) struct Content {
    pub(super) data: Data,
    /// The CAs that the API server must trust.
    pub(super) authorities: Vec<CertificateDer<'static>>,
    pub(super) certificate: Arc<CertifiedKey>,
}

/// Why the Secret must change.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Cause {
    /// It is new.
    First,
    /// It is time.
    Renewal(&'static str),
    /// It cannot be used.
    Fault(String),
}

impl Content {
    /// The certificates of the CAs, as PEM.
    pub(super) fn bundle(&self) -> &ByteString {
        &self.data[AUTHORITIES]
    }

    /// When the certificate and its CA expire.
    pub(super) fn expiries(&self) -> [Option<Timestamp>; 2] {
        [self.certificate.cert.first(), self.authorities.first()].map(validity::end)
    }
}

impl Rules {
    /// What the Secret must contain, and why if that is not `data`. `before` is what it contained earlier, as
    /// far as this process knows; `now` is the time.
    ///
    /// # Errors
    ///
    /// When no certificate can be made.
    pub(super) fn apply(
        &self,
        data: &Data,
        before: Option<&Content>,
        now: Timestamp,
    ) -> Result<(Content, Option<Cause>), String> {
        let (authority, changed) = match self.authority(data, now) {
            Ok(authority) if self.is_old(&authority, now) => {
                let new = self.new_authority(authority.certificates, now)?;
                (new, Some(Cause::Renewal("a new CA")))
            }
            Ok(mut authority) => match self.lost(&authority, before, now) {
                Some(lost) => {
                    authority.certificates.push(lost);
                    let reason = format!("`{AUTHORITIES}` lacks the CA of what is served");
                    (authority, Some(Cause::Fault(reason)))
                }
                None => (authority, None),
            },
            Err(reason) => {
                // What others still serve must be trusted.
                let earlier = before.map(|it| it.authorities.clone());
                let new = self.new_authority(earlier.unwrap_or_default(), now)?;
                let cause = match data.is_empty() && before.is_none() {
                    true => Cause::First,
                    false => Cause::Fault(reason),
                };
                (new, Some(cause))
            }
        };
        let cause = match (changed, self.certificate(data, &authority, now)) {
            (None, Ok(certificate)) => {
                let kept = Content {
                    data: data.clone(),
                    authorities: authority.certificates,
                    certificate,
                };
                return Ok((kept, None));
            }
            (None, Err(cause)) => cause,
            (Some(cause), _) => cause,
        };
        Ok((self.sign(data, authority, now)?, Some(cause)))
    }

    /// Whether the API server would trust `certificate`, if it trusts `authorities`.
    pub(super) fn trusts(
        &self,
        authorities: &[CertificateDer<'static>],
        certificate: &CertifiedKey,
        now: Timestamp,
    ) -> Result<(), String> {
        let mut roots = RootCertStore::empty();
        let valid = authorities.iter().filter(|it| is_valid(it, now));
        roots.add_parsable_certificates(valid.cloned());
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        let verifier = verifier.build().map_err(|error| chain(&error))?;
        let name = ServerName::try_from(self.name.clone()).map_err(|error| chain(&error))?;
        let since = Duration::try_from(now.as_duration()).map_err(|error| error.to_string())?;
        let (first, others) = certificate.cert.split_first().ok_or("it is empty")?;
        verifier
            .verify_server_cert(first, others, &name, &[], UnixTime::since_unix_epoch(since))
            .map(drop)
            .map_err(|error| chain(&error))
    }

    /// The CA in the Secret.
    fn authority(&self, data: &Data, now: Timestamp) -> Result<Authority, String> {
        let certificates = certificates(data, AUTHORITIES)?;
        let key = KeyPair::from_pem(text(data, AUTHORITY_KEY)?)
            .map_err(|error| format!("`{AUTHORITY_KEY}`: {}", chain(&error)))?;
        let wrong = |what: &str| Err(format!("`{AUTHORITIES}` {what}"));
        let first = &certificates[0];
        if !contains(first, &IS_CA) {
            return wrong("does not begin with the certificate of a CA");
        }
        if !contains(first, &key.subject_public_key_info()) {
            return wrong(&format!("does not fit the key in `{AUTHORITY_KEY}`"));
        }
        match validity(first) {
            Some([_, end]) if end <= now => wrong(&format!("has expired on {end}")),
            Some([start, _]) if start > now => wrong(&format!("is not valid before {start}")),
            Some(_) => Ok(Authority { certificates, key }),
            None => wrong("contains no certificate"),
        }
    }

    /// Whether it is time for another CA.
    fn is_old(&self, authority: &Authority, now: Timestamp) -> bool {
        let end = validity::end(authority.certificates.first());
        end.is_none_or(|end| left(end, now) < self.validity * 2)
    }

    /// The CA that was in the Secret before, if it must be trusted and is not.
    fn lost(
        &self,
        authority: &Authority,
        before: Option<&Content>,
        now: Timestamp,
    ) -> Option<CertificateDer<'static>> {
        let before = before?.authorities.first()?;
        let is_lost = is_valid(before, now) && !authority.certificates.contains(before);
        is_lost.then(|| before.clone())
    }

    /// A new CA, and those of the earlier ones that have not expired.
    fn new_authority(
        &self,
        mut earlier: Vec<CertificateDer<'static>>,
        now: Timestamp,
    ) -> Result<Authority, String> {
        let key = KeyPair::generate().map_err(|error| chain(&error))?;
        let mut params = authority_params();
        set_validity(&mut params, now, self.validity * 4);
        let certificate = params.self_signed(&key).map_err(|error| chain(&error))?;
        earlier.retain(|it| contains(it, &IS_CA) && is_valid(it, now));
        earlier.truncate(KEPT - 1);
        earlier.insert(0, certificate.into());
        let certificates = earlier;
        Ok(Authority { certificates, key })
    }

    /// The certificate in the Secret, or why it must be replaced.
    fn certificate(
        &self,
        data: &Data,
        authority: &Authority,
        now: Timestamp,
    ) -> Result<Arc<CertifiedKey>, Cause> {
        let load = || -> Result<CertifiedKey, String> {
            let chain_of = certificates(data, CERTIFICATE)?;
            let key = PrivateKeyDer::from_pem_slice(text(data, KEY)?.as_bytes())
                .map_err(|error| format!("`{KEY}`: {error}"))?;
            let loaded = CertifiedKey::from_der(chain_of, key, &ring::default_provider())
                .map_err(|error| format!("`{CERTIFICATE}` with `{KEY}`: {error}"))?;
            self.trusts(&authority.certificates, &loaded, now)
                .map_err(|error| format!("`{CERTIFICATE}`: {error}"))?;
            Ok(loaded)
        };
        let loaded = load().map_err(Cause::Fault)?;
        let end = validity::end(loaded.cert.first());
        let is_young = end.is_some_and(|end| left(end, now) >= self.validity / 3);
        match is_young {
            true => Ok(Arc::new(loaded)),
            false => Err(Cause::Renewal("a new certificate")),
        }
    }

    /// A new certificate of this CA, beside what else `data` contains.
    fn sign(&self, data: &Data, authority: Authority, now: Timestamp) -> Result<Content, String> {
        let Authority { certificates, key } = authority;
        let mut data = data.clone();
        let bundle: String = certificates.iter().map(pem).collect();
        let mut set = |entry: &str, text: String| {
            data.insert(entry.to_owned(), ByteString(text.into_bytes()));
        };
        set(AUTHORITIES, bundle);
        set(AUTHORITY_KEY, key.serialize_pem());
        let own = KeyPair::generate().map_err(|error| chain(&error))?;
        let mut params =
            CertificateParams::new([self.name.clone()]).map_err(|error| chain(&error))?;
        params
            .distinguished_name
            .push(DnType::CommonName, "webhook");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        set_validity(&mut params, now, self.validity);
        let issuer = Issuer::new(authority_params(), key);
        let signed = params
            .signed_by(&own, &issuer)
            .map_err(|error| chain(&error))?;
        set(CERTIFICATE, signed.pem());
        set(KEY, own.serialize_pem());
        let private = PrivateKeyDer::try_from(own.serialize_der())?;
        let certificate =
            CertifiedKey::from_der(vec![signed.into()], private, &ring::default_provider())
                .map_err(|error| chain(&error))?;
        Ok(Content {
            data,
            authorities: certificates,
            certificate: Arc::new(certificate),
        })
    }
}

/// What all CAs have in common.
fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, SUBJECT);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    params
}

/// Makes a certificate of `now` valid for that long.
fn set_validity(params: &mut CertificateParams, now: Timestamp, validity: Duration) {
    let now = Duration::from_secs(now.as_second().max(0).unsigned_abs());
    let epoch = date_time_ymd(1970, 1, 1);
    params.not_before = epoch + now.saturating_sub(EARLIER);
    params.not_after = epoch + now + validity;
}

fn text<'a>(data: &'a Data, entry: &str) -> Result<&'a str, String> {
    let bytes = data.get(entry);
    let bytes = bytes.ok_or_else(|| format!("`{entry}` is missing"))?;
    std::str::from_utf8(&bytes.0).map_err(|_| format!("`{entry}` is not PEM"))
}

/// The certificates in an entry; at least one.
fn certificates(data: &Data, entry: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = text(data, entry)?;
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(text.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|error| format!("`{entry}`: {error}"))?;
    match certificates.is_empty() {
        true => Err(format!("`{entry}` contains no certificate")),
        false => Ok(certificates),
    }
}

fn pem(certificate: &CertificateDer<'_>) -> String {
    // Lines of 64 characters (RFC 7468).
    let encoded = serde_json::to_value(ByteString(certificate.to_vec()));
    let encoded = encoded.unwrap_or_default();
    let encoded = encoded.as_str().unwrap_or_default();
    let lines = encoded.as_bytes().chunks(64).map(String::from_utf8_lossy);
    let lines: Vec<_> = lines.collect();
    format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
        lines.join("\n")
    )
}

fn contains(certificate: &[u8], part: &[u8]) -> bool {
    certificate.windows(part.len()).any(|window| window == part)
}

fn is_valid(certificate: &[u8], now: Timestamp) -> bool {
    validity(certificate).is_some_and(|[start, end]| start <= now && now < end)
}

/// The time from `now` until `end`.
fn left(end: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(end.duration_since(now)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
