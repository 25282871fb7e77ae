//! `kbr edit --certificates` and `kbr edit --namespaced`: who issues the certificates of the webhooks, and whether the
//! operator watches namespaces or the whole cluster.
//!
//! What only the old scaffold has is removed and what only the new one has is added, as by `kbr delete` and
//! `kbr create`. In files that both have, lines that differ are replaced; what their owner wrote stays. Pure.

use std::collections::BTreeSet;

use crate::cli::EditArgs;
use crate::commands::carrier::Carrier;
use crate::commands::desired::{Desired, added, generated};
use crate::commands::edit::error::EditError;
use crate::commands::error::Result;
use crate::commands::unneeded::Unneeded;
use crate::error::join;
use crate::layout;
use crate::names::objects;
use crate::plan::Change;
use crate::project::Project;
use crate::rendered::hash;
use crate::scaffold;
use crate::tree::Tree;

/// The project with these settings, and the changes to its files.
pub(crate) fn plan(project: &Project, args: &EditArgs, tree: &Tree) -> Result<Desired> {
    let mut after = project.clone();
    after.certificates = args.certificates.unwrap_or(project.certificates);
    after.namespaced = args.namespaced.unwrap_or(project.namespaced);
    if after.namespaced
        && let Some(resource) = after.resources.iter().find(|it| it.needs_cluster())
    {
        let kind = resource.kind.to_string();
        return Err(EditError::ClusterScope { kind }.into());
    }
    let mut changes = added(&after, &scaffold::of(project), &[], false);
    // A file that stayed when the project had these settings before, because it was edited.
    for change in &mut changes {
        if let Change::Create { path, text, .. } = change
            && tree.entry(path).is_some()
        {
            after.files.insert(path.clone(), hash(text));
            let (path, text) = (path.clone(), text.clone());
            *change = Change::Keep { path, text };
        }
    }
    let unneeded = Unneeded::of(project, &after, tree, false);
    changes.extend(unneeded.changes(&mut after));
    if unneeded.has_line(layout::WEBHOOK_KUSTOMIZATION, scaffold::CERTIFICATES_LINE) {
        changes.extend(generated(layout::CERTIFICATES_ROLE, tree));
    }
    let known = scaffold::rendered(project);
    let mut carrier = Carrier::new(project, &known, &known, tree);
    changes.extend(carrier.both(&after, &BTreeSet::new()));
    let mut warnings = unneeded.warnings(false);
    if after.namespaced != project.namespaced {
        warnings.extend(other_scope(after.namespaced, &changes, tree));
        warnings.push(of_cluster(&after));
    }
    Ok(Desired {
        conflicts: carrier.end()?,
        ..Desired::of(after, changes, warnings)
    })
}

/// Warnings about code that is still for the other scope.
fn other_scope(is_namespaced: bool, changes: &[Change], tree: &Tree) -> Vec<String> {
    let calls = if is_namespaced {
        ["manager.all", "Api::all("]
    } else {
        ["manager.namespaced", "manager.namespaces("]
    };
    let text_of = |path: &str| {
        changes.iter().find_map(|change| match change {
            Change::Rewrite { path: at, text, .. } if at == path => Some(text.as_str()),
            _ => None,
        })
    };
    let sources = tree.files().filter(|(path, _)| {
        let is_source = layout::SOURCES.iter().any(|it| path.starts_with(it));
        is_source && path.ends_with(".rs")
    });
    let mut warnings = Vec::new();
    for (path, text) in sources {
        let text = text_of(path).unwrap_or(text);
        for call in calls {
            let lines = text.lines().enumerate();
            let lines = lines.filter(|(_, line)| line.contains(call));
            let numbers: Vec<usize> = lines.map(|(at, _)| at + 1).collect();
            if !numbers.is_empty() {
                let scope = if is_namespaced {
                    "the whole cluster"
                } else {
                    "single namespaces"
                };
                let word = if numbers.len() == 1 { "line" } else { "lines" };
                let numbers = join(&numbers, ", ", usize::to_string);
                warnings.push(format!(
                    "`{path}` still uses `{}` for {scope} in {word} {numbers}",
                    call.trim_end_matches('(')
                ));
            }
        }
    }
    warnings
}

/// The warning about what a deployment leaves in a cluster.
fn of_cluster(after: &Project) -> String {
    let name = |object| objects::deployed(after.project_name.as_str(), object);
    if after.namespaced {
        format!(
            "deploying deletes nothing in a cluster: after it, delete the ClusterRoleBinding `{}`, the ClusterRole `{}` \
             and the ClusterRoles for people, or the operator keeps its permissions in the whole cluster",
            name("manager-rolebinding"),
            name("manager-role"),
        )
    } else {
        format!(
            "deploying deletes nothing in a cluster: after it, delete the Roles and RoleBindings named `{}` and \
             `{}` in the namespaces that the operator watched",
            name("manager-role"),
            name("manager-rolebinding"),
        )
    }
}

#[cfg(test)]
mod tests;
