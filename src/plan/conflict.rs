//! What stands in the way of a file, and what to do about it.

use std::fmt;

use crate::tree::{Entry, Tree};

/// A file that stands in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    pub path: String,
    pub why: Why,
}

/// Why a file cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    OtherContent,
    /// A file stands where a folder has to.
    File,
    NotGenerated,
    Folder,
    Link,
    NoText,
}

/// Whether a file could stand at `path`: every part above it a folder or nothing, and itself a
/// text file or nothing.
pub(super) fn check_place(path: &str, tree: &Tree) -> std::result::Result<(), Conflict> {
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

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.why {
            Why::OtherContent => "exists with other content",
            Why::File => "is a file, but a folder has to stand there",
            Why::NotGenerated => "is to be generated, but what stands there was not written by kbr",
            Why::Folder => "is a folder",
            Why::Link => "is a symbolic link, which may lead out of the project",
            Why::NoText => "is not a text file",
        };
        write!(f, "`{}` {why}", self.path)
    }
}

impl Conflict {
    /// What to do about them, which depends on all of them.
    pub fn help(conflicts: &[Self], may_force: bool) -> &'static str {
        if may_force && conflicts.iter().all(|c| c.why == Why::OtherContent) {
            "move what stands there out of the way, or add `--force` to write it anew"
        } else {
            "move what stands there out of the way, and type the same command again"
        }
    }
}
