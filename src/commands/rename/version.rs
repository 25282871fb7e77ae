//! Renames a version of one kind, or of all kinds of a group that have it. Pure.

use super::{Requested, cluster, refused, unknown};
use crate::cli::{OptionalGroup, RenameVersionArgs};
use crate::commands::error::{Error, Result};
use crate::commands::model_change::changed;
use crate::commands::rename::error::RenameError;
use crate::commands::rename_map::RenameMap;
use crate::commands::target::named;
use crate::project::{CoreType, Project, Resource};

/// The project with the version under its new name.
pub(super) fn requested(project: &Project, args: &RenameVersionArgs) -> Result<Requested> {
    let old = resources(project, args)?;
    let group = old[0].qualified_group();
    let after = renamed(project, &group, args);
    check(project, &after)?;
    refused(project, &after, &after)?;
    let stays = project
        .apis()
        .any(|it| it.version == args.version && it.is_in_group_of(old[0]) && !old.contains(&it));
    let kinds = old
        .iter()
        .flat_map(|it| [it.kind.to_string(), it.kind.lower()]);
    let plural = |it: &&Resource| it.plural.to_string();
    let words = RenameMap {
        group: [group.clone(), group.clone()],
        version: Some([args.version.to_string(), args.to.to_string()]),
        plurals: old.iter().map(|it| [plural(it), plural(it)]).collect(),
        left: vec![format!("{group}/{}", args.version)],
        left_beside: if stays { kinds.collect() } else { Vec::new() },
        ..RenameMap::default()
    };
    let warnings = cluster::of_version(&old, &args.to);
    Ok((after, words, warnings))
}

/// Whether the requested kinds include this resource.
fn is_meant(resource: &Resource, group: &str, args: &RenameVersionArgs) -> bool {
    resource.is_own()
        && resource.qualified_group() == group
        && args.kind.as_ref().is_none_or(|kind| resource.kind == *kind)
}

/// The resources to rename.
fn resources<'a>(project: &'a Project, args: &RenameVersionArgs) -> Result<Vec<&'a Resource>> {
    let group = project.qualified_group(OptionalGroup::of(args.group.as_ref()));
    let own = project.apis().filter(|it| is_meant(it, &group, args));
    let found: Vec<&Resource> = own.filter(|it| it.version == args.version).collect();
    if found.is_empty() {
        return Err(unknown_version(project, args));
    }
    if args.to == args.version {
        let name = args.version.to_string();
        return Err(RenameError::SameName { name }.into());
    }
    Ok(found)
}

/// Why there is nothing to rename.
fn unknown_version(project: &Project, args: &RenameVersionArgs) -> Error {
    let typed = OptionalGroup::of(args.group.as_ref());
    let kind = args.kind.as_ref();
    let mut others = project.resources.iter().filter(|it| !it.is_own());
    let is_of_others = typed.is_some_and(|group| match kind {
        Some(kind) => CoreType::of_kind(group, kind).is_some(),
        None => others.any(|it| it.group.as_ref() == Some(group)),
    });
    let suffix = kind.map_or_else(String::new, |kind| format!(" {kind}"));
    let version = format!("/{}{suffix}", args.version);
    unknown(project, typed, kind, &version, is_of_others, named)
}

/// The project with the version under its new name, and its resources in the same order.
fn renamed(project: &Project, group: &str, args: &RenameVersionArgs) -> Project {
    let mut after = project.clone();
    let resources = after.resources.iter_mut();
    for resource in resources.filter(|it| is_meant(it, group, args)) {
        if resource.version == args.version {
            resource.version = args.to.clone();
        }
        let versions = resource.api_mut().map(|api| &mut api.stored_versions);
        let stored = versions.into_iter().flatten();
        for version in stored.filter(|version| **version == args.version) {
            *version = args.to.clone();
        }
        let webhooks = resource.webhooks.iter_mut();
        let spokes = webhooks.flat_map(|webhooks| &mut webhooks.spoke);
        for spoke in spokes.filter(|spoke| **spoke == args.version) {
            *spoke = args.to.clone();
        }
    }
    after
}

/// Refuses a version that a kind already has.
fn check(before: &Project, after: &Project) -> Result<()> {
    let names = changed(before, after).map(|(_, new)| new.gvk());
    let taken = names.filter(|name| before.apis().any(|it| it.gvk() == *name));
    Error::all(taken.map(|name| RenameError::Taken {
        name: name.to_string(),
    }))
}
