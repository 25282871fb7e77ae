//! Everything that ends a command without success.
//!
//! One closed enum: a variant carries the facts, `Display` says what is wrong and where, and
//! [`Error::help`] what to type instead. Nothing here prints.

mod against;
mod api;
mod delete;
mod external;
mod image;
mod problem;
mod rename;
mod update;
mod webhook;

use std::fmt::Display;
use std::io;
use std::path::PathBuf;

use crate::envtest::error::EnvtestError;
use crate::manifests::schema::RECURSION_HELP;
use crate::manifests::{CrdError, MarkerError};
use crate::marker::ScaffoldMarker;
use crate::names::{Kind, NameError};
use crate::plan::Conflict;

pub use against::AgainstError;
pub use api::ApiError;
pub use delete::DeleteError;
pub use external::ExternalError;
pub use image::ImageError;
pub use problem::Problem;
pub use rename::RenameError;
pub use update::UpdateError;
pub use webhook::WebhookError;

#[derive(Debug, strum::IntoStaticStr, thiserror::Error)]
#[cfg_attr(test, derive(strum::VariantNames))]
#[strum(serialize_all = "kebab-case")]
pub enum Error {
    #[error("`{}` holds a project already: it has a PROJECT file", .dir.display())]
    AlreadyInitialized { dir: PathBuf },
    #[error("`{}` is not a kbr project: it has no PROJECT file", .dir.display())]
    NotAProject { dir: PathBuf },
    #[error("`{}` has no PROJECT file: it is inside the project {project}", .dir.display())]
    BelowProject {
        dir: PathBuf,
        /// The project's folder, as a word of a shell.
        project: String,
    },
    #[error("`{}` is inside the project {project}, and projects do not nest", .dir.display())]
    NestedProject { dir: PathBuf, project: String },
    #[error("PROJECT cannot be read: {reason}")]
    ProjectUnreadable { reason: String },
    #[error("a merge has left a conflict in PROJECT: line {line}")]
    ProjectMerge { line: usize },
    #[error("PROJECT has the layout `{layout}`: this is a Go project of kubebuilder's")]
    GoLayout { layout: String },
    #[error("kbr 0.1.0 scaffolded this project, with a crate of its own in `runtime/`")]
    OldLayout,
    #[error("the folder's name `{name}` cannot be the project's: {}", .source.reason)]
    FolderName { name: String, source: NameError },
    #[error("`{option}`: {}", .source.reason)]
    Name {
        option: &'static str,
        source: NameError,
    },

    #[error("no option says what to change: nothing to do")]
    NothingToEdit,
    #[error("the project has several API groups, `{}` and `{}`", .groups[0], .groups[1])]
    SeveralGroups { groups: [String; 2] },
    #[error("the modules cannot be moved: {reason}")]
    Move { reason: String },
    #[error("`{name}` is another package in `Cargo.lock`")]
    PackageExists { name: String },
    #[error("no answer: standard input has ended")]
    NoAnswer,
    #[error("there is no folder `{}`", .dir.display())]
    NoFolder { dir: PathBuf },

    #[error("{}", list(.conflicts))]
    Conflicts {
        conflicts: Vec<Conflict>,
        /// Whether the command takes `--force`: there is a project already.
        may_force: bool,
    },
    #[error("{}", list(.0))]
    Several(Vec<Self>),
    #[error("`{path}` has no line `{}`, where {} has to go", .marker.line(), quote(.fragment))]
    MarkerMissing {
        path: String,
        marker: ScaffoldMarker,
        fragment: String,
    },
    #[error("`{path}` has the line `{}` more than once: lines {}", .marker.line(), join(.lines, ", ", usize::to_string))]
    MarkerTwice {
        path: String,
        marker: ScaffoldMarker,
        lines: Vec<usize>,
        fragment: String,
    },
    #[error("`{path}` does not exist, but {} has to go into it", quote(.fragment))]
    FileMissing { path: String, fragment: String },
    #[error("`{path}` changed while kbr was at work")]
    ChangedMeanwhile { path: String },
    #[error("a `kbr {command}` was stopped half-way, and is not finished yet")]
    HalfDone { command: String },
    #[error("a `kbr {command}` was stopped half-way, and cannot be finished: {} changed since", join(.files, ", ", |path| quote(path)))]
    CannotFinish { command: String, files: Vec<String> },
    #[error(
        "`.kbr-plan`, which a kbr that was stopped half-way has left, cannot be read: {reason}"
    )]
    RecordUnreadable { reason: String },
    #[error("could not {verb} `{}`: {source}", .path.display())]
    Io {
        verb: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{error}; undoing it failed too: {undo}")]
    Undo { error: Box<Error>, undo: Box<Error> },

    #[error("{}", remedies(.0, |error| error.help.clone()))]
    Markers(Vec<MarkerError>),
    #[error("could not start `cargo`: {source}")]
    CargoMissing { source: io::Error },
    #[error("`cargo run --bin crdgen` failed: cargo's messages stand above")]
    CargoFailed,
    #[error("`cargo run --bin crdgen` was ended by a signal")]
    CrdgenCrashed,
    #[error("kube cannot describe a type that contains itself: {}", .0.join(", "))]
    EndlessTypes(Vec<String>),
    #[error("the compiled types are not those of PROJECT: {}", .differences.join(", "))]
    TypesDisagree { differences: Vec<String> },
    #[error(
        "`{version}` of `{kind}` is gone, and it is the stored version in `{crd}`: objects may be stored in it"
    )]
    StoredVersionGone {
        kind: Kind,
        version: String,
        crd: String,
    },
    #[error("crdgen's answer is not understood: {reason}")]
    Crdgen { reason: String },
    #[error("{}", remedies(.0, |error| error.help().to_owned()))]
    Types(Vec<CrdError>),
    #[error("{} of the generated files {} out of date: {}", .drift.len(), if .drift.len() == 1 { "is" } else { "are" }, join(.drift, ", ", |path| quote(path)))]
    OutOfDate {
        command: &'static str,
        drift: Vec<String>,
    },

    #[error(transparent)]
    Api(#[from] ApiError),
    #[error(transparent)]
    External(#[from] ExternalError),
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Update(#[from] UpdateError),
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    #[error(transparent)]
    Delete(#[from] DeleteError),
    #[error(transparent)]
    Rename(#[from] RenameError),

    #[error(transparent)]
    Against(#[from] AgainstError),

    #[error(transparent)]
    Envtest(#[from] EnvtestError),
}

/// Result of everything in kbr that can be refused.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An I/O error with what was being done to which path.
    pub fn io(verb: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { verb, path, source }
    }

    /// All of `errors` as one, if there are any.
    pub fn all(mut errors: Vec<Self>) -> Result<()> {
        match errors.len() {
            0 => Ok(()),
            1 => Err(errors.remove(0)),
            _ => Err(Self::Several(errors)),
        }
    }

    /// What to type or to do instead; empty where the message says all there is.
    pub fn help(&self) -> String {
        match self {
            Self::AlreadyInitialized { .. } => "to add an API, type `kbr create api --kind KIND`".to_owned(),
            Self::NotAProject { .. } => "type `kbr init --domain DOMAIN` first, or name the project's folder with `-C DIR`".to_owned(),
            Self::BelowProject { project, .. } => {
                format!("type `cd {project}` first, or name that folder with `-C {project}`")
            }
            Self::NestedProject { project, .. } => format!(
                "to add an API, type `cd {project} && kbr create api --kind KIND`; \
                 for another project, name a folder outside of this one with `kbr init DIR`"
            ),
            Self::ProjectUnreadable { .. } => "take the file back from version control, or update kbr if a newer one wrote it".to_owned(),
            Self::ProjectMerge { .. } => "keep both sides: all lines under `files`, all entries under `resources`, each of them whole".to_owned(),
            Self::GoLayout { .. } => "use kubebuilder here, or run kbr in a folder of its own".to_owned(),
            Self::OldLayout => "type `kbr update`, and write `kbr_runtime` for `runtime` in files of your own".to_owned(),
            Self::FolderName { .. } => "type `--project-name NAME`, such as `--project-name my-operator`".to_owned(),
            Self::Name { source, .. } => source.remedy.clone(),
            Self::NothingToEdit => "type `kbr edit --multigroup` or `kbr edit --project-name NAME`".to_owned(),
            Self::SeveralGroups { .. } => "delete the kinds of one first".to_owned(),
            Self::PackageExists { .. } => "type another name after `--project-name`".to_owned(),
            Self::Move { .. } => "move what is in the way, and type the same command again".to_owned(),
            Self::NoAnswer => "type `--resource` and `--controller`, each with `=true` or `=false`".to_owned(),
            Self::NoFolder { .. } => "name one that exists after `-C`; `kbr init DIR` creates its own".to_owned(),
            Self::Conflicts { conflicts, may_force } => Conflict::help(conflicts, *may_force).to_owned(),
            Self::MarkerMissing { path, marker, fragment } => format!(
                "in `{path}`, put this line back where {} belongs: `{}`",
                quote(fragment),
                marker.line()
            ),
            Self::MarkerTwice { path, marker, .. } => {
                format!("in `{path}`, keep only one of these lines: `{}`", marker.line())
            }
            Self::Several(errors) => several_helps(errors),
            Self::TypesDisagree { .. } => "`group`, `version`, `kind` and `plural` of `#[kube(..)]` must be those that \
                                           PROJECT has; where a type is missing, take `api/src/bin/crdgen.rs` back \
                                           from version control"
                .to_owned(),
            Self::StoredVersionGone { version, crd, .. } => stored_version_gone(version, crd),
            Self::FileMissing { .. } => "take the file back from version control, and type the same command again".to_owned(),
            Self::ChangedMeanwhile { .. } => "nothing was written; type the same command again".to_owned(),
            Self::HalfDone { .. } => "type a command without `--dry-run` and `--check`: it finishes that first".to_owned(),
            Self::CannotFinish { .. } | Self::RecordUnreadable { .. } => {
                "take the whole project back from version control, remove `.kbr-plan`, and type the same command again"
                    .to_owned()
            }
            Self::Undo { .. } => "fix that, and type the same command again: it first finishes what is half done".to_owned(),
            Self::CargoMissing { .. } => "install Rust from https://rustup.rs, and see that `cargo` is on PATH".to_owned(),
            Self::Crdgen { .. } => {
                "`api/src/bin/crdgen.rs` must be the one that kbr wrote: take it back from version control".to_owned()
            }
            Self::OutOfDate { command, .. } => format!("type `kbr {command}`, and commit what it writes"),
            Self::CargoFailed => "fix the errors above, and type the same command again".to_owned(),
            Self::EndlessTypes(_) => RECURSION_HELP.to_owned(),
            Self::CrdgenCrashed => {
                "where its stack overflowed, a type that derives `KubeSchema` contains itself".to_owned()
            }
            Self::Api(error) => error.help(),
            Self::External(error) => error.help(),
            Self::Image(error) => error.help(),
            Self::Update(error) => error.help(),
            Self::Webhook(error) => error.help(),
            Self::Delete(error) => error.help(),
            Self::Rename(error) => error.help(),
            Self::Against(error) => error.help(),
            Self::Envtest(error) => error.help(),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                "make room on that disk, and type the same command again".to_owned()
            }
            Self::Io { .. } | Self::Markers(_) | Self::Types(_) => String::new(),
        }
    }
}

/// Several problems of one kind, one a line.
fn list<T: Display>(problems: &[T]) -> String {
    join(problems, "\n", T::to_string)
}

/// Several problems, each with its own remedy behind it.
fn remedies<T: Display>(problems: &[T], help: impl Fn(&T) -> String) -> String {
    join(problems, "\n", |problem| {
        format!("{problem}; {}", help(problem))
    })
}

fn join<T>(items: &[T], separator: &str, show: impl Fn(&T) -> String) -> String {
    items.iter().map(show).collect::<Vec<_>>().join(separator)
}

fn quote(fragment: &str) -> String {
    format!("`{}`", fragment.trim())
}

fn several_helps(errors: &[Error]) -> String {
    let mut helps: Vec<String> = errors.iter().map(Error::help).collect();
    helps.retain(|help| !help.is_empty());
    helps.dedup();
    helps.join("\n help: ")
}

/// How a version leaves in which objects may be stored.
fn stored_version_gone(version: &str, crd: &str) -> String {
    format!(
        "take `{version}` back from version control, in PROJECT and in the code, move `storage: true` to another version, \
         and type `kbr manifests`; if no cluster has such objects, remove `{crd}` instead, and type the same command again"
    )
}

/// How to name a type of Kubernetes' own: one of these kinds, or by these options.
fn kubernetes_own(kinds: &[&str], options: Option<&str>) -> Vec<String> {
    let mut ways = Vec::new();
    if !kinds.is_empty() {
        let kinds = kinds.join(", ");
        ways.push(format!(
            "name one of Kubernetes' own after `--kind`: {kinds}"
        ));
    }
    if let Some(options) = options {
        ways.push(format!("type `{options}` for Kubernetes' own"));
    }
    ways
}
