//! Why a plan cannot be made: what prevents writing a file, and what to do about it.

use miette::Diagnostic;
use thiserror::Error;

use super::step::Why;
use crate::error::lines;
use crate::marker::ScaffoldMarkerError;
use crate::tree::{Entry, Tree};

#[derive(Debug, Error, Diagnostic)]
pub(crate) enum PlanError {
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
    #[diagnostic(help("restore the file from version control, and run the command again"))]
    FileMissing { path: String, fragment: String },
    #[error(transparent)]
    #[diagnostic(transparent)]
    Marker(#[from] ScaffoldMarkerError),
}

/// A file that is in the way.
#[derive(Debug, Clone, PartialEq, Eq, Error, Diagnostic)]
#[error("`{path}` {why}")]
#[diagnostic(code("file-in-the-way"))]
pub(crate) struct Conflict {
    pub(crate) path: String,
    pub(crate) why: Why,
}

/// Checks that a file can be at `path`: every part above it is a folder or missing, and the path itself
/// is a text file or missing.
pub(super) fn check_place(path: &str, tree: &Tree) -> Result<(), Conflict> {
    let conflict = |path: &str, why| {
        Err(Conflict {
            path: path.to_owned(),
            why,
        })
    };
    for (end, _) in path.match_indices('/') {
        match tree.entry(&path[..end]) {
            None | Some(Entry::Folder) => {}
            Some(Entry::Link) => return conflict(&path[..end], Why::Link),
            Some(Entry::File(_) | Entry::Opaque(_)) => return conflict(&path[..end], Why::File),
        }
    }
    match tree.entry(path) {
        None | Some(Entry::File(_)) => Ok(()),
        Some(Entry::Folder) => conflict(path, Why::Folder),
        Some(Entry::Link) => conflict(path, Why::Link),
        Some(Entry::Opaque(_)) => conflict(path, Why::NoText),
    }
}
