//! `kbr edit`: changes the layout of a project, and moves its owner's code along. A new name of the project is in
//! [`super::rename::project`], another issuer of certificates or another scope in [`settings`].
//!
//! The files change as described in [`crate::commands::model_change`]. No name of an object in a cluster changes: a
//! controller keeps its name as an explicit one, and a role for people keeps the name in its file. Pure, except for
//! the formatter that it is given.

pub(crate) mod error;
pub(crate) mod settings;

use crate::cli::EditArgs;
use crate::commands::clashes;
use crate::commands::desired::Desired;
use crate::commands::error::{Error, Result};
use crate::commands::model_change::ModelChange;
use crate::commands::module_moves::Format;
use crate::commands::rename_map::RenameMap;
use crate::layout::{self, Place};
use crate::marker::ScaffoldMarker;
use crate::plan::Change;
use crate::project::{PROJECT_FILE, Project};
use crate::scaffold::{self, Part, What};
use crate::tree::Tree;
use error::EditError;

/// The project in the requested layout, and the files that must move for it.
pub(crate) fn plan(
    project: &Project,
    args: &EditArgs,
    tree: &Tree,
    format: Format<'_>,
) -> Result<Desired> {
    let Some(multigroup) = args.multigroup else {
        return Err(EditError::Nothing.into());
    };
    let mut after = project.clone();
    if multigroup != project.multigroup {
        after.multigroup = multigroup;
        check(&after)?;
        keep_names(project, &mut after)?;
    }
    let (words, pairs) = (RenameMap::default(), pairs(project, &after));
    let mut renamed = ModelChange::of(project, &after, &words, &pairs, Vec::new(), tree)?;
    let changes = renamed.changes(&mut after, tree, format);
    let warnings = warnings(&changes, tree);
    Ok(renamed.desired(after, changes, warnings))
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
        clashes::check_clashes(after, resource)?;
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
        let is_grouped = resource.api().and_then(|api| api.grouped_roles);
        let is_grouped = is_grouped.unwrap_or(before.multigroup);
        if let Some(api) = resource.api_mut() {
            api.grouped_roles = (is_grouped != renamed.multigroup).then_some(is_grouped);
        }
    }
    Ok(())
}

/// The parts that exist in every layout, each with what it becomes: the files of resources, registrations, and the
/// lines that list roles for people.
fn pairs(before: &Project, after: &Project) -> Vec<(Part, Part)> {
    let parts = |project: &Project| {
        let resources = project.resources.iter();
        let files = resources.flat_map(|it| scaffold::files_of(project, it));
        let is_kept = |marker| {
            matches!(
                marker,
                ScaffoldMarker::Controllers
                    | ScaffoldMarker::RbacResources
                    | ScaffoldMarker::Webhooks
            )
        };
        let lines = scaffold::of(project).into_iter();
        let lines =
            lines.filter(|part| matches!(part.what, What::Line { marker, .. } if is_kept(marker)));
        files.chain(lines).collect::<Vec<_>>()
    };
    parts(before).into_iter().zip(parts(after)).collect()
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
    let texts = tree.files().filter(|(path, _)| {
        !path.ends_with(".rs") && *path != PROJECT_FILE && !layout::is_vendored(path)
    });
    let others = texts.filter(|(path, _)| *path != layout::RBAC_KUSTOMIZATION);
    others
        .filter_map(|(path, text)| {
            let old = moved.iter().find(|it| text.contains(**it))?;
            Some(format!("`{path}` still names `{old}`, which has moved"))
        })
        .collect()
}

#[cfg(test)]
mod tests;
