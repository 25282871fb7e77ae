//! Checks for what two resources of a project may not share: groups, folders and files, names in Rust and in the
//! API, names of controllers, and names and paths of webhooks. Pure.

use crate::commands::create_api::error::ApiError;
use crate::commands::create_webhook::error::WebhookError;
use crate::commands::error::{Error, Result};
use crate::layout::Place;
use crate::names::{
    CRD_NAME_MAX, ControllerName, Domain, Group, GroupModule, Kind, WEBHOOK_NAME_MAX, group_module,
};
use crate::project::{Admission, CoreType, Project, Resource};
use crate::scaffold;

/// Groups in which only Kubernetes defines types (KEP-2337; enforced by the API server).
const PROTECTED: [&str; 2] = ["k8s.io", "kubernetes.io"];

/// Suffixes of the names that a kind occupies in its module and in the API.
const TAKEN_ENDINGS: [&str; 4] = ["", "Spec", "Status", "List"];

/// Refuses a controller if another one already has its name, in logs and metrics or as a module.
pub(crate) fn check_controller(
    project: &Project,
    resource: &Resource,
    name: Option<&ControllerName>,
) -> Result<()> {
    let place = Place::of(project, resource);
    for other in &project.resources {
        let existing = Place::of(project, other);
        for taken in other.controllers.iter().map(Option::as_ref) {
            if existing.controller_name(taken) == place.controller_name(name)
                || existing.controller(taken) == place.controller(name)
                || existing.controller_test(taken) == place.controller_test(name)
            {
                return Err(name_taken(project, resource, name, other));
            }
        }
    }
    Ok(())
}

pub(crate) fn name_taken(
    project: &Project,
    resource: &Resource,
    name: Option<&ControllerName>,
    other: &Resource,
) -> Error {
    ApiError::ControllerNameTaken {
        name: Place::of(project, resource).controller_name(name),
        gvk: other.gvk(),
    }
    .into()
}

/// Refuses a resource that would be in the folder of another group, or in the files of another type, and a version whose
/// module would have the name of the project's crate.
pub(crate) fn check_clashes(project: &Project, new: &Resource) -> Result<()> {
    let crate_name = project.project_name.crate_name();
    if new.is_own() && new.version.module() == crate_name {
        let version = new.version.clone();
        return Err(ApiError::VersionIsCrate {
            version,
            crate_name,
        }
        .into());
    }
    for other in &project.resources {
        if project.groups_clash(new, other) {
            return Err(ApiError::GroupClash {
                wanted: new.qualified_group(),
                existing: other.qualified_group(),
                module: project.group_module(new),
                option: None,
            }
            .into());
        }
        let is_other = other.gvk() != new.gvk() && !(other.is_own() && new.is_own());
        if is_other && project.share_files(new, other) {
            return Err(WebhookError::SameFiles {
                wanted: new.gvk().to_string(),
                existing: other.gvk().to_string(),
            }
            .into());
        }
    }
    Ok(())
}

/// The module that PROJECT records for the group of a new type of the project: that of the group's other types, or the one
/// that was typed.
pub(crate) fn recorded_module(
    project: &Project,
    new: &Resource,
    typed: Option<&GroupModule>,
) -> Result<Option<GroupModule>> {
    let Some(other) = project.apis().find(|it| it.is_in_group_of(new)) else {
        return Ok(typed.cloned());
    };
    match typed {
        Some(typed) if project.group_module(other) != typed.as_str() => {
            Err(ApiError::OtherGroupModule {
                group: other.qualified_group(),
                module: project.group_module(other),
            }
            .into())
        }
        _ => Ok(other.api().and_then(|api| api.group_module.clone())),
    }
}

/// Says which option, after a module, chooses another one if two groups would have the same.
pub(crate) fn with_module_option(error: Error, option: &str) -> Error {
    match error {
        Error::Api(ApiError::GroupClash {
            wanted,
            existing,
            module,
            ..
        }) => {
            let free = group_module(&wanted, "");
            let option = Some(format!("{option}{free}"));
            ApiError::GroupClash {
                wanted,
                existing,
                module,
                option,
            }
            .into()
        }
        error => error,
    }
}

/// Refuses a kind whose names would clash with those of another in Rust, in the API, or on a file system that
/// ignores case.
pub(crate) fn check_names(project: &Project, new: &Resource) -> Result<()> {
    let crd_name = format!("{}.{}", new.plural, new.qualified_group());
    if crd_name.len() > CRD_NAME_MAX {
        return Err(ApiError::CrdNameTooLong { name: crd_name }.into());
    }
    let in_group = project.apis().filter(|other| other.is_in_group_of(new));
    for other in in_group.filter(|other| other.kind != new.kind) {
        if let Some(clash) = clash(new, other) {
            return Err(ApiError::KindClash {
                wanted: new.kind.to_string(),
                existing: other.kind.to_string(),
                clash,
                are_same: new.kind.lower() == other.kind.lower(),
                is_new: project
                    .versions_of(other)
                    .all(|it| it.version != new.version),
            }
            .into());
        }
    }
    Ok(())
}

/// How the names of two kinds clash, if they do. In a URL, plural and singular share one namespace.
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

/// A name that both kinds would occupy, ignoring case, as some file systems and all resource names
/// do.
fn shared_name(a: &Kind, b: &Kind) -> Option<String> {
    let names = |kind: &Kind| TAKEN_ENDINGS.map(|ending| kind.type_name() + ending);
    let theirs = names(b).map(|name| name.to_ascii_lowercase());
    names(a)
        .into_iter()
        .find(|name| theirs.contains(&name.to_ascii_lowercase()))
}

/// Refuses a group that was typed after `option` with the domain, which kbr appends. A group that exists may be called so.
pub(crate) fn check_typed_group(
    project: &Project,
    domain: &Domain,
    option: &'static str,
    typed: Option<&Group>,
) -> Result<()> {
    let domain = domain.as_str();
    let Some(group) = typed.filter(|_| !project.apis().any(|api| api.has_group(typed))) else {
        return Ok(());
    };
    match group.as_str().strip_suffix(domain) {
        // A domain of one word may be a word of groups too.
        Some(before) if domain.contains('.') && (before.is_empty() || before.ends_with('.')) => {
            let short = before.trim_end_matches('.').parse().ok();
            let group = group.clone();
            Err(ApiError::GroupWithDomain {
                option,
                group,
                short,
            }
            .into())
        }
        _ => Ok(()),
    }
}

/// Refuses a group that the project cannot have.
pub(crate) fn check_group(project: &Project, new: &Resource) -> Result<()> {
    let group = new.qualified_group();
    let is_below = |root: &&&str| group == **root || group.ends_with(&format!(".{root}"));
    if PROTECTED.iter().find(is_below).is_some() {
        return Err(ApiError::ProtectedGroup { group }.into());
    }
    if !group.contains('.') {
        return Err(ApiError::GroupWithoutDot { group }.into());
    }
    match project.apis().find(|other| !other.is_in_group_of(new)) {
        Some(other) if !project.multigroup => Err(ApiError::SecondGroup {
            existing: other.qualified_group(),
            wanted: group,
            option: other.group.clone(),
            is_core: new
                .group
                .as_ref()
                .is_some_and(|group| CoreType::of_kind(group, &new.kind).is_some()),
        }
        .into()),
        _ => check_clashes(project, new),
    }
}

/// Every reason to refuse an admission webhook.
pub(crate) fn refused_admissions(
    project: &Project,
    before: &Resource,
    after: &Resource,
    wanted: &[Admission],
    force: bool,
) -> Vec<Error> {
    let mut errors = Vec::new();
    let others = project.resources.iter().filter(|r| r.gvk() != after.gvk());
    let own = after.webhook_paths().filter(|(it, _)| !wanted.contains(it));
    let existing = others.flat_map(Resource::webhook_paths).chain(own);
    let mut taken: Vec<_> = existing.map(|(_, path)| path).collect();
    for &admission in wanted {
        if before.webhooks().has(admission) && !force {
            let gvk = after.gvk();
            errors.push(WebhookError::Exists { gvk, admission }.into());
            continue;
        }
        let name = scaffold::webhook_name(project, after, admission);
        if name.len() > WEBHOOK_NAME_MAX {
            errors.push(WebhookError::NameTooLong { name }.into());
        }
        match after.webhook_path(admission) {
            Ok(path) if taken.contains(&path) => {
                errors.push(WebhookError::PathTaken { path, admission }.into());
            }
            Ok(path) => taken.push(path),
            Err(source) => errors.push(Error::Name {
                option: admission.path_option(),
                source,
            }),
        }
    }
    errors
}
