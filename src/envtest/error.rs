//! What can go wrong while the binaries are provided, and what to do then.

use std::io;
use std::path::PathBuf;

use super::{ASSETS, Binary, Minor, Platform, Selector, Version, names};

#[derive(Debug, thiserror::Error)]
pub enum EnvtestError {
    #[error("there is no folder for the binaries: the user has no home folder")]
    NoHome,
    #[error("`{}`, which {ASSETS} names, has no {}", .folder.display(), names(.missing))]
    Assets {
        folder: PathBuf,
        missing: Vec<Binary>,
    },
    #[error("Kubernetes {selector} is not installed in `{}`", .folder.display())]
    NotInstalled { selector: Selector, folder: PathBuf },
    #[error("`{}` has no {}", .folder.display(), names(.missing))]
    Incomplete {
        selector: Selector,
        folder: PathBuf,
        missing: Vec<Binary>,
    },

    #[error("could not reach `{url}`: {reason}")]
    Unreachable { url: String, reason: String },
    #[error("`{url}` answered with HTTP status {status}")]
    Status { url: String, status: u16 },
    #[error("`{url}` broke off: {source}")]
    BrokeOff { url: String, source: io::Error },
    #[error("`{url}` is not an index of envtest releases: {reason}")]
    Index { url: String, reason: String },
    #[error("the index `{url}` has no Kubernetes {selector}; {}", known_of(.selector.minor(), .known))]
    UnknownVersion {
        url: String,
        selector: Selector,
        /// Versions of the same minor, oldest first.
        known: Vec<Version>,
    },
    #[error("the index `{url}` has no archive of Kubernetes {version} for {platform}")]
    UnknownPlatform {
        url: String,
        version: Version,
        platform: Platform,
    },
    #[error("`{url}` has the SHA-512 checksum\n{actual}, but the index says\n{expected}")]
    Checksum {
        url: String,
        expected: String,
        actual: String,
    },
    #[error("`{url}` is a broken archive: {source}")]
    Archive { url: String, source: io::Error },
    #[error("the archive `{url}` has no {}", names(.missing))]
    ArchiveLacks { url: String, missing: Vec<Binary> },

    #[error("kbr knows no patch release of Kubernetes {minor} to build from source")]
    UnknownPatch { minor: Minor },
    #[error("could not start `go`, which builds Kubernetes from source: {source}")]
    GoMissing { source: io::Error },
    #[error("Kubernetes {version} needs Go {needed}, but `go` is {found}")]
    GoTooOld {
        version: Version,
        needed: String,
        found: String,
        toolchain: String,
    },
    #[error("`go {command}` failed:\n{output}")]
    GoFailed {
        /// What was run, as far as a user has to know.
        command: String,
        output: String,
        work: PathBuf,
    },
    #[error("the go.mod of k8s.io/kubernetes v{version} is not understood: it has no {lacks}")]
    GoMod {
        version: Version,
        lacks: &'static str,
    },
}

impl EnvtestError {
    /// What to type or to do instead.
    pub fn help(&self) -> String {
        let source = "add `--from-source` to build it with Go";
        match self {
            Self::NoHome => "set HOME, or XDG_DATA_HOME to a folder".to_owned(),
            Self::Assets { .. } => {
                format!("put them there, or unset {ASSETS} and type `kbr envtest use`")
            }
            Self::NotInstalled { selector, .. } | Self::Incomplete { selector, .. } => {
                format!("type `kbr envtest use{}`", argument(*selector))
            }
            Self::Unreachable { .. } => {
                "see to the network, HTTPS_PROXY and the URL, or leave `--index` out".to_owned()
            }
            Self::Status { .. } | Self::Index { .. } => {
                format!("see that the URL is that of an index of envtest releases, or {source}")
            }
            Self::BrokeOff { .. } => format!("type the same command again, or {source}"),
            Self::UnknownVersion { known, .. } if known.is_empty() => {
                format!("type another version, or {source}")
            }
            Self::UnknownVersion { .. } => format!("type one of these, or {source}"),
            Self::UnknownPlatform { .. } => source.to_owned(),
            Self::Checksum { .. } => format!(
                "nothing of it was kept: type the same command again, tell whoever runs the index, \
                 or {source}"
            ),
            Self::Archive { .. } | Self::ArchiveLacks { .. } => {
                format!("tell whoever runs the index, or {source}")
            }
            Self::UnknownPatch { minor } => {
                format!("name an exact version, such as `kbr envtest use {minor}.1 --from-source`")
            }
            Self::GoMissing { .. } => format!(
                "install Go from https://go.dev/dl (its newest version always will do), or set \
                 {ASSETS} to a folder that has {}",
                names(&Binary::SERVER)
            ),
            Self::GoTooOld {
                needed, toolchain, ..
            } => {
                let install = format!("install Go {needed} or newer from https://go.dev/dl");
                if toolchain.is_empty() {
                    install
                } else {
                    format!(
                        "{install}, or set GOTOOLCHAIN=auto, which is `{toolchain}` now, so that `go` fetches it"
                    )
                }
            }
            Self::GoFailed { output, work, .. } if output.contains("no space left on device") => {
                format!(
                    "the disk of `{}` is full: about 6 GB are needed until the build is done; make \
                     room, or set XDG_DATA_HOME to a folder on another disk",
                    work.display()
                )
            }
            Self::GoFailed { .. } => format!(
                "Go takes modules from where `go env GOPROXY` says, and holds them against `go env \
                 GOSUMDB`: see that both can be reached and know that version, or set {ASSETS} to a \
                 folder that has {}",
                names(&Binary::SERVER)
            ),
            Self::GoMod { .. } => "type another version, or update kbr".to_owned(),
        }
    }
}

/// The selector as a further argument, left out where it is the default.
pub fn argument(selector: Selector) -> String {
    if selector == Selector::default() {
        String::new()
    } else {
        format!(" {selector}")
    }
}

fn known_of(minor: Minor, known: &[Version]) -> String {
    if known.is_empty() {
        return format!("it has none of {minor}");
    }
    let known: Vec<String> = known.iter().map(Version::to_string).collect();
    format!("of {minor} it has {}", known.join(", "))
}
