//! What a test against a real API server needs: versions of Kubernetes, and the binaries of each.
//!
//! The folder and its layout are those of setup-envtest (`kubebuilder-envtest`), so that Go projects
//! and Rust projects share the binaries. This file is the model, and pure. [`store`] is the folder on
//! disk, [`download`] the official index and its archives, [`source`] how Go builds the same binaries.
//! [`crate::commands::envtest`] has the order of the steps.

mod download;
mod error;
mod source;
mod store;

use std::env::consts;
use std::fmt;
use std::str::FromStr;

use crate::error::join;

pub(crate) use download::{INDEX, Index};
pub(crate) use error::{EnvtestError, argument};
pub(crate) use source::{
    Downloaded, Go, KUBERNETES, Recipe, TEMPORARY, empty_module, environment, is_progress, newest,
    package,
};
pub(crate) use store::{
    LockedStore, Store, Work, assets, binaries_in, is_same, kubectl, missing_in, read,
};

/// The minor release that the `k8s-openapi` feature in the emitted `Cargo.toml` selects.
pub(crate) const DEFAULT: Minor = Minor {
    major: 1,
    minor: 37,
};

/// The environment variable with a folder of binaries, for kbr as for setup-envtest.
pub(crate) const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// A minor release of Kubernetes, such as 1.37.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Minor {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

impl fmt::Display for Minor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A release of Kubernetes, such as 1.37.2; never a prerelease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    pub(crate) minor: Minor,
    pub(crate) patch: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.minor, self.patch)
    }
}

impl FromStr for Version {
    type Err = NoVersion;

    fn from_str(text: &str) -> Result<Self, NoVersion> {
        let numbers = text.strip_prefix('v').unwrap_or(text);
        exact(numbers).ok_or_else(|| NoVersion(text.to_owned()))
    }
}

/// What a user requests: an exact version, or the newest one of a minor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Selector {
    pub(crate) minor: Minor,
    pub(crate) patch: Option<u32>,
}

impl Selector {
    pub(crate) fn matches(self, version: Version) -> bool {
        self.minor == version.minor && self.patch.is_none_or(|patch| patch == version.patch)
    }
}

impl Default for Selector {
    fn default() -> Self {
        let (minor, patch) = (DEFAULT, None);
        Self { minor, patch }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minor = self.minor;
        match self.patch {
            Some(patch) => Version { minor, patch }.fmt(f),
            None => minor.fmt(f),
        }
    }
}

impl FromStr for Selector {
    type Err = NoVersion;

    fn from_str(text: &str) -> Result<Self, NoVersion> {
        let numbers = text.strip_prefix('v').unwrap_or(text);
        if let Some(Version { minor, patch }) = exact(numbers) {
            let patch = Some(patch);
            return Ok(Self { minor, patch });
        }
        let minor = numbers.strip_suffix(".x").unwrap_or(numbers);
        let newest = exact(&format!("{minor}.0")).ok_or_else(|| NoVersion(text.to_owned()))?;
        let (minor, patch) = (newest.minor, None);
        Ok(Self { minor, patch })
    }
}

/// Parses three numbers, which semantic versions spell like Kubernetes.
fn exact(text: &str) -> Option<Version> {
    let version = semver::Version::parse(text).ok()?;
    if !version.pre.is_empty() || !version.build.is_empty() {
        return None;
    }
    Some(Version {
        minor: Minor {
            major: version.major.try_into().ok()?,
            minor: version.minor.try_into().ok()?,
        },
        patch: version.patch.try_into().ok()?,
    })
}

/// The error for input that is not a version.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a version of Kubernetes; type a minor such as `{DEFAULT}`, or a version such as `{DEFAULT}.2`"
)]
pub(crate) struct NoVersion(String);

/// Operating system and architecture, by Go's names: `linux-amd64`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Platform {
    pub(crate) os: &'static str,
    pub(crate) arch: &'static str,
}

impl Platform {
    /// The platform that kbr was compiled for. Names that are not translated below stay as in Rust;
    /// the index has no archives for those platforms.
    pub(crate) fn here() -> Self {
        let os = match consts::OS {
            "macos" => "darwin",
            other => other,
        };
        let arch = match consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            "powerpc64" if cfg!(target_endian = "little") => "ppc64le",
            other => other,
        };
        Self { os, arch }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.os, self.arch)
    }
}

/// One of the programs, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Binary(pub &'static str);

impl Binary {
    pub(crate) const ETCD: Self = Self("etcd");

    /// The binaries that every test needs, in the order in which they are shown and built; an archive contains
    /// the same ones.
    pub(crate) const SERVER: [Self; 3] = [Self::ETCD, Self("kube-apiserver"), Self("kubectl")];

    /// The last one is not in any archive of the index: it is always built from source.
    pub(crate) const ALL: [Self; 4] = {
        let [etcd, server, client] = Self::SERVER;
        [etcd, server, client, Self("kube-controller-manager")]
    };

    pub(crate) fn file_name(self) -> String {
        format!("{}{}", self.0, consts::EXE_SUFFIX)
    }
}

/// The names for a message: `etcd, kubectl`.
pub(crate) fn names(binaries: &[Binary]) -> String {
    join(binaries, ", ", |binary| binary.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_the_minor_in_the_emitted_cargo_toml() {
        let manifest = include_str!("../templates/init/Cargo.toml.hbs");
        let line = manifest
            .lines()
            .find(|line| line.starts_with("k8s-openapi"))
            .expect("a line");
        let feature = format!("\"v{}\"", DEFAULT.to_string().replace('.', "_"));
        assert!(line.contains(&feature), "{line}");
    }

    #[test]
    fn a_typed_version_is_parsed() {
        for (typed, meant) in [
            ("1.37", "1.37"),
            ("v1.37", "1.37"),
            ("1.37.x", "1.37"),
            ("1.37.0", "1.37.0"),
            ("v1.37.2", "1.37.2"),
            ("1.100.10", "1.100.10"),
        ] {
            let selector: Selector = typed.parse().expect(typed);
            assert_eq!(selector.to_string(), meant);
        }
        for bad in [
            "",
            "v",
            "1",
            "1.x",
            "1.37.",
            ".36",
            "1.37.2.1",
            "1.37.2.x",
            "1.37.x.x",
            "x",
            "latest",
            "1.37.0-beta.0",
            "1.37.2-linux-amd64",
            "+1.37",
            "1.-36",
            "01.37",
            "1.036",
            " 1.37",
            "vv1.37",
            "V1.37",
            "1.99999999999",
            "../1.37",
            "1.37.*",
        ] {
            assert_eq!(bad.parse::<Selector>(), Err(NoVersion(bad.to_owned())));
        }
    }

    #[test]
    fn versions_compare_as_numbers() {
        let version = |text: &str| text.parse::<Version>().expect(text);
        assert!(version("1.37.10") > version("1.37.9"));
        assert!(version("1.100.0") > version("1.37.9"));
        assert!("1.37".parse::<Version>().is_err());
    }
}
