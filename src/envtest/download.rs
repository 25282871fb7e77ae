//! The official source: an index of releases, and the archive of each.
//!
//! The index is that of setup-envtest: YAML with the URL of an archive and its SHA-512 checksum, for
//! each version and platform. Source of the format:
//! `kubernetes-sigs/controller-tools:envtest-releases.yaml`. Only TLS protects the index itself; an
//! archive is unpacked only after its checksum has been verified.

use std::collections::BTreeMap;
use std::io::{Read, Seek};
use std::time::Duration;

use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use sha2::{Digest, Sha512};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body};

use super::error::EnvtestError;
use super::store::{self, Work};
use super::{Binary, Platform, Selector, Version};
use crate::error::{IoError, beginning};

/// The URL of setup-envtest's index.
pub(crate) const INDEX: &str =
    "https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml";

/// The most bytes of an index that are read; the official one has about 150 000.
const INDEX_MAX: u64 = 16 * 1024 * 1024;

/// The timeout of resolving a name, and of connecting, TLS included.
const CONNECT: Duration = Duration::from_secs(10);

/// How long a server may send nothing. A whole download has no limit: a slow connection is no error.
const SILENCE: Duration = Duration::from_secs(60);

/// The contents of an index, and its URL.
pub(crate) struct Index {
    url: String,
    releases: BTreeMap<Version, BTreeMap<String, Archive>>,
}

/// One archive, as listed in the index.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Archive {
    #[serde(rename = "selfLink")]
    pub(crate) url: String,
    /// Lower-case hexadecimal digits of the SHA-512 checksum.
    hash: String,
}

impl Index {
    /// Reads the index at `url`.
    pub(crate) fn fetch(url: &str) -> Result<Self, EnvtestError> {
        let mut bytes = Vec::new();
        let body = get(url)?.into_reader();
        body.take(INDEX_MAX)
            .read_to_end(&mut bytes)
            .map_err(|source| broke_off(url, source))?;
        Self::parse(url, &bytes)
    }

    /// Skips prereleases, which nobody can request.
    fn parse(url: &str, bytes: &[u8]) -> Result<Self, EnvtestError> {
        #[derive(Deserialize)]
        struct IndexFile {
            releases: BTreeMap<String, BTreeMap<String, Archive>>,
        }
        let document: IndexFile =
            serde_yaml::from_slice(bytes).map_err(|error| EnvtestError::Index {
                url: url.to_owned(),
                // It may contain a whole page if a proxy responds with one.
                reason: beginning(&error.to_string(), 160),
            })?;
        let releases = document.releases.into_iter();
        let releases =
            releases.filter_map(|(version, archives)| Some((version.parse().ok()?, archives)));
        Ok(Self {
            url: url.to_owned(),
            releases: releases.collect(),
        })
    }

    /// Returns the newest matching version that is available for `platform`, and its archive.
    pub(crate) fn find(
        &self,
        selector: Selector,
        platform: &Platform,
    ) -> Result<(Version, &Archive), EnvtestError> {
        let newest_first = self.releases.iter().rev();
        let mut matching = newest_first.filter(|(version, _)| selector.matches(**version));
        let found = matching.clone().find_map(|(version, archives)| {
            let name = format!("envtest-v{version}-{platform}.tar.gz");
            Some((*version, archives.get(&name)?))
        });
        found.ok_or_else(|| match matching.next() {
            Some((&version, _)) => EnvtestError::UnknownPlatform {
                url: self.url.clone(),
                version,
                platform: platform.clone(),
            },
            None => EnvtestError::UnknownVersion {
                url: self.url.clone(),
                selector,
                known: {
                    let versions = self.releases.keys().copied();
                    versions.filter(|it| it.minor == selector.minor).collect()
                },
            },
        })
    }
}

impl Archive {
    /// Downloads the archive into `work` and unpacks the `missing` binaries there; `progress` receives
    /// the number of bytes so far, and the total if that is known.
    pub(crate) fn fetch(
        &self,
        missing: &[Binary],
        work: &Work,
        progress: &mut dyn FnMut(u64, Option<u64>),
    ) -> Result<(), EnvtestError> {
        let body = get(&self.url)?;
        let total = body.content_length();
        let (mut file, path) = work.file("archive.tar.gz")?;
        let (mut hash, mut done) = (Sha512::new(), 0);
        let unreadable = |source| broke_off(&self.url, source);
        let mut reader = body.into_reader();
        store::copy(&mut reader, &mut file, &path, unreadable, &mut |piece| {
            hash.update(piece);
            done += piece.len() as u64;
            progress(done, total);
        })?;
        let actual = format!("{:x}", hash.finalize());
        if !actual.eq_ignore_ascii_case(&self.hash) {
            return Err(EnvtestError::Checksum {
                url: self.url.clone(),
                expected: self.hash.clone(),
                actual,
            });
        }
        file.rewind().map_err(IoError::at("read", path))?;
        self.unpack(file, missing, work)
    }

    /// Unpacks regular files by name, whatever folder of the archive they are in.
    fn unpack(&self, file: impl Read, missing: &[Binary], work: &Work) -> Result<(), EnvtestError> {
        let broken = |source| EnvtestError::Archive {
            url: self.url.clone(),
            source,
        };
        let mut lacking = missing.to_vec();
        let mut archive = tar::Archive::new(MultiGzDecoder::new(file));
        for entry in archive.entries().map_err(broken)? {
            let mut entry = entry.map_err(broken)?;
            if !entry.header().entry_type().is_file() {
                continue;
            }
            let path = entry.path().map_err(broken)?.into_owned();
            let is_it = |binary: &Binary| path.ends_with(binary.file_name());
            if let Some(at) = lacking.iter().position(is_it) {
                let binary = lacking.swap_remove(at);
                work.add(binary, &mut entry, broken)?;
            }
        }
        if lacking.is_empty() {
            return Ok(());
        }
        Err(EnvtestError::ArchiveLacks {
            url: self.url.clone(),
            missing: lacking,
        })
    }
}

/// Returns the body of the response from `url`. Trusts the system's certificates, and respects
/// HTTPS_PROXY, ALL_PROXY and NO_PROXY.
fn get(url: &str) -> Result<Body, EnvtestError> {
    let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier);
    let config = Agent::config_builder()
        .tls_config(tls.build())
        .timeout_resolve(Some(CONNECT))
        .timeout_connect(Some(CONNECT))
        .timeout_per_read(Some(SILENCE))
        .timeout_per_write(Some(SILENCE))
        .user_agent(concat!("kbr/", env!("CARGO_PKG_VERSION")))
        .build();
    match config.new_agent().get(url).call() {
        Ok(response) => Ok(response.into_body()),
        // The other statuses come from a proxy that denies the request, or from a server that is down;
        // they do not mean that the URL is wrong.
        Err(ureq::Error::StatusCode(status)) if !matches!(status, 403 | 407 | 429 | 500..) => {
            Err(EnvtestError::Status {
                url: url.to_owned(),
                status,
            })
        }
        Err(error) => Err(EnvtestError::Unreachable {
            url: url.to_owned(),
            reason: match error {
                ureq::Error::StatusCode(status) => format!("HTTP status {status}"),
                ureq::Error::Io(error) => error.to_string(),
                error => error.to_string(),
            },
        }),
    }
}

fn broke_off(url: &str, source: std::io::Error) -> EnvtestError {
    EnvtestError::BrokeOff {
        url: url.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_a_minor_is_compared_by_number_and_no_prerelease() {
        let archive = |version: &str| {
            format!(
                "  {version}:\n    envtest-{version}-linux-amd64.tar.gz:\n      hash: {version}\n      \
                 selfLink: https://example.com/{version}\n"
            )
        };
        let versions = [
            "v1.37.9",
            "v1.37.10",
            "v1.37.11-rc.0",
            "v1.37.0-beta.0",
            "v1.35.0",
        ];
        let elsewhere = archive("v1.37.12").replace("linux", "darwin");
        let text = "releases:\n".to_owned() + &versions.map(archive).concat() + &elsewhere;
        let index = Index::parse("URL", text.as_bytes()).expect("an index");
        let linux = Platform {
            os: "linux",
            arch: "amd64",
        };
        let find = |selector: &str, platform| {
            let found = index.find(selector.parse().expect(selector), platform);
            found
                .map(|(_, archive)| archive.url.clone())
                .map_err(|error| error.to_string())
        };
        assert_eq!(
            find("1.37", &linux),
            Ok("https://example.com/v1.37.10".to_owned())
        );
        assert_eq!(
            find("1.37.9", &linux),
            Ok("https://example.com/v1.37.9".to_owned())
        );
        for (selector, platform, text) in [
            (
                "1.38",
                &linux,
                "the index `URL` has no Kubernetes 1.38; it has no release of 1.38",
            ),
            (
                "1.37.1",
                &linux,
                "the index `URL` has no Kubernetes 1.37.1; its releases of 1.37: 1.37.9, 1.37.10, 1.37.12",
            ),
            (
                "1.37",
                &Platform {
                    os: "plan9",
                    arch: "mips",
                },
                "the index `URL` has no archive of Kubernetes 1.37.12 for plan9-mips",
            ),
        ] {
            assert_eq!(find(selector, platform), Err(text.to_owned()));
        }
    }
}
