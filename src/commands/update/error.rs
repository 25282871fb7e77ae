//! Why a project cannot be updated, or not without help from its owner.

use miette::Diagnostic;
use thiserror::Error;

use crate::error::quoted;
use crate::toolchain::GitError;

/// Undoes an update, and removes the files that it created. Type it in the project's folder; everything there
/// must have been committed before.
pub const UNDO: &str = "git checkout . && git clean -fd";

#[derive(Debug, Error, Diagnostic)]
pub enum UpdateError {
    #[error("these files have edits where the scaffold has changed: {}", quoted(.files))]
    #[diagnostic(code("update-conflict"))]
    #[diagnostic(help(
        "choose between the two texts at each `<<<<<<<`, and compile{}",
        .undo.as_ref().map(|undo| format!("; `{undo}` undoes the update")).unwrap_or_default()
    ))]
    Conflict {
        files: Vec<String>,
        /// What undoes the update, if everything was committed before.
        undo: Option<String>,
    },
    #[error("these files are not committed: {}", quoted(.files))]
    #[diagnostic(code("update-dirty"))]
    #[diagnostic(help(
        "commit them first, so that `{undo}` can undo the update; or add `--allow-dirty`"
    ))]
    Dirty { files: Vec<String>, undo: String },
    #[error("{0}")]
    #[diagnostic(code("update-git"))]
    #[diagnostic(help(
        "commit the project with git first, so that the update can be undone; or add `--allow-dirty`"
    ))]
    Git(#[from] GitError),
    #[error("PROJECT was written by kbr {project}, and this is kbr {own}")]
    #[diagnostic(code("update-newer"))]
    #[diagnostic(help("type `cargo install --locked kbr@{project}`, or install a newer kbr"))]
    Newer { project: String, own: &'static str },
}
