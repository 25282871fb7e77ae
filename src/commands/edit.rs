//! `kbr edit`: changes the layout of a project, and moves its owner's code along. A new name of the project is in
//! [`super::rename::project`].
//!
//! The scaffolds of the project models before and after determine where each file must be.
//! [`crate::modules`] moves Rust modules and rewrites the paths to them; other files are renamed. No name
//! of an object in a cluster changes: a controller keeps its name as an explicit one, and a role for
//! people keeps the name in its file. Pure, except for the formatter that it is given.

pub mod error;
mod rust;

use std::collections::BTreeMap;

use crate::cli::EditArgs;
use crate::commands::beside;
use crate::commands::error::{Error, Result};
use crate::commands::lines::{self, Line};
use crate::commands::moves::{self, Format};
use crate::commands::wanted::{Wanted, rewrite};
use crate::layout::{self, Place};
use crate::marker::ScaffoldMarker;
use crate::modules::Moved;
use crate::plan::Change;
use crate::project::{PROJECT_FILE, Project};
use crate::scaffold::{self, Part, What};
use crate::tree::Tree;
use error::EditError;

/// The project in the requested layout, and the files that must move for it.
pub fn plan(project: &Project, args: &EditArgs, tree: &Tree, format: Format<'_>) -> Result<Wanted> {
    let Some(multigroup) = args.multigroup else {
        return Err(EditError::Nothing.into());
    };
    let mut after = project.clone();
    if multigroup != project.multigroup {
        after.multigroup = multigroup;
        check(&after)?;
        keep_names(project, &mut after)?;
    }
    let (old, new) = (scaffold::of(project), scaffold::of(&after));
    let lines = lines::renamed(kept(&old).zip(kept(&new)));
    let moved = moves::moved(project, &after, &moves::sources(tree))?;
    let mut changes = files(&moved, &lines, tree, format)?;
    changes.extend(roles(&old, &new, &lines, tree)?);
    changes.extend(rust::around(project, &after, &old, &new, &moved, tree)?);
    changes.push(scaffold::crdgen(&after));
    let warnings = warnings(&changes, tree);
    moves::deleted(&places(project, &after), tree, &mut after.files);
    after.sort();
    Ok(Wanted::of(after, changes, warnings))
}

/// Refuses a layout that is impossible with the kinds of the project.
fn check(after: &Project) -> Result<()> {
    let resources = &after.resources;
    for (at, resource) in resources.iter().enumerate() {
        for other in &resources[..at] {
            let are_own = resource.is_own() && other.is_own();
            if are_own && !after.multigroup && !resource.is_in_group_of(other) {
                return Err(EditError::SeveralGroups {
                    groups: [other.qualified_group(), resource.qualified_group()],
                }
                .into());
            }
        }
        beside::check_beside(after, resource)?;
    }
    Ok(())
}

/// Keeps the name of each controller that the new layout would rename: the name is the field manager
/// of everything that the controller has applied.
fn keep_names(before: &Project, after: &mut Project) -> Result<()> {
    let renamed = after.clone();
    for resource in &mut after.resources {
        let (old, new) = (Place::of(before, resource), Place::of(&renamed, resource));
        let mut controllers = Vec::new();
        for name in &resource.controllers {
            let (had, gets) = (
                old.controller_name(name.as_ref()),
                new.controller_name(name.as_ref()),
            );
            controllers.push(match name {
                // The default name of a controller in the new layout.
                Some(_) if had == new.controller_name(None) => None,
                None if had != gets => Some(had.parse().map_err(Error::name("--group"))?),
                _ => name.clone(),
            });
        }
        resource.rename_controllers(controllers);
    }
    Ok(())
}

/// The parts that exist in every layout, in the same order: roles for people, lines that list these roles,
/// and registrations.
fn kept(parts: &[Part]) -> impl Iterator<Item = &Part> {
    parts.iter().filter(|part| match &part.what {
        What::File { .. } => part.path.starts_with(layout::RBAC),
        What::Given => false,
        What::Line { marker, .. } => matches!(
            marker,
            ScaffoldMarker::Controllers | ScaffoldMarker::RbacResources | ScaffoldMarker::Webhooks
        ),
    })
}

/// The moved files, with their registrations in order; files that were formatted are formatted again.
fn files(
    moved: &Moved,
    lines: &BTreeMap<&str, Vec<Line>>,
    tree: &Tree,
    format: Format<'_>,
) -> Result<Vec<Change>> {
    let files = moved.files.iter().map(|file| {
        let was = tree.text(&file.from).unwrap_or_default();
        let text = match lines.get(&*file.from) {
            Some(lines) => lines::in_order(&file.to, was, &file.text, lines)?,
            None => file.text.clone(),
        };
        Ok(moves::moved_file(&file.from, &file.to, was, text, format))
    });
    files.collect()
}

/// The roles for people under their new file names, and the kustomization that lists them.
fn roles(
    old: &[Part],
    new: &[Part],
    lines: &BTreeMap<&str, Vec<Line>>,
    tree: &Tree,
) -> Result<Vec<Change>> {
    let pairs = kept(old).zip(kept(new));
    let moved = pairs.filter(|(old, new)| old.path != new.path);
    let moved = moved.filter_map(|(old, new)| {
        let text = tree.text(&old.path)?;
        Some(Change::Rewrite {
            from: old.path.clone(),
            path: new.path.clone(),
            text: text.to_owned(),
        })
    });
    let mut changes: Vec<Change> = moved.collect();
    let path = layout::RBAC_KUSTOMIZATION;
    if let (Some(lines), Some(was)) = (lines.get(path), tree.text(path)) {
        changes.push(rewrite(path, lines::in_order(path, was, was, lines)?));
    }
    Ok(changes)
}

/// Old and new path of each file of a resource that moves. Both models have the same files, in the same order.
fn places(before: &Project, after: &Project) -> Vec<(String, String)> {
    let paths = |project: &Project| {
        let resources = project.resources.iter();
        let files = resources.flat_map(|it| scaffold::files_of(project, it));
        files.map(|part| part.path).collect::<Vec<_>>()
    };
    let pairs = paths(before).into_iter().zip(paths(after));
    pairs.filter(|(old, new)| old != new).collect()
}

/// Warnings about other files that still refer to a path that no longer exists.
fn warnings(changes: &[Change], tree: &Tree) -> Vec<String> {
    let moved: Vec<&str> = changes
        .iter()
        .filter_map(|change| match change {
            Change::Rewrite { from, path, .. } if from != path => Some(from.as_str()),
            _ => None,
        })
        .collect();
    let others = tree.files().filter(|(path, _)| {
        !path.ends_with(".rs") && *path != PROJECT_FILE && !path.starts_with(layout::VENDORED)
    });
    let others = others.filter(|(path, _)| *path != layout::RBAC_KUSTOMIZATION);
    others
        .filter_map(|(path, text)| {
            let old = moved.iter().find(|old| text.contains(**old))?;
            Some(format!("`{path}` still names `{old}`, which has moved"))
        })
        .collect()
}

#[cfg(test)]
mod tests;
