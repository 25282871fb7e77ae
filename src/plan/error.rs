//! Why a plan cannot be made.

use miette::Diagnostic;
use thiserror::Error;

use super::Conflict;
use crate::error::lines;
use crate::marker::ScaffoldMarkerError;

#[derive(Debug, Error, Diagnostic)]
pub enum PlanError {
    #[error("{}", lines(.conflicts))]
    #[diagnostic(help("{help}"))]
    Conflicts {
        #[related]
        conflicts: Vec<Conflict>,
        /// What to do about the conflicts, which depends on all of them.
        help: &'static str,
    },
    #[error("`{path}` does not exist, but `{}` belongs in it", .fragment.trim())]
    #[diagnostic(code("file-missing"))]
    #[diagnostic(help("restore the file from version control, and type the same command again"))]
    FileMissing { path: String, fragment: String },
    #[error(transparent)]
    #[diagnostic(transparent)]
    Marker(#[from] ScaffoldMarkerError),
}
