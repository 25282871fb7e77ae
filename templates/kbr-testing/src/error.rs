// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Why there is no API server to test against, and where to look.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::assets::{ALLOW_OLDER, MINOR};

/// An error that ends a test run before its first test, or during it.
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
        /// The error from the operating system.
        source: io::Error,
    },
    /// kbr found no binaries; its message says what to do.
    #[error("there is no API server to test against:\n{0}")]
    NoAssets(String),
    /// The folder of the binaries is incomplete.
    #[error(
        "`{}` has no {}\n{}",
        .folder.display(),
        .missing.join(", no "),
        advice(.missing)
    )]
    AssetMissing {
        /// The folder of the binaries.
        folder: PathBuf,
        /// The missing binaries.
        missing: Vec<&'static str>,
    },
    /// The API server is older than the types that this project was compiled with.
    #[error(
        "the API server of `{}` is {found}, older than the types of Kubernetes {MINOR} in use; its log: {}\n\
         Run `kbr envtest use {MINOR}`, and unset KUBEBUILDER_ASSETS or set it to `kbr envtest path {MINOR}`. \
         To test on an older Kubernetes, set {ALLOW_OLDER}=true: fields that it does not know are lost",
        .folder.display(),
        .log.display()
    )]
    OldVersion {
        /// The folder of the binaries.
        folder: PathBuf,
        /// The version that it reports.
        found: String,
        /// Where it logs.
        log: PathBuf,
    },
    /// A file in `tests/external` is not a CRD.
    #[error("`{}` is not a CustomResourceDefinition: {reason}", .path.display())]
    ExternalCrd {
        /// The file.
        path: PathBuf,
        /// Why it is not a CRD.
        reason: String,
    },
    /// The folder of logs and kubeconfigs could not be created, written or read.
    #[error("could not use `{}`: {source}", .path.display())]
    Folder {
        /// The file or folder.
        path: PathBuf,
        /// The error from the operating system.
        source: io::Error,
    },
    /// A key pair or a certificate could not be generated.
    #[error("could not make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The operating system could not provide an event loop.
    #[error("could not start an event loop: {0}")]
    Runtime(#[source] io::Error),
    /// The operating system could not start a program.
    #[error("could not start `{}`: {source}", .program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// The error from the operating system.
        source: io::Error,
    },
    /// Cargo could not build the tests that [`least_privilege()`](super::least_privilege()) runs;
    /// it prints the reason to standard error.
    #[error("could not build the test target `{target}`: cargo {reason}")]
    Build {
        /// The name of the target.
        target: String,
        /// How cargo ended.
        reason: String,
    },
    /// The operating system provided no free port.
    #[error("found no free port on loopback: {0}")]
    NoPort(#[source] io::Error),
    /// Another process listens on the port of a server.
    #[error("{server} could not start: port {port} is taken; its log: {}", .log.display())]
    PortTaken {
        /// The server.
        server: &'static str,
        /// The port.
        port: u16,
        /// Where it logs.
        log: PathBuf,
    },
    /// A server ended without being told to.
    #[error("{server} ended with {status}; its log, {}, ends with\n{end}", .log.display())]
    Ended {
        /// The server.
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
        /// The server.
        server: &'static str,
        /// The seconds that it was waited for.
        seconds: u64,
        /// Why.
        reason: String,
        /// Where it logs.
        log: PathBuf,
    },
    /// A kubeconfig of the environment cannot be used.
    #[error("could not use `{}`: {reason}", .path.display())]
    Kubeconfig {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// `config/default` could not be built.
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
    /// The API server of a cluster could not call the webhooks that `config/default` configures.
    #[error("`{}`: {fault}", .path.display())]
    Webhooks {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        fault: String,
    },
    /// The API server refused an object.
    #[error("the API server refused {object}: {reason}; its log: {}", .log.display())]
    Refused {
        /// Kind and name.
        object: String,
        /// Why.
        reason: String,
        /// Where it logs.
        log: PathBuf,
    },
    /// The operator serves no webhooks, but `config/default` configures some.
    #[error(
        "the operator serves no webhooks, but the manifests configure these: {}\n\
         Register them, or build the environment with `without_webhooks`",
        .paths.join(", ")
    )]
    NoWebhooks {
        /// The paths of the configured webhooks.
        paths: Vec<String>,
    },
    /// A server or the operator has ended, or the operator has asked for what it must not.
    #[error("{0}")]
    Failed(String),
    /// No fault proxy could be started.
    #[error("could not start a fault proxy: {0}")]
    Proxy(#[source] io::Error),
    /// The operator could not be started.
    #[cfg(feature = "manager")]
    #[error("could not start the operator: {0}")]
    Operator(#[source] io::Error),
}

fn advice(missing: &[&str]) -> String {
    if missing == ["kube-controller-manager"] {
        format!(
            "Run `kbr envtest use {MINOR} --with-controller-manager`, and for `make test` and CI \
             write `ENVTEST_OPTIONS ?= --with-controller-manager` in the Makefile and \
             `CONTROLLER_MANAGER: \"true\"` in .github/workflows/test.yml"
        )
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
