//! What prevents writing a file, and what to do about it.

use miette::Diagnostic;
use thiserror::Error;

use crate::tree::{Entry, Tree};

/// A file that is in the way.
#[derive(Debug, Clone, PartialEq, Eq, Error, Diagnostic)]
#[error("`{path}` {why}")]
#[diagnostic(code("conflicts"))]
pub struct Conflict {
    pub path: String,
    pub why: Why,
}

/// Why a file cannot be written. The text continues its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
pub enum Why {
    #[strum(to_string = "already exists with different content")]
    OtherContent,
    #[strum(to_string = "is a file, but kbr needs a folder there")]
    File,
    #[strum(to_string = "would be generated, but the existing file was not written by kbr")]
    NotGenerated,
    #[strum(to_string = "is a folder")]
    Folder,
    #[strum(to_string = "is a symbolic link, which may lead out of the project")]
    Link,
    #[strum(to_string = "is not a text file")]
    NoText,
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

impl Conflict {
    /// What to do about the conflicts, which depends on all of them.
    pub fn help(conflicts: &[Self], may_force: bool) -> &'static str {
        if may_force && conflicts.iter().all(|c| c.why == Why::OtherContent) {
            "move it out of the way, or add `--force` to overwrite it"
        } else {
            "move it out of the way, and type the same command again"
        }
    }
}
