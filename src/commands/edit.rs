//! `kbr edit`: the project in another shape, with what its owner wrote moved along.
//!
//! The scaffold of the project model before and after says where each file has to be. Rust modules are
//! moved by [`crate::modules`], which rewrites the paths to them; other files get another name. No name
//! of an object in a cluster changes: a controller keeps its name as one of its own, and a role for
//! people the name in its file. Pure, but for the formatter that it is given.

mod rust;

use std::collections::BTreeMap;

use crate::cli::EditArgs;
use crate::error::{ApiError, Error, Result};
use crate::layout::{self, Place};
use crate::marker::ScaffoldMarker;
use crate::modules::Moved;
use crate::plan::Change;
use crate::project::{PROJECT_FILE, Project};
use crate::scaffold::{self, What};
use crate::tree::Tree;

use super::Wanted;
use super::moves::{self, Format, rewrite};

/// The project in the shape that was typed, and what has to move for it.
pub fn plan(project: &Project, args: &EditArgs, tree: &Tree, format: Format<'_>) -> Result<Wanted> {
    let Some(multigroup) = args.multigroup else {
        return Err(Error::NothingToEdit);
    };
    let mut after = project.clone();
    if multigroup != project.multigroup {
        after.multigroup = multigroup;
        check(&after)?;
        keep_names(project, &mut after)?;
    }
    let moved = moves::moved(project, &after, &moves::sources(tree))?;
    let mut changes = Vec::new();
    changes.extend(files(&moved, tree, format));
    changes.extend(registrations(project, &after, &moved, tree)?);
    changes.extend(roles(project, &after, tree)?);
    changes.extend(rust::around(project, &after, &moved, tree)?);
    changes.push(scaffold::crdgen(&after));
    let warnings = warnings(&changes, tree);
    let resources = after.resources.iter_mut();
    resources.for_each(|it| it.controllers.sort());
    Ok(Wanted {
        changes,
        project: Some(after),
        warnings,
        next: "kbr manifests",
    })
}

/// Refuses a shape in which the kinds of the project cannot be.
fn check(after: &Project) -> Result<()> {
    let resources = &after.resources;
    for (at, resource) in resources.iter().enumerate() {
        for other in &resources[..at] {
            let are_own = resource.is_own() && other.is_own();
            if are_own && !after.multigroup && !resource.is_in_group_of(other) {
                return Err(Error::SeveralGroups {
                    groups: [other.qualified_group(), resource.qualified_group()],
                });
            }
            let clash = after.groups_clash(resource, other)
                || !resource.is_kind_of(other) && after.share_files(resource, other);
            if clash {
                return Err(ApiError::GroupClash {
                    wanted: resource.gvk().to_string(),
                    existing: other.gvk().to_string(),
                    module: after.group_module(resource),
                }
                .into());
            }
        }
    }
    Ok(())
}

/// Gives each controller the name that it has as one of its own, where the new shape would give it
/// another: it is the field manager of what it has applied.
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
                // The name that the new shape gives to a controller without one.
                Some(_) if had == new.controller_name(None) => None,
                None if had != gets => Some(had.parse().map_err(|source| Error::Name {
                    option: "--group",
                    source,
                })?),
                _ => name.clone(),
            });
        }
        resource.controllers = controllers;
    }
    Ok(())
}

/// The moved files, formatted where they were before.
fn files(moved: &Moved, tree: &Tree, format: Format<'_>) -> Vec<Change> {
    let files = moved.files.iter().map(|file| {
        let old = tree.text(&file.from).unwrap_or_default();
        let text = file.text.clone();
        let is_rust = file.to.ends_with(".rs") && text != old;
        Change::Rewrite {
            from: file.from.clone(),
            path: file.to.clone(),
            text: if is_rust { format(old, text) } else { text },
        }
    });
    files.collect()
}

/// The registrations in the order of the new shape, where they were in that of the old one.
fn registrations(
    before: &Project,
    after: &Project,
    moved: &Moved,
    tree: &Tree,
) -> Result<Option<Change>> {
    let old = tree.text(layout::LIB).unwrap_or_default();
    let Some(new) = moved.files.iter().find(|file| file.to == layout::LIB) else {
        return Ok(None);
    };
    if sorted(old, before)? != old {
        return Ok(None);
    }
    Ok(Some(rewrite(layout::LIB, sorted(&new.text, after)?)))
}

/// The text of the operator's library with the project's registrations taken out and put in again.
fn sorted(text: &str, project: &Project) -> Result<String> {
    let mut text = text.to_owned();
    let mut taken = Vec::new();
    for part in scaffold::of(project) {
        if let What::Line { marker, fragment } = part.what
            && part.path == layout::LIB
            && let Some(without) = marker.remove(&text, &fragment)
        {
            text = without;
            taken.push((marker, fragment));
        }
    }
    for (marker, fragment) in taken {
        text = marker
            .insert(layout::LIB, &text, &fragment)?
            .unwrap_or(text);
    }
    Ok(text)
}

/// The roles for people under their new file names, and the lines that name them.
fn roles(before: &Project, after: &Project, tree: &Tree) -> Result<Vec<Change>> {
    let path = layout::RBAC_KUSTOMIZATION;
    let mut kustomization = tree.text(path).unwrap_or_default().to_owned();
    let mut changes = BTreeMap::new();
    for (old, new) in before.apis().zip(after.apis()) {
        let (old, new) = (Place::of(before, old), Place::of(after, new));
        for who in scaffold::PEOPLE {
            let (from, to) = (old.role_file(who), new.role_file(who));
            let (old, new) = (format!("config/rbac/{from}"), format!("config/rbac/{to}"));
            let Some(text) = tree.text(&old).filter(|_| from != to) else {
                continue;
            };
            let (line, marker) = (format!("- {from}"), ScaffoldMarker::RbacResources);
            if let Some(without) = marker.remove(&kustomization, &line) {
                let with = marker.insert(path, &without, &format!("- {to}"))?;
                kustomization = with.unwrap_or(without);
            }
            let moved = Change::Rewrite {
                from: old,
                path: new,
                text: text.to_owned(),
            };
            changes.insert(to, moved);
        }
    }
    let mut changes: Vec<Change> = changes.into_values().collect();
    if !changes.is_empty() {
        changes.push(rewrite(path, kustomization));
    }
    Ok(changes)
}

/// What else in the project names a path that is no more, for its owner to look at.
fn warnings(changes: &[Change], tree: &Tree) -> Vec<String> {
    let gone: Vec<&str> = changes
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
            let old = gone.iter().find(|old| text.contains(**old))?;
            Some(format!("`{path}` still names `{old}`, which has moved"))
        })
        .collect()
}

#[cfg(test)]
mod tests;
