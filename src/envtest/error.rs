//! What can go wrong while providing the binaries, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use miette::Diagnostic;
use thiserror::Error;

use super::{ASSETS, Binary, Minor, Platform, Selector, Version, names};
use crate::error::{IoError, join};

/// The help for the way that needs no index.
const SOURCE: &str = "add `--from-source` to build it with Go";

const MAINTAINERS: &str = "the maintainers of the index";

#[derive(Debug, Error, Diagnostic)]
pub(crate) enum EnvtestError {
    #[error("cannot find a data directory: HOME is not set")]
    #[diagnostic(code("envtest-no-home"))]
    #[diagnostic(help("set HOME, or XDG_DATA_HOME to a folder"))]
    NoHome,
    #[error("`{}`, which {ASSETS} names, has no {}", .folder.display(), names(.missing))]
    #[diagnostic(code("envtest-assets"))]
    #[diagnostic(help("put them there, or unset {ASSETS} and type `kbr envtest use`"))]
    Assets {
        folder: PathBuf,
        missing: Vec<Binary>,
    },
    #[error("Kubernetes {selector} is not installed in `{}`", .folder.display())]
    #[diagnostic(code("envtest-not-installed"))]
    #[diagnostic(help("type `kbr envtest use{}`", argument(*selector)))]
    NotInstalled { selector: Selector, folder: PathBuf },
    #[error("`{}` has no {}", .folder.display(), names(.missing))]
    #[diagnostic(code("envtest-incomplete"))]
    #[diagnostic(help("type `kbr envtest use{}`", argument(*selector)))]
    Incomplete {
        selector: Selector,
        folder: PathBuf,
        missing: Vec<Binary>,
    },

    #[error("could not reach `{url}`: {reason}")]
    #[diagnostic(code("envtest-unreachable"))]
    #[diagnostic(help("check the network, HTTPS_PROXY and the URL, or omit `--index`"))]
    Unreachable { url: String, reason: String },
    #[error("`{url}` answered with HTTP status {status}")]
    #[diagnostic(code("envtest-status"))]
    #[diagnostic(help("check that the URL is that of an index of envtest releases, or {SOURCE}"))]
    Status { url: String, status: u16 },
    #[error("the download of `{url}` was interrupted: {source}")]
    #[diagnostic(code("envtest-download-interrupted"))]
    #[diagnostic(help("run the command again, or {SOURCE}"))]
    BrokeOff { url: String, source: io::Error },
    #[error("`{url}` is not an index of envtest releases: {reason}")]
    #[diagnostic(code("envtest-index"))]
    #[diagnostic(help("check that the URL is that of an index of envtest releases, or {SOURCE}"))]
    Index { url: String, reason: String },
    #[error("the index `{url}` has no Kubernetes {selector}; {}", known_of(.selector.minor, .known))]
    #[diagnostic(code("envtest-unknown-version"))]
    #[diagnostic(help(
        "type {}, or {SOURCE}",
        if known.is_empty() { "another version" } else { "one of these" }
    ))]
    UnknownVersion {
        url: String,
        selector: Selector,
        /// Versions of the same minor, oldest first.
        known: Vec<Version>,
    },
    #[error("the index `{url}` has no archive of Kubernetes {version} for {platform}")]
    #[diagnostic(code("envtest-unknown-platform"), help("{SOURCE}"))]
    UnknownPlatform {
        url: String,
        version: Version,
        platform: Platform,
    },
    #[error("`{url}` has the SHA-512 checksum\n{actual}, but the index says\n{expected}")]
    #[diagnostic(code("envtest-checksum"))]
    #[diagnostic(help(
        "run the command again; if it fails again, report it to {MAINTAINERS}, or {SOURCE}"
    ))]
    Checksum {
        url: String,
        expected: String,
        actual: String,
    },
    #[error("`{url}` is a broken archive: {source}")]
    #[diagnostic(code("envtest-archive"))]
    #[diagnostic(help("report this to {MAINTAINERS}, or {SOURCE}"))]
    Archive { url: String, source: io::Error },
    #[error("the archive `{url}` has no {}", names(.missing))]
    #[diagnostic(code("envtest-archive-lacks"))]
    #[diagnostic(help("report this to {MAINTAINERS}, or {SOURCE}"))]
    ArchiveLacks { url: String, missing: Vec<Binary> },

    #[error("kbr does not know a patch release of Kubernetes {minor} to build from source")]
    #[diagnostic(code("envtest-unknown-patch"))]
    #[diagnostic(help("name an exact version, such as `kbr envtest use {minor}.1 --from-source`"))]
    UnknownPatch { minor: Minor },
    #[error("could not start `go`, which builds Kubernetes from source: {source}")]
    #[diagnostic(code("envtest-go-missing"))]
    #[diagnostic(help(
        "install the newest Go from https://go.dev/dl, or set {ASSETS} to a folder that has {}",
        names(&Binary::SERVER)
    ))]
    GoMissing { source: io::Error },
    #[error("Kubernetes {version} needs Go {needed}, but `go` is {found}")]
    #[diagnostic(code("envtest-go-too-old"), help("{}", newer_go(needed, toolchain)))]
    GoTooOld {
        version: Version,
        needed: String,
        found: String,
        toolchain: String,
    },
    #[error("`go {command}` failed:\n{output}")]
    #[diagnostic(code("envtest-go-failed"), help("{}", go_failed(output, work)))]
    GoFailed {
        /// The arguments, as far as they matter to a user.
        command: String,
        output: String,
        work: PathBuf,
    },
    #[error("the go.mod of k8s.io/kubernetes v{version} is not understood: it has no {lacks}")]
    #[diagnostic(code("envtest-go-mod"), help("type another version, or update kbr"))]
    GoMod {
        version: Version,
        lacks: &'static str,
    },

    #[error(transparent)]
    #[diagnostic(transparent)]
    Io(#[from] IoError),
}

/// The selector as another argument; empty for the default.
pub(crate) fn argument(selector: Selector) -> String {
    if selector == Selector::default() {
        String::new()
    } else {
        format!(" {selector}")
    }
}

fn known_of(minor: Minor, known: &[Version]) -> String {
    match known {
        [] => format!("it has no release of {minor}"),
        known => format!(
            "its releases of {minor}: {}",
            join(known, ", ", Version::to_string)
        ),
    }
}

fn newer_go(needed: &str, toolchain: &str) -> String {
    let install = format!("install Go {needed} or newer from https://go.dev/dl");
    match toolchain {
        "" => install,
        toolchain => format!(
            "{install}, or set GOTOOLCHAIN=auto, which is `{toolchain}` now, so that `go` fetches it"
        ),
    }
}

fn go_failed(output: &str, work: &Path) -> String {
    if output.contains("no space left on device") {
        return format!(
            "the disk of `{}` is full: the build needs about 6 GB; free some space, or set \
             XDG_DATA_HOME to a folder on another disk",
            work.display()
        );
    }
    format!(
        "Go downloads modules from `go env GOPROXY`, and verifies them with `go env GOSUMDB`: make sure that \
         both are reachable and have that version, or set {ASSETS} to a folder that has {}",
        names(&Binary::SERVER)
    )
}
