//! Edits that could not be carried over.

use miette::Diagnostic;
use thiserror::Error;

use crate::error::quoted;

/// kbr and the owner of the files have changed the same lines.
#[derive(Debug, Error, Diagnostic)]
#[error("these files have edits in lines that kbr changes too: {}", quoted(.files))]
#[diagnostic(code("edit-conflict"))]
#[diagnostic(help(
    "choose between the two texts at each `<<<<<<<`, then type the next command{}",
    .undo.as_ref().map(|undo| format!("; if everything was committed before, `{undo}` undoes this one")).unwrap_or_default()
))]
pub(crate) struct ConflictError {
    pub(crate) files: Vec<String>,
    /// What undoes the command that left the conflicts, if that was the last one.
    pub(crate) undo: Option<String>,
}
