//! Why a project cannot be updated, or needs its owner for it.

use miette::Diagnostic;
use thiserror::Error;

use crate::error::quoted;
use crate::toolchain::GitError;

/// Takes back what was changed and what was created, where everything was committed before.
const UNDO: &str = "git checkout . && git clean -fd";

#[derive(Debug, Error, Diagnostic)]
pub enum UpdateError {
    #[error("these files have edits where the scaffold has changed: {}", quoted(.files))]
    #[diagnostic(
        code("update-conflict"),
        help(
            "choose between the two texts at each `<<<<<<<`, and compile{}",
            if *.was_clean { format!("; to take the update back, type `{UNDO}`") } else { String::new() }
        )
    )]
    Conflict {
        files: Vec<String>,
        /// Whether everything was committed before, so that git can take the update back.
        was_clean: bool,
    },
    #[error("these files have uncommitted changes: {}", quoted(.files))]
    #[diagnostic(
        code("update-dirty"),
        help(
            "commit them first, so that `{UNDO}` can take the update back; or add `--allow-dirty`"
        )
    )]
    Dirty { files: Vec<String> },
    #[error("{0}")]
    #[diagnostic(
        code("update-git"),
        help(
            "commit the project with git first, so that the update can be taken back; or add `--allow-dirty`"
        )
    )]
    Git(#[from] GitError),
    #[error("PROJECT was written by kbr {project}, and this is kbr {own}")]
    #[diagnostic(
        code("update-newer"),
        help("type `cargo install --locked kbr@{project}`, or take a newer kbr")
    )]
    Newer { project: String, own: &'static str },
}
