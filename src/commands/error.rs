//! Everything that makes a command fail: the errors of all modules that it uses.

use miette::Diagnostic;
use thiserror::Error;

use crate::apply::ApplyError;
use crate::bundle::BundleError;
use crate::chart::ChartError;
use crate::commands::against::error::AgainstError;
use crate::commands::create_api::error::ApiError;
use crate::commands::create_policy::error::PolicyCommandError;
use crate::commands::create_webhook::error::WebhookError;
use crate::commands::delete::error::DeleteError;
use crate::commands::dev::error::DevError;
use crate::commands::edit::error::EditError;
use crate::commands::external::error::ExternalError;
use crate::commands::folder::error::FolderError;
use crate::commands::import_crd::error::{ImportError, OneCrdError};
use crate::commands::manifests::error::ManifestsError;
use crate::commands::rename::error::RenameError;
use crate::commands::update::error::UpdateError;
use crate::envtest::EnvtestError;
use crate::error::{IoError, helps, lines, quoted};
use crate::evolve::error::ConflictError;
use crate::import::documents::Refusal as CrdRefusal;
use crate::import::go::error::GoError;
use crate::kustomize::KustomizeError;
use crate::lock::LockError;
use crate::marker::ScaffoldMarkerError;
use crate::modules::MoveError;
use crate::names::NameError;
use crate::plan::PlanError;
use crate::project::ProjectError;
use crate::report::AnswerError;
use crate::toolchain::{CargoError, GitError, KubectlError};
use crate::yaml::YamlError;

/// Declares [`enum@Error`], with a variant for the errors of each module, which speak for themselves.
macro_rules! errors {
    ({ $($own:tt)* } $($name:ident($error:ident),)*) => {
        #[derive(Debug, Error, Diagnostic)]
        pub(crate) enum Error {
            $($own)*
            $(
                #[error(transparent)]
                #[diagnostic(transparent)]
                $name(#[from] $error),
            )*
        }
    };
}

errors! {
    {
        #[error("{}", lines(.errors))]
        #[diagnostic(help("{}", helps(errors)))]
        Several {
            #[related]
            errors: Vec<Self>,
        },
        #[error("`{option}`: {}", .source.reason)]
        #[diagnostic(code("invalid-name"), help("{}", .source.remedy))]
        Name {
            option: &'static str,
            source: NameError,
        },
        #[error("{} of the generated files {} out of date: {}", .drift.len(), if .drift.len() == 1 { "is" } else { "are" }, quoted(.drift))]
        #[diagnostic(code("out-of-date"))]
        #[diagnostic(help("type `kbr {command}`, and commit what it writes"))]
        OutOfDate {
            command: String,
            drift: Vec<String>,
        },
    }
    Against(AgainstError), Answer(AnswerError), Api(ApiError), Apply(ApplyError), Bundle(BundleError), Cargo(CargoError), Chart(ChartError), Conflict(ConflictError), Crd(CrdRefusal),
    Delete(DeleteError), Dev(DevError), Edit(EditError), Envtest(EnvtestError), External(ExternalError),
    Folder(FolderError), Git(GitError), Go(GoError), Import(ImportError), Io(IoError), Kubectl(KubectlError),
    Kustomize(KustomizeError), Lock(LockError),
    Manifests(ManifestsError), Marker(ScaffoldMarkerError), Move(MoveError), OneCrd(OneCrdError), Plan(PlanError),
    Policy(PolicyCommandError),
    Project(ProjectError), Rename(RenameError), Update(UpdateError), Webhook(WebhookError), Yaml(YamlError),
}

/// The result of everything in a command that can fail.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

impl From<Vec<PlanError>> for Error {
    fn from(errors: Vec<PlanError>) -> Self {
        Self::several(errors)
    }
}

impl Error {
    /// For `map_err`: why `option` cannot have that name.
    pub(crate) fn name(option: &'static str) -> impl FnOnce(NameError) -> Self {
        move |source| Self::Name { option, source }
    }

    /// Combines `errors` into one, if there are any.
    pub(crate) fn all<E: Into<Self>>(errors: impl IntoIterator<Item = E>) -> Result<()> {
        let mut errors = errors.into_iter().peekable();
        match errors.peek() {
            None => Ok(()),
            Some(_) => Err(Self::several(errors)),
        }
    }

    /// Combines `errors` into one: a single error stays as it is.
    pub(crate) fn several<E: Into<Self>>(errors: impl IntoIterator<Item = E>) -> Self {
        let mut all: Vec<Self> = errors.into_iter().map(E::into).collect();
        match all.len() {
            1 => all.remove(0),
            _ => Self::Several { errors: all },
        }
    }
}
