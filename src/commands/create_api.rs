//! `kbr create api`: a type, a controller, or both, and the lines that wire them in.
//!
//! What the project model says of the wish is here: whether it can stand beside what is there. The
//! files and lines that it then needs are in [`files`]. Pure.

mod files;

use crate::cli::ApiArgs;
use crate::error::{Error, Result, WebhookError};
use crate::names::{CRD_NAME_MAX, Kind, Plural, pluralize};
use crate::project::{Api, CoreType, Project, Resource};

use super::Wanted;
use super::init::crdgen;

/// Groups in which only Kubernetes defines types (KEP-2337; enforced by the API server).
const PROTECTED: [&str; 2] = ["k8s.io", "kubernetes.io"];

/// Endings of the names that a kind takes in its module, and in the API.
const TAKEN_ENDINGS: [&str; 4] = ["", "Spec", "Status", "List"];

/// Which of the two parts is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    pub resource: bool,
    pub controller: bool,
}

/// The project with the new resource, and what has to change in its files.
pub fn plan(mut project: Project, args: &ApiArgs, parts: Parts) -> Result<Wanted> {
    let (resource, existing) = resource(&project, args, parts)?;
    let mut changes = Vec::new();
    if parts.resource {
        changes.extend(files::of_resource(
            &project,
            &resource,
            args.force,
            existing.is_none(),
        ));
    }
    if parts.controller {
        changes.extend(files::of_controller(
            &project,
            &resource,
            args.force,
            existing.is_none_or(|e| !e.controller),
        ));
    }
    project.upsert(resource);
    if parts.resource {
        changes.push(crdgen(&project));
    }
    Ok(Wanted {
        changes,
        project: Some(project),
        warnings: Vec::new(),
        next: "kbr manifests",
    })
}

/// Whether another version of the kind has the controller, which serves all of them.
pub fn has_controller_elsewhere(project: &Project, args: &ApiArgs) -> bool {
    project
        .apis()
        .any(|api| api.kind == args.kind && api.version != args.version && api.controller)
}

/// The resource as PROJECT will have it, and as it has it now; or why it cannot be.
fn resource(
    project: &Project,
    args: &ApiArgs,
    parts: Parts,
) -> Result<(Resource, Option<Resource>)> {
    if !parts.resource && !parts.controller {
        return Err(nothing_wanted(args));
    }
    let namespaced = scope(project, args)?;
    let group = args.group.clone().and_then(|group| group.0);
    let existing = project
        .api(group.as_ref(), &args.version, &args.kind)
        .cloned();
    let new = Resource {
        api: None,
        controller: parts.controller,
        core: false,
        domain: Some(project.domain.clone()),
        group,
        kind: args.kind.clone(),
        plural: plural(project, args)?,
        version: args.version.clone(),
        webhooks: None,
    };
    if !parts.resource {
        check_not_core(project, &new)?;
    }
    check_group(project, &new.qualified_group())?;
    match &existing {
        None if !parts.resource => return Err(Error::UnknownType { gvk: new.gvk() }),
        Some(_) if parts.resource && !args.force => {
            return Err(Error::ApiExists {
                gvk: new.gvk(),
                has_controller: project.apis().any(|r| r.kind == new.kind && r.controller),
            });
        }
        _ => {}
    }
    check_names(project, &new)?;
    let reconciled = |r: &&Resource| r.kind == new.kind && r.controller;
    if let Some(other) = project.apis().find(reconciled)
        && parts.controller
        && !(args.force && other.version == new.version)
    {
        return Err(Error::ControllerExists {
            kind: other.kind.clone(),
            version: other.version.clone(),
            same_version: other.version == new.version,
        });
    }
    let is_first_version = !project.apis().any(|r| r.kind == new.kind);
    let resource = match &existing {
        Some(existing) => Resource {
            controller: existing.controller || parts.controller,
            ..existing.clone()
        },
        None => Resource {
            api: Some(Api::new(namespaced, is_first_version)),
            ..new
        },
    };
    Ok((resource, existing))
}

/// What was typed to have neither, if anything was: the questions may have been answered so.
fn nothing_wanted(args: &ApiArgs) -> Error {
    let typed = [
        (args.resource, "`--resource=false`"),
        (args.controller, "`--controller=false`"),
    ];
    let typed = typed.into_iter().filter(|(typed, _)| typed.is_some());
    Error::NothingWanted {
        typed: typed.map(|(_, option)| option).collect(),
    }
}

/// Refuses a controller for a kind that is Kubernetes' own and none of the project's.
fn check_not_core(project: &Project, new: &Resource) -> Result<()> {
    let group = new.group.as_ref();
    match group.and_then(|group| CoreType::of_kind(group, &new.kind)) {
        Some(core) if !project.apis().any(|own| own.kind == new.kind) => {
            Err(Error::CoreController {
                group: core.group_name(),
                version: core.version,
                kind: core.kind,
            })
        }
        _ => Ok(()),
    }
}

/// Whether objects of the kind are in namespaces: what was typed, or what the kind has already.
fn scope(project: &Project, args: &ApiArgs) -> Result<bool> {
    let existing = project
        .apis()
        .find(|api| api.kind == args.kind)
        .map(|api| !api.is_cluster_scoped());
    let namespaced = args.namespaced.or(existing).unwrap_or(true);
    match existing {
        Some(existing) if existing != namespaced => Err(Error::OtherScope {
            kind: args.kind.clone(),
            existing,
        }),
        _ if project.namespaced && !namespaced => Err(Error::ClusterScope {
            kind: args.kind.clone(),
        }),
        _ => Ok(namespaced),
    }
}

/// What was typed, or what the kind's other version has, or the plural of the kind.
fn plural(project: &Project, args: &ApiArgs) -> Result<Plural> {
    let other = project
        .apis()
        .find(|r| r.kind == args.kind)
        .map(|r| r.plural.clone());
    match (&args.plural, other) {
        (Some(typed), Some(other)) if *typed != other => Err(Error::OtherPlural {
            kind: args.kind.to_string(),
            existing: other.to_string(),
        }),
        (_, Some(other)) => Ok(other),
        (Some(typed), None) => Ok(typed.clone()),
        (None, None) => pluralize(&args.kind.lower())
            .parse()
            .map_err(|source| Error::Name {
                option: "--plural",
                source,
            }),
    }
}

fn check_group(project: &Project, group: &str) -> Result<()> {
    if PROTECTED
        .iter()
        .any(|root| group == *root || group.ends_with(&format!(".{root}")))
    {
        return Err(Error::ProtectedGroup {
            group: group.to_owned(),
        });
    }
    if !group.contains('.') {
        return Err(Error::GroupWithoutDot {
            group: group.to_owned(),
        });
    }
    match project
        .apis()
        .map(Resource::qualified_group)
        .find(|existing| existing != group)
    {
        Some(existing) => Err(Error::SecondGroup {
            existing,
            wanted: group.to_owned(),
        }),
        None => Ok(()),
    }
}

/// Refuses what would become one name in Rust, in the API, or on a disk without upper case.
fn check_names(project: &Project, new: &Resource) -> Result<()> {
    let crd_name = format!("{}.{}", new.plural, new.qualified_group());
    if crd_name.len() > CRD_NAME_MAX {
        return Err(Error::CrdNameTooLong { name: crd_name });
    }
    let mut core = project.resources.iter().filter(|other| other.core);
    if let Some(core) = core.find(|core| core.shares_files_with(new)) {
        return Err(WebhookError::SameFiles {
            wanted: new.gvk().to_string(),
            existing: core.gvk().to_string(),
        }
        .into());
    }
    for other in project.apis().filter(|other| other.kind != new.kind) {
        if let Some(clash) = clash(new, other) {
            return Err(Error::KindClash {
                wanted: new.kind.to_string(),
                existing: other.kind.to_string(),
                clash,
            });
        }
    }
    Ok(())
}

/// What two kinds may not share. In a URL, plural and singular are names of one space.
fn clash(new: &Resource, other: &Resource) -> Option<String> {
    if other.plural == new.plural {
        return Some(format!("both have the plural `{}`", new.plural));
    }
    if let Some(name) = shared_name(&new.kind, &other.kind) {
        return Some(format!("both need the name `{name}`"));
    }
    let pairs = [(new, other), (other, new)];
    pairs.into_iter().find_map(|(a, b)| {
        (a.plural.as_str() == b.kind.lower()).then(|| {
            format!(
                "`{}` is the plural of `{}` and the singular of `{}`",
                a.plural, a.kind, b.kind
            )
        })
    })
}

/// A name that both kinds would take, letter case aside: files and resource names have none.
fn shared_name(a: &Kind, b: &Kind) -> Option<String> {
    let names = |kind: &Kind| TAKEN_ENDINGS.map(|ending| format!("{kind}{ending}"));
    let theirs = names(b).map(|name| name.to_ascii_lowercase());
    names(a)
        .into_iter()
        .find(|name| theirs.contains(&name.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests;
