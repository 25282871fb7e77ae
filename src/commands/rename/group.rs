//! Renames an API group with all of its kinds. Pure.

use super::{Requested, cannot_be, cluster, refused, unknown};
use crate::cli::{OptionalGroup, RenameGroupArgs};
use crate::commands::clashes;
use crate::commands::error::{Error, Result};
use crate::commands::model_change::changed;
use crate::commands::rename::error::RenameError;
use crate::commands::rename_map::RenameMap;
use crate::names::Group;
use crate::project::{Project, Resource};

/// The project with the group under its new name.
pub(super) fn requested(project: &Project, args: &RenameGroupArgs) -> Result<Requested> {
    let typed = OptionalGroup::of(args.group.as_ref());
    let (group, domain) = project.group(typed);
    let from = project.qualified_group(typed);
    let old: Vec<&Resource> = resources(project, typed, &from)?;
    let to = args.to.0.as_ref();
    if group.as_ref() == to {
        return Err(RenameError::SameName { name: from }.into());
    }
    clashes::check_typed_group(project, &domain, "--to", to)?;
    let mut after = project.clone();
    let own = after.resources.iter_mut().filter(|it| it.is_own());
    for resource in own.filter(|it| it.qualified_group() == from) {
        resource.group = to.cloned();
        if let Some(api) = resource.api_mut() {
            api.group_module = None;
        }
    }
    let into = match to {
        Some(to) => format!("{to}.{domain}"),
        None => domain.to_string(),
    };
    if project.apis().any(|it| it.qualified_group() == into) {
        return Err(RenameError::Taken { name: into }.into());
    }
    let groups = changed(project, &after).map(|(_, new)| clashes::check_group(&after, new));
    let errors: Vec<Error> = groups.filter_map(Result::err).collect();
    cannot_be(&errors)?;
    refused(project, &after, &after)?;
    let warnings = cluster::of_group(&old, &into);
    let words = RenameMap {
        left: left(&old, group.as_ref(), &from),
        group: [from, into],
        ..RenameMap::default()
    };
    Ok((after, words, warnings))
}

/// All resources of the requested group.
fn resources<'a>(
    project: &'a Project,
    typed: Option<&Group>,
    group: &str,
) -> Result<Vec<&'a Resource>> {
    let is_meant = |it: &&Resource| it.qualified_group() == group;
    let own: Vec<&Resource> = project.apis().filter(is_meant).collect();
    if !own.is_empty() {
        return Ok(own);
    }
    let is_others = |it: &Resource| !it.is_own() && it.group.as_ref() == typed;
    let is_of_others = project.resources.iter().any(is_others);
    Err(unknown(project, typed, None, "", is_of_others, named))
}

/// The option for a group.
fn named(resource: &Resource) -> String {
    let group = resource.group.as_ref();
    format!("--group {}", group.map_or("''", Group::as_str))
}

/// The texts that refer to the group. The domain alone is not included: it is part of many other names.
fn left(old: &[&Resource], typed: Option<&Group>, group: &str) -> Vec<String> {
    let mut names: Vec<String> = typed.map(|_| group.to_owned()).into_iter().collect();
    for it in old {
        names.push(format!("{}.{group}", it.plural));
        names.push(format!("{group}/{}", it.version));
    }
    names
}
