//! Renames a kind in all of its versions. Pure.

use super::{Requested, cluster, refused, unknown};
use crate::cli::{OptionalGroup, RenameKindArgs};
use crate::commands::error::{Error, Result};
use crate::commands::rename::error::RenameError;
use crate::commands::rename_map::RenameMap;
use crate::commands::target::plural;
use crate::names::{ControllerName, Kind, Plural};
use crate::project::{CoreType, Project, Resource};

/// The project with the kind under its new name.
pub(super) fn requested(project: &Project, args: &RenameKindArgs) -> Result<Requested> {
    let old = kind(project, args)?;
    let plural = plural(args.plural.as_ref(), &args.to)?;
    let after = renamed(project, old, &args.to, &plural)?;
    // A cluster has both kinds for a while, so their names must not clash.
    refused(project, &after, project)?;
    let words = RenameMap {
        group: [old.qualified_group(), old.qualified_group()],
        kind: Some([&old.kind, &args.to].map(Kind::to_string)),
        type_name: Some([&old.kind, &args.to].map(Kind::type_name)),
        plurals: vec![[&old.plural, &plural].map(Plural::to_string)],
        left: vec![old.kind.lower()],
        ..RenameMap::default()
    };
    let warnings = cluster::of_kind(old, &args.to, &plural);
    Ok((after, words, warnings))
}

/// One version of the requested kind.
fn kind<'a>(project: &'a Project, args: &RenameKindArgs) -> Result<&'a Resource> {
    let typed = OptionalGroup::of(args.group.as_ref());
    let group = project.qualified_group(typed);
    let mut own = project.apis().filter(|api| api.kind == args.kind);
    let Some(old) = own.find(|api| api.qualified_group() == group) else {
        let is_external = |it: &Resource| it.kind == args.kind && it.external().is_some();
        let is_foreign = typed.is_some_and(|group| CoreType::of_kind(group, &args.kind).is_some())
            || project.resources.iter().any(is_external);
        let kind = format!(" {}", args.kind);
        return Err(unknown(
            project,
            typed,
            Some(&args.kind),
            &kind,
            is_foreign,
            named,
        ));
    };
    if args.to == args.kind {
        let name = args.kind.to_string();
        return Err(RenameError::SameName { name }.into());
    }
    let mut others = project.resources.iter();
    match others.find(|it| it.kind == args.kind && !it.is_kind_of(old)) {
        Some(other) => Err(RenameError::Ambiguous {
            kind: args.kind.clone(),
            other: other.gvk().to_string(),
        }
        .into()),
        None => Ok(old),
    }
}

/// The options for a kind.
fn named(resource: &Resource) -> String {
    match &resource.group {
        Some(group) => format!("--group {group} --kind {}", resource.kind),
        None => format!("--kind {}", resource.kind),
    }
}

/// The project with the kind under its new name, and its resources in the same order.
fn renamed(project: &Project, old: &Resource, to: &Kind, plural: &Plural) -> Result<Project> {
    let after_kind: ControllerName = to.lower().parse().map_err(Error::name("--to"))?;
    let mut after = project.clone();
    let versions = after.resources.iter_mut().filter(|it| it.is_kind_of(old));
    for resource in versions {
        resource.kind = to.clone();
        resource.plural = plural.clone();
        let names = resource.controllers.iter().cloned().map(|name| match name {
            Some(name) if name.as_str() == old.kind.lower() => Some(after_kind.clone()),
            other => other,
        });
        resource.rename_controllers(names.collect());
    }
    Ok(after)
}
