//! The Rust modules around those that move to another layout.
//!
//! Modules that contain the user's code are moved, see [`super::super::moves`]; those that only contain
//! other modules, such as a group's module, are added and removed with the scaffold. Pure.

use std::collections::BTreeMap;

use crate::commands::error::Result;
use crate::commands::moves;
use crate::commands::wanted::{insert, rewrite};
use crate::marker::ScaffoldMarker;
use crate::modules::{MoveError, Moved};
use crate::plan::Change;
use crate::project::Project;
use crate::scaffold::{self, Part, What};
use crate::tree::Tree;

/// The changes around the moved modules between the old scaffold and the new one: the modules of
/// the groups, and the lines that declare modules.
pub fn around(
    before: &Project,
    after: &Project,
    old: &[Part],
    new: &[Part],
    moved: &Moved,
    tree: &Tree,
) -> Result<Vec<Change>> {
    let removed = scaffold::without(old.to_vec(), new);
    let mut changes = leftovers(before, &removed, moved, tree)?;
    let is_moved = |path: &str| {
        let mut files = moved.files.iter();
        files.any(|file| file.from != file.to && file.to == path)
    };
    // The file of a module comes before the lines in it.
    for part in scaffold::without(new.to_vec(), old) {
        let is_rust = part.path.ends_with(".rs");
        match &part.what {
            What::File { .. } if is_rust && !is_moved(&part.path) => {
                changes.extend(part.change(after, false));
            }
            What::Line { marker, fragment } if is_rust && *marker == ScaffoldMarker::Modules => {
                let owners = moves::declaration(moved, &part.path, fragment);
                if owners.is_some() || !is_moved(&part.path) {
                    let fragment = owners.unwrap_or(fragment);
                    changes.push(insert(&part.path, *marker, fragment));
                }
            }
            _ => {}
        }
    }
    Ok(changes)
}

/// Removes the modules of the old layout that have become empty, and the lines that declare them; refuses if
/// such a module contains code of the user.
fn leftovers(before: &Project, old: &[Part], moved: &Moved, tree: &Tree) -> Result<Vec<Change>> {
    let has_left = |path: &str| {
        let mut files = moved.files.iter();
        files.any(|file| file.from == path && file.to != path)
    };
    let mut texts: BTreeMap<&str, (&str, Option<String>)> = BTreeMap::new();
    for part in old.iter().filter(|part| part.path.ends_with(".rs")) {
        let Some(now) = tree.text(&part.path).filter(|_| !has_left(&part.path)) else {
            continue;
        };
        let rewritten = moved.files.iter().find(|file| file.to == part.path);
        let now = rewritten.map_or(now, |file| &file.text);
        let (_, scaffolded) = texts.entry(&part.path).or_insert((now, None));
        if let Some(text) = part.text(before) {
            *scaffolded = Some(text);
        }
    }
    let mut changes = Vec::new();
    for (path, (now, scaffolded)) in texts {
        let declared = old.iter().filter_map(|other| match &other.what {
            What::Line { marker, fragment }
                if other.path == path && *marker == ScaffoldMarker::Modules =>
            {
                Some(fragment)
            }
            _ => None,
        });
        let rest = declared.fold(now.to_owned(), |text, line| {
            let without = ScaffoldMarker::Modules.remove(&text, line);
            without.unwrap_or(text)
        });
        match scaffolded {
            Some(scaffolded) if rest == scaffolded => changes.push(Change::Remove {
                path: path.to_owned(),
            }),
            Some(_) => {
                let path = path.to_owned();
                return Err(MoveError::Edited { path }.into());
            }
            None if rest != now => changes.push(rewrite(path, rest)),
            None => {}
        }
    }
    Ok(changes)
}
