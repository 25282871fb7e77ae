//! Why a plan was not carried out.

use miette::Diagnostic;
use thiserror::Error;

use crate::error::{IoError, quoted};

#[derive(Debug, Error, Diagnostic)]
pub(crate) enum ApplyError {
    #[error("`{path}` changed while kbr was at work")]
    #[diagnostic(code("apply-file-changed"))]
    #[diagnostic(help("nothing was written; run the command again"))]
    ChangedMeanwhile { path: String },
    #[error("a `kbr {command}` was interrupted, and is not finished yet")]
    #[diagnostic(code("apply-interrupted"))]
    #[diagnostic(help(
        "type a command without `--dry-run` and `--check`: it finishes the interrupted one first"
    ))]
    HalfDone { command: String },
    #[error("a `kbr {command}` was interrupted, and cannot be finished: {} changed since", quoted(.files))]
    #[diagnostic(code("apply-cannot-finish"))]
    #[diagnostic(help(
        "restore the whole project from version control, remove `.kbr-plan`, and type the same command \
         again"
    ))]
    CannotFinish { command: String, files: Vec<String> },
    #[error("`.kbr-plan`, left by an interrupted kbr, cannot be read: {reason}")]
    #[diagnostic(code("apply-record-unreadable"))]
    #[diagnostic(help(
        "restore the whole project from version control, remove `.kbr-plan`, and type the same command \
         again"
    ))]
    RecordUnreadable { reason: String },
    #[error("{error}; undoing it failed too: {undo}")]
    #[diagnostic(code("apply-rollback-failed"))]
    #[diagnostic(help(
        "fix the cause and run the command again: it completes the interrupted work first"
    ))]
    Undo { error: Box<Self>, undo: Box<Self> },
    #[error(transparent)]
    #[diagnostic(transparent)]
    Io(#[from] IoError),
}
