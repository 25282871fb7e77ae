//! Renames a version of one kind, or of all kinds of a group that have it. Pure.

use crate::cli::RenameVersionArgs;
use crate::commands::error::{Error, Result};
use crate::commands::rename::error::RenameError;
use crate::project::{CoreType, Project, Resource};

use super::{Requested, changed, cluster, refused, webhook_names};
use crate::commands::typed::options;
use crate::commands::words::{Left, Words};

/// The project with the version under its new name.
pub fn requested(project: &Project, args: &RenameVersionArgs) -> Result<Requested> {
    let old = resources(project, args)?;
    let after = renamed(project, args);
    check(project, &after)?;
    Error::all(refused(project, &after, &after))?;
    let group = old[0].qualified_group();
    let stays = project
        .apis()
        .any(|it| it.version == args.version && it.is_in_group_of(old[0]) && !old.contains(&it));
    let kinds = old
        .iter()
        .flat_map(|it| [it.kind.to_string(), it.kind.lower()]);
    let plural = |it: &&Resource| it.plural.to_string();
    let words = Words {
        group: [group.clone(), group.clone()],
        version: Some([args.version.to_string(), args.to.to_string()]),
        plurals: old.iter().map(|it| [plural(it), plural(it)]).collect(),
        webhooks: webhook_names(project, &after),
        left: Left::Names {
            names: vec![format!("{group}/{}", args.version)],
            beside: if stays { kinds.collect() } else { Vec::new() },
        },
        ..Words::default()
    };
    let warnings = cluster::of_version(&old, &args.to);
    Ok(Requested {
        after,
        words,
        warnings,
    })
}

/// Whether the requested kinds include this resource.
fn is_meant(resource: &Resource, args: &RenameVersionArgs) -> bool {
    let group = args.group.as_ref().and_then(|group| group.0.as_ref());
    resource.is_own()
        && resource.group.as_ref() == group
        && args.kind.as_ref().is_none_or(|kind| resource.kind == *kind)
}

/// The resources to rename.
fn resources<'a>(project: &'a Project, args: &RenameVersionArgs) -> Result<Vec<&'a Resource>> {
    let own = project.apis().filter(|it| is_meant(it, args));
    let found: Vec<&Resource> = own.filter(|it| it.version == args.version).collect();
    if found.is_empty() {
        return Err(unknown(project, args).into());
    }
    if args.to == args.version {
        let name = args.version.to_string();
        return Err(RenameError::SameName { name }.into());
    }
    Ok(found)
}

/// Why there is nothing to rename.
fn unknown(project: &Project, args: &RenameVersionArgs) -> RenameError {
    let typed = args.group.as_ref().and_then(|group| group.0.as_ref());
    let existing = project.apis().map(|it| {
        let options = options(it.group.as_ref(), &it.version);
        format!("{options} --kind {}", it.kind)
    });
    let existing = existing.collect();
    let kind = args.kind.as_ref();
    let is_core = |group| match kind {
        Some(kind) => CoreType::of_kind(group, kind).is_some(),
        None => project
            .resources
            .iter()
            .any(|it| !it.is_own() && it.group.as_ref() == Some(group)),
    };
    let kind = kind.map_or_else(String::new, |kind| format!(" {kind}"));
    match typed {
        Some(group) if is_core(group) => RenameError::NotOwn {
            name: format!("{group}/{}{kind}", args.version),
            existing,
        },
        _ => RenameError::Unknown {
            name: format!("{}/{}{kind}", project.qualified_group(typed), args.version),
            existing,
        },
    }
}

/// The project with the version under its new name, and its resources in the same order.
fn renamed(project: &Project, args: &RenameVersionArgs) -> Project {
    let mut after = project.clone();
    for resource in after.resources.iter_mut().filter(|it| is_meant(it, args)) {
        if resource.version == args.version {
            resource.version = args.to.clone();
        }
        let stored = resource.stored_versions_mut().into_iter().flatten();
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
    let mut errors: Vec<RenameError> = Vec::new();
    for (_, new) in changed(before, after) {
        if before.apis().any(|it| it.gvk() == new.gvk()) {
            let name = new.gvk().to_string();
            errors.push(RenameError::Taken { name });
        }
    }
    Error::all(errors)
}
