//! What prevents writing a file, and what to do about it.

use std::fmt;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    OtherContent,
    File,
    NotGenerated,
    Folder,
    Link,
    NoText,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherContent => "already exists with different content",
            Self::File => "is a file, but kbr needs a folder there",
            Self::NotGenerated => {
                "would be generated, but the existing file was not written by kbr"
            }
            Self::Folder => "is a folder",
            Self::Link => "is a symbolic link, which may lead out of the project",
            Self::NoText => "is not a text file",
        })
    }
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
