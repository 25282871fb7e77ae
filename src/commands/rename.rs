//! `kbr rename kind`: a kind of the project's own under another name, in all of its versions.
//!
//! What the project model says of the wish is here: which kind is meant, and whether it can have that
//! name. What becomes of the files is in [`files`], of names in code in [`mod@words`]. For a cluster the kind
//! is a new one, and so is its controller: [`cluster`] says what that means. Pure, but for the formatter
//! that it is given.

mod cluster;
mod files;
mod words;

use crate::cli::RenameKindArgs;
use crate::error::{Error, RenameError, Result};
use crate::layout;
use crate::names::{ControllerName, Plural, pluralize};
use crate::project::{Admission, CoreType, Project, Resource};
use crate::scaffold;
use crate::tree::Tree;

use super::moves::{self, Format};
use super::{Wanted, create_api, create_webhook, delete};
use words::Words;

/// The project with the kind under its new name, and what has to change in its files.
pub fn plan(
    project: &Project,
    args: &RenameKindArgs,
    tree: &Tree,
    format: Format<'_>,
) -> Result<Wanted> {
    let old = kind(project, args)?;
    let mut after = renamed(project, old, args)?;
    Error::all(refused(project, &after))?;
    let words = words(project, &after);
    words.check(tree)?;
    let renamed = files::Renamed::of(project, &after, &words, tree)?;
    let mut changes = renamed.changes(tree, format);
    moves::deleted(&renamed.places, tree, &mut after.files);
    after.sort();
    changes.push(scaffold::crdgen(&after));
    let crd = layout::crd_file(&old.qualified_group(), old.plural.as_str());
    changes.extend(delete::generated(
        &format!("{}{crd}", layout::CRD_BASES),
        tree,
    ));
    let mut warnings = renamed.left(project, &words, tree);
    warnings.extend(cluster::of_kind(old, &words));
    Ok(Wanted {
        changes,
        project: Some(after),
        warnings,
        next: "kbr manifests",
    })
}

/// One version of the kind that was typed.
fn kind<'a>(project: &'a Project, args: &RenameKindArgs) -> Result<&'a Resource> {
    let typed = args.group.as_ref().and_then(|group| group.0.as_ref());
    let mut own = project.apis().filter(|api| api.kind == args.kind);
    let found = own.find(|api| api.group.as_ref() == typed);
    let Some(old) = found else {
        let mut there: Vec<String> = project.apis().map(named).collect();
        there.dedup();
        let is_core = typed.is_some_and(|group| CoreType::of_kind(group, &args.kind).is_some());
        let name = match typed {
            Some(group) if is_core => format!("{group} {}", args.kind),
            _ => format!("{} {}", project.qualified_group(typed), args.kind),
        };
        return Err(match is_core {
            true => RenameError::NotOwn { name, there },
            false => RenameError::UnknownKind { name, there },
        }
        .into());
    };
    if args.to == args.kind {
        let kind = args.kind.clone();
        return Err(RenameError::SameName { kind }.into());
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

/// The options that name a kind.
fn named(resource: &Resource) -> String {
    match &resource.group {
        Some(group) => format!("--group {group} --kind {}", resource.kind),
        None => format!("--kind {}", resource.kind),
    }
}

/// The project with the kind under its new name, each resource where it was in the list.
fn renamed(project: &Project, old: &Resource, args: &RenameKindArgs) -> Result<Project> {
    let plural: Plural = match &args.plural {
        Some(typed) => typed.clone(),
        None => pluralize(&args.to.lower())
            .parse()
            .map_err(|source| Error::Name {
                option: "--plural",
                source,
            })?,
    };
    let name = |option| move |source| Error::Name { option, source };
    let after_kind: ControllerName = args.to.lower().parse().map_err(name("--to"))?;
    let mut after = project.clone();
    let versions = after.resources.iter_mut().filter(|it| it.is_kind_of(old));
    for resource in versions {
        resource.kind = args.to.clone();
        resource.plural = plural.clone();
        let controllers = resource.controllers.iter_mut().flatten();
        for name in controllers.filter(|name| name.as_str() == old.kind.lower()) {
            *name = after_kind.clone();
        }
    }
    Ok(after)
}

/// The versions of the kind, before and after.
fn versions<'a>(
    before: &'a Project,
    after: &'a Project,
) -> impl Iterator<Item = (&'a Resource, &'a Resource)> {
    let both = before.resources.iter().zip(&after.resources);
    both.filter(|(old, new)| old.kind != new.kind)
}

/// Every reason for which the kind cannot have that name.
fn refused(before: &Project, after: &Project) -> Vec<Error> {
    let mut errors = Vec::new();
    let mut others = after.clone();
    let both = before.resources.iter().zip(&after.resources);
    for (it, (old, new)) in others.resources.iter_mut().zip(both) {
        if old.kind != new.kind {
            it.controllers.clear();
        }
    }
    for (old, new) in versions(before, after) {
        // A cluster has both kinds for a while, so the old one is another.
        errors.extend(create_api::check_names(before, new).err());
        errors.extend(create_api::check_beside(before, new).err());
        for name in &new.controllers {
            let taken = create_api::check_controller(&others, new, name.as_ref());
            errors.extend(taken.err());
            let mut all = others.resources.iter_mut();
            if let Some(it) = all.find(|it| it.gvk() == new.gvk()) {
                it.controllers.push(name.clone());
            }
        }
        let webhooks = new.webhooks();
        let wanted = Admission::ALL.into_iter().filter(|it| webhooks.has(*it));
        let wanted: Vec<Admission> = wanted.collect();
        let refused = create_webhook::refused_admissions(after, old, new, &wanted, true);
        errors.extend(refused);
    }
    let mut reasons: Vec<String> = errors.iter().map(Error::to_string).collect();
    reasons.dedup();
    let reasons = reasons.into_iter();
    reasons
        .map(|reason| RenameError::CannotBe { reason }.into())
        .collect()
}

/// The names that change, in code and elsewhere.
fn words(before: &Project, after: &Project) -> Words {
    let mut words = Words::default();
    for (old, new) in versions(before, after) {
        words.group = old.qualified_group();
        words.kind = [old.kind.to_string(), new.kind.to_string()];
        words.lower = [old.kind.lower(), new.kind.lower()];
        words.plural = [old.plural.to_string(), new.plural.to_string()];
        for admission in Admission::ALL {
            words.webhooks.push([
                scaffold::webhook_name(before, old, admission),
                scaffold::webhook_name(after, new, admission),
            ]);
        }
    }
    words
}

#[cfg(test)]
mod tests;
