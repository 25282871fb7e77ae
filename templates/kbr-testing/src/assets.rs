// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Where the binaries of etcd, kube-apiserver and kubectl are.
//!
//! `$KUBEBUILDER_ASSETS` names the folder, as in every kubebuilder project; without it, kbr is
//! asked. Nothing is downloaded or built here.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use k8s_openapi::apimachinery::pkg::version::Info;

use super::TestEnvError;

// The minor version of Kubernetes whose types this program is compiled with.
k8s_openapi::k8s_if_1_33! { pub(super) const MINOR: &str = "1.33"; }
k8s_openapi::k8s_if_1_34! { pub(super) const MINOR: &str = "1.34"; }
k8s_openapi::k8s_if_1_35! { pub(super) const MINOR: &str = "1.35"; }
k8s_openapi::k8s_if_1_36! { pub(super) const MINOR: &str = "1.36"; }
k8s_openapi::k8s_if_1_37! { pub(super) const MINOR: &str = "1.37"; }

/// The binaries that every environment needs.
const NEEDED: [&str; 3] = ["etcd", "kube-apiserver", "kubectl"];

/// A folder with all binaries that every environment needs.
#[derive(Clone)]
pub(super) struct Assets {
    pub(super) folder: PathBuf,
}

impl Assets {
    /// # Errors
    ///
    /// [`TestEnvError::NoKbr`], [`TestEnvError::NoAssets`] and [`TestEnvError::AssetMissing`].
    pub(super) fn find() -> Result<Self, TestEnvError> {
        let folder = match env::var_os("KUBEBUILDER_ASSETS").filter(|value| !value.is_empty()) {
            Some(folder) => folder.into(),
            None => ask_kbr()?,
        };
        let assets = Self { folder };
        assets.require(&NEEDED)?;
        Ok(assets)
    }

    /// The path of a binary.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// # Errors
    ///
    /// [`TestEnvError::AssetMissing`] lists all that are missing.
    pub(super) fn require(&self, names: &[&'static str]) -> Result<(), TestEnvError> {
        let missing: Vec<_> = names
            .iter()
            .copied()
            .filter(|name| !self.path(name).is_file())
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let folder = self.folder.clone();
        Err(TestEnvError::AssetMissing { folder, missing })
    }
}

fn ask_kbr() -> Result<PathBuf, TestEnvError> {
    let program = env::var("KBR").unwrap_or_else(|_| "kbr".to_owned());
    let output = match Command::new(&program)
        .args(["envtest", "path", MINOR])
        .output()
    {
        Ok(output) => output,
        Err(source) => return Err(TestEnvError::NoKbr { program, source }),
    };
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        return Err(TestEnvError::NoAssets(reason.trim_end().to_owned()));
    }
    let path = String::from_utf8_lossy(&output.stdout);
    Ok(path.trim_end_matches(['\r', '\n']).into())
}

/// The variable that allows API servers older than the types, with the value `true`.
pub(super) const ALLOW_OLDER: &str = "KBR_ALLOW_OLDER_KUBERNETES";

/// Whether API servers older than the types are allowed.
pub(super) fn allows_older() -> bool {
    env::var(ALLOW_OLDER).is_ok_and(|value| value == "true")
}

/// Whether a server of that version knows every field of the types.
pub(super) fn is_new_enough(version: &Info) -> bool {
    // A server may report its minor version as `36+`.
    let number = |text: &str| text.trim_end_matches('+').parse::<u32>().ok();
    let wanted = MINOR.split_once('.');
    let wanted = wanted.map(|(major, minor)| (number(major), number(minor)));
    Some((number(&version.major), number(&version.minor))) >= wanted
}

#[cfg(test)]
mod tests;
