// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Why there is no API server to test against, and where to look.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::assets::MINOR;

/// Ends a test run before its first test, or in the middle.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestEnvError {
    /// `$KUBEBUILDER_ASSETS` is not set, and kbr could not be started.
    #[error(
        "could not run `{program}` to find the API server's binaries: {source}\n\
         Put kbr on the PATH and run `kbr envtest use {MINOR}`, or set KUBEBUILDER_ASSETS"
    )]
    NoKbr {
        /// The program.
        program: String,
        /// What the operating system says.
        source: io::Error,
    },
    /// kbr knows of no binaries; it says what to do.
    #[error("there is no API server to test against:\n{0}")]
    NoAssets(String),
    /// The folder of the binaries is not complete.
    #[error(
        "`{}` has no {}\n{}",
        .folder.display(),
        .missing.join(", no "),
        advice(.missing)
    )]
    AssetMissing {
        /// The folder of the binaries.
        folder: PathBuf,
        /// What is not there.
        missing: Vec<&'static str>,
    },
    /// The API server is older than the types that this project was compiled with.
    #[error(
        "the API server of `{}` is {found}, older than the types of Kubernetes {MINOR} here; its log: {}\n\
         Run `kbr envtest use {MINOR}`, and unset KUBEBUILDER_ASSETS or set it to `kbr envtest path {MINOR}`",
        .folder.display(),
        .log.display()
    )]
    OldVersion {
        /// The folder of the binaries.
        folder: PathBuf,
        /// The version that it says.
        found: String,
        /// Where it logs.
        log: PathBuf,
    },
    /// A file in `tests/external` is no CRD.
    #[error("`{}` is not a CustomResourceDefinition: {reason}", .path.display())]
    ExternalCrd {
        /// The file.
        path: PathBuf,
        /// Why it is none.
        reason: String,
    },
    /// The folder of logs and kubeconfigs could not be made, written or read.
    #[error("could not use `{}`: {source}", .path.display())]
    Folder {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// No key pair, or no certificate.
    #[error("could not make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The operating system gave no event loop.
    #[error("could not start an event loop: {0}")]
    Runtime(#[source] io::Error),
    /// The operating system did not start a program.
    #[error("could not start `{}`: {source}", .program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// Cargo did not build the tests that [`least_privilege()`](super::least_privilege()) runs; on
    /// standard error it says why.
    #[error("could not build the test target `{target}`: cargo {reason}")]
    Build {
        /// The name of the target.
        target: String,
        /// How cargo ended.
        reason: String,
    },
    /// The operating system gave no free port.
    #[error("found no free port on loopback: {0}")]
    NoPort(#[source] io::Error),
    /// Somebody else listens where a server should.
    #[error("{server} could not start: port {port} is taken; its log: {}", .log.display())]
    PortTaken {
        /// Which.
        server: &'static str,
        /// The port.
        port: u16,
        /// Where it logs.
        log: PathBuf,
    },
    /// A server ended, though nothing told it to.
    #[error("{server} ended with {status}; its log, {}, ends with\n{end}", .log.display())]
    Ended {
        /// Which.
        server: &'static str,
        /// How it ended.
        status: String,
        /// Where it logs.
        log: PathBuf,
        /// The last lines of its log.
        end: LogEnd,
    },
    /// A server runs, but does not become ready.
    #[error("{server} was not ready after {seconds} s: {reason}; its log: {}", .log.display())]
    NotReady {
        /// Which.
        server: &'static str,
        /// How long was waited.
        seconds: u64,
        /// Why.
        reason: String,
        /// Where it logs.
        log: PathBuf,
    },
    /// A kubeconfig of ours is not usable.
    #[error("could not use `{}`: {reason}", .path.display())]
    Kubeconfig {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// `config/default` could not be put together.
    #[error("`kubectl kustomize {}` failed: {reason}", .path.display())]
    Kustomize {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// `config/default` runs no manager.
    #[error(
        "`{}` has no Deployment with the label `control-plane: controller-manager` and a \
         serviceAccountName, so there is no account to run as",
        .path.display()
    )]
    NoDeployment {
        /// The file or folder.
        path: PathBuf,
    },
    /// The API server of a cluster could not call what `config/default` has it call.
    #[error("`{}`: {fault}", .path.display())]
    Webhooks {
        /// The file or folder.
        path: PathBuf,
        /// What does not fit.
        fault: String,
    },
    /// The API server did not take an object.
    #[error("the API server refused {object}: {reason}; its log: {}", .log.display())]
    Refused {
        /// Kind and name.
        object: String,
        /// Why.
        reason: String,
        /// Where it logs.
        log: PathBuf,
    },
    /// The operator serves nothing, and `config/default` has the API server call it.
    #[error(
        "the operator serves no webhooks, but the manifests have these called: {}\n\
         Register them, or build the environment with `without_webhooks`",
        .paths.join(", ")
    )]
    NoWebhooks {
        /// What is called.
        paths: Vec<String>,
    },
    /// No fault proxy could be started.
    #[error("could not start a fault proxy: {0}")]
    Proxy(#[source] io::Error),
    /// The operator could not be started.
    #[cfg(feature = "manager")]
    #[error("could not start the operator: {0}")]
    Operator(#[source] crate::ManagerError),
}

fn advice(missing: &[&str]) -> String {
    if missing == ["kube-controller-manager"] {
        format!("Run `kbr envtest use {MINOR} --with-controller-manager`")
    } else {
        format!(
            "Unset KUBEBUILDER_ASSETS, or run `kbr envtest use {MINOR}` and set it to what `kbr envtest path {MINOR}` prints"
        )
    }
}

/// The last lines of a log, shortened to what a terminal can show.
#[derive(Debug)]
pub struct LogEnd(String);

impl LogEnd {
    const LINES: usize = 5;
    const WIDTH: usize = 600;

    pub(super) fn of(log: &Path) -> Self {
        let text = std::fs::read(log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines = text.lines().filter(|line| !line.is_empty());
        let lines: Vec<&str> = lines.rev().take(Self::LINES).collect();
        let short = |line: &&str| line.chars().take(Self::WIDTH).collect::<String>();
        let lines: Vec<String> = lines.iter().rev().map(short).collect();
        Self(lines.join("\n"))
    }

    pub(super) fn contains(&self, text: &str) -> bool {
        self.0.contains(text)
    }
}

impl fmt::Display for LogEnd {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
