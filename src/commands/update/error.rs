//! Why a project cannot be updated, or not without help from its owner.

use miette::Diagnostic;
use thiserror::Error;

use crate::error::quoted;
use crate::toolchain::GitError;

/// Undoes an update, and removes the files that it created. Type it in the project's folder; everything there
/// must have been committed before.
pub(crate) const UNDO: &str = "git checkout . && git clean -fd";

#[derive(Debug, Error, Diagnostic)]
pub(crate) enum UpdateError {
    #[error("these files are not committed: {}", quoted(.files))]
    #[diagnostic(code("update-dirty"))]
    #[diagnostic(help(
        "commit them first, so that `{undo}` can undo the update; or add `--allow-dirty`"
    ))]
    Dirty { files: Vec<String>, undo: String },
    #[error("an earlier kbr rendered these files, which you have edited: {}", quoted(.files))]
    #[diagnostic(code("update-first"), help("type `kbr update` first"))]
    First { files: Vec<String> },
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
