//! Everything that makes a command fail: the errors of all modules that it uses.

use miette::Diagnostic;
use thiserror::Error;

use crate::apply::ApplyError;
use crate::commands::against::error::AgainstError;
use crate::commands::create_api::error::{ApiError, ImageError};
use crate::commands::create_webhook::error::WebhookError;
use crate::commands::delete::error::DeleteError;
use crate::commands::edit::error::EditError;
use crate::commands::external::error::ExternalError;
use crate::commands::folder::error::FolderError;
use crate::commands::manifests::error::ManifestsError;
use crate::commands::rename::error::RenameError;
use crate::commands::update::error::UpdateError;
use crate::envtest::EnvtestError;
use crate::error::{IoError, helps, lines, quoted};
use crate::lock::LockError;
use crate::marker::ScaffoldMarkerError;
use crate::modules::MoveError;
use crate::names::NameError;
use crate::plan::PlanError;
use crate::project::ProjectError;
use crate::report::AnswerError;
use crate::toolchain::{CargoError, GitError};

#[derive(Debug, Error, Diagnostic)]
pub enum Error {
    #[error("{}", lines(.0))]
    #[diagnostic(help("{}", helps(.0)))]
    Several(#[related] Vec<Self>),
    #[error("`{option}`: {}", .source.reason)]
    #[diagnostic(code("name"), help("{}", .source.remedy))]
    Name {
        option: &'static str,
        source: NameError,
    },
    #[error("{} of the generated files {} out of date: {}", .drift.len(), if .drift.len() == 1 { "is" } else { "are" }, quoted(.drift))]
    #[diagnostic(
        code("out-of-date"),
        help("type `kbr {command}`, and commit what it writes")
    )]
    OutOfDate {
        command: &'static str,
        drift: Vec<String>,
    },

    #[error(transparent)]
    #[diagnostic(transparent)]
    Against(#[from] AgainstError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Answer(#[from] AnswerError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Api(#[from] ApiError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Apply(#[from] ApplyError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Cargo(#[from] CargoError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Delete(#[from] DeleteError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Edit(#[from] EditError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Envtest(#[from] EnvtestError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    External(#[from] ExternalError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Io(#[from] IoError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Manifests(#[from] ManifestsError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Marker(#[from] ScaffoldMarkerError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Move(#[from] MoveError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Project(#[from] ProjectError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Rename(#[from] RenameError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Update(#[from] UpdateError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Webhook(#[from] WebhookError),
}

/// The result of everything in a command that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl From<Vec<PlanError>> for Error {
    fn from(mut errors: Vec<PlanError>) -> Self {
        match errors.len() {
            1 => errors.remove(0).into(),
            _ => Self::Several(errors.into_iter().map(Self::Plan).collect()),
        }
    }
}

impl Error {
    /// Combines `errors` into one, if there are any.
    pub fn all<E: Into<Self>>(errors: impl IntoIterator<Item = E>) -> Result<()> {
        let mut errors: Vec<Self> = errors.into_iter().map(E::into).collect();
        match errors.len() {
            0 => Ok(()),
            1 => Err(errors.remove(0)),
            _ => Err(Self::Several(errors)),
        }
    }
}
