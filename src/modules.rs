//! Moves Rust modules of a project, and rewrites every reference to them. Pure.
//!
//! A module moves with its file, its folder, and every path to it: in code, in the arguments of macros,
//! in imports, in links of doc comments and in literals of attributes that are a path. A path that
//! still leads to the same item is not changed. Paths that do not lead into the project's own modules
//! are left alone, and so is any other text, such as the code in doc comments.
//!
//! If a module leaves a parent that had `pub use name::*`, paths to the exported items are changed to the
//! new parent; an import of the old parent is changed too if nothing else is reached through it.
//!
//! `mod name;` is removed from the file of the old parent. The caller decides where to add it, since the
//! new parent may have to be created first: see [`MovedDeclaration`].

mod edit;
mod names;
mod places;
mod project;
mod source;

#[cfg(test)]
mod tests;

use miette::Diagnostic;
use std::collections::BTreeMap;
use thiserror::Error;

use crate::rust::{Replacement, replaced};
use names::Names;
pub(crate) use places::join;
use places::places;
pub(crate) use project::reached;
use project::{all_crates, carry_imports, read};

/// A crate of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Crate {
    /// Path of its root file.
    pub(crate) root: String,
    /// The names by which the project's other crates refer to it, each before and after the move.
    pub(crate) names: Vec<[String; 2]>,
}

/// A module that moves. Of several moves that apply, the one with the longest path counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Move {
    /// Root file of the crate.
    pub(crate) root: String,
    /// Path in the crate: `webhook::v1`.
    pub(crate) from: String,
    pub(crate) to: String,
    /// Public types that macros generate in it, apart from those in its text.
    pub(crate) makes: Vec<String>,
}

/// The result of moving modules.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Moved {
    /// The files that change, in the order of their old paths.
    pub(crate) files: Vec<MovedFile>,
    /// The declarations that were removed from a file, and must be added to another.
    pub(crate) declarations: Vec<MovedDeclaration>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MovedFile {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) text: String,
}

/// `mod name;` as its owner wrote it, with doc comments and attributes, without a line ending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MovedDeclaration {
    /// Root file of the crate.
    pub(crate) root: String,
    /// The module that has to declare it; empty for the root.
    pub(crate) parent: String,
    pub(crate) text: String,
}

/// Why modules cannot be moved.
#[derive(Debug, Clone, PartialEq, Eq, Error, Diagnostic)]
pub(crate) enum MoveError {
    #[error("the modules cannot be moved: `{from}` cannot become `{to}`, because `{taken}` exists")]
    #[diagnostic(code("move-taken"))]
    #[diagnostic(help("move it out of the way, and run the command again"))]
    Taken {
        from: String,
        to: String,
        taken: String,
    },
    #[error("the modules cannot be moved: the module `{module}` of `{root}` has no file")]
    #[diagnostic(code("move-missing"))]
    #[diagnostic(help(
        "add the file, or remove the line that declares it, and run the command again"
    ))]
    Missing { root: String, module: String },
    #[error("the modules cannot be moved: `{path}` has code that kbr did not write")]
    #[diagnostic(code("move-edited"))]
    #[diagnostic(help("move that code to another file, and run the command again"))]
    Edited { path: String },
}

/// The path of a module after the moves.
pub(crate) fn after(moves: &[Move], root: &str, module: &str) -> String {
    places::moved(moves, root, &places::names(module)).join("::")
}

/// Moves modules among `files`, texts by path: the project's own files, without vendored and generated
/// ones. `named` are the crates with names; tests, examples and binaries are found by their paths. Files
/// that are not Rust move with their folder.
pub(crate) fn rewrite(
    named: &[Crate],
    moves: &[Move],
    files: &BTreeMap<&str, &str>,
) -> Result<Moved, MoveError> {
    let places = places(moves, files)?;
    let crates = all_crates(named, moves, files);
    let mut names = Names::new(&crates, moves);
    let read = read(&crates, files, &mut names);
    names.carry_exports();
    carry_imports(&read, &mut names);
    // All paths first: they determine how visible a declaration must be.
    let respelled: BTreeMap<&str, Vec<Replacement>> = read
        .iter()
        .map(|(path, file)| (path.as_str(), file.edits(&names)))
        .collect();
    let mut moved = Moved::default();
    for (&from, to) in &places {
        let text = files[from];
        let mut new = text.to_owned();
        if let Some(file) = read.get(from) {
            let mut edits = respelled.get(from).cloned().unwrap_or_default();
            edits.extend(file.file_edits(text, (from, to), &places));
            let removed = file.declarations(&names, &crates, text, &mut edits);
            moved.declarations.extend(removed);
            new = replaced(text, 0..text.len(), &edits);
        }
        if from != to || new != text {
            moved.files.push(MovedFile {
                from: from.to_owned(),
                to: to.clone(),
                text: new,
            });
        }
    }
    Ok(moved)
}
