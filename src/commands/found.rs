//! The type that a webhook or a policy is for: in PROJECT, or one of Kubernetes' own. Pure.

use crate::commands::beside::check_beside;
use crate::commands::create_webhook::error::WebhookError;
use crate::commands::error::{Error, Result};
use crate::commands::typed::{kubernetes_own, misspelt, named, nearest, options};
use crate::names::{Group, Kind, Version};
use crate::project::{CoreType, Project, Resource};

/// The group, the version and the kind that were typed.
pub type Typed<'a> = (Option<&'a Group>, &'a Version, &'a Kind);

/// The type that webhooks or policies are for: the project's own, as in PROJECT, or else one of Kubernetes' own, which
/// must be one that can have webhooks if `for_webhooks`. The error suggests types of PROJECT that `is_accepted`.
pub fn resource(
    project: &Project,
    typed: Typed<'_>,
    for_webhooks: bool,
    is_accepted: impl Fn(&Resource) -> bool,
) -> Result<Resource> {
    let (typed_group, version, kind) = typed;
    if let Some(own) = project.api(typed_group, version, kind) {
        return Ok(own.clone());
    }
    let core = typed_group.and_then(|group| CoreType::of_kind(group, kind));
    let Some(core) = core.filter(|core| core.version == version.as_str()) else {
        return Err(unknown_type(project, typed, for_webhooks, is_accepted).into());
    };
    let options = core.options();
    let has_webhooks = core.has_webhooks || !for_webhooks;
    let new = Resource::core(core).map_err(Error::name("--kind"))?;
    if !has_webhooks {
        return Err(WebhookError::ControllersAlone {
            gvk: new.gvk(),
            create: format!("kbr create api {options} --kind {kind} --resource=false"),
        }
        .into());
    }
    let existing = project.resources.iter().find(|it| it.gvk() == new.gvk());
    let resource = existing.cloned().unwrap_or(new);
    check_beside(project, &resource)?;
    Ok(resource)
}

/// The error for an unknown type: where else the kind exists, and how to create the requested type.
fn unknown_type(
    project: &Project,
    typed: Typed<'_>,
    for_webhooks: bool,
    is_accepted: impl Fn(&Resource) -> bool,
) -> WebhookError {
    let (group, version, kind) = typed;
    let qualified = project.qualified_group(group);
    let near = nearest(project.apis(), typed).into_iter();
    let mut meant: Vec<&Resource> = near.filter(|api| is_accepted(api)).collect();
    if let Some(first) = meant.first() {
        let kind = first.kind.clone();
        meant.retain(|api| api.kind == kind);
    }
    if let Some(group) = group
        && let Some(core) = CoreType::of_kind(group, kind)
        && project.apis().all(|api| api.kind != *kind)
    {
        return WebhookError::CoreVersion {
            group: core.group_name(),
            version: core.version,
            kind: core.kind,
            create: create_api(project, typed, version),
        };
    }
    let is_suitable: fn(&CoreType) -> bool = match for_webhooks {
        true => |it| it.has_webhooks,
        false => |_| true,
    };
    WebhookError::UnknownType {
        gvk: format!("{qualified}/{version} {kind}"),
        are_meant: !meant.is_empty(),
        types: match &meant[..] {
            [] => project.apis().map(named).collect(),
            meant => meant.iter().map(|api| named(api)).collect(),
        },
        create: match meant.first() {
            // A kind that differs only in case, or is the plural, cannot be created.
            Some(it) if it.kind != *kind && misspelt(it, kind) == Some(0) => None,
            // The command creates it in the group of the project, which has it.
            Some(it) if it.kind == *kind && it.version == *version => None,
            _ => Some(create_api(project, typed, version)),
        },
        kubernetes_own: match meant.is_empty() && project.apis().all(|api| api.kind != *kind) {
            true => kubernetes_own(group, version, kind, is_suitable),
            false => String::new(),
        },
    }
}

/// The command that creates the type in that version, in the project's group if there is one.
pub fn create_api(project: &Project, (group, _, kind): Typed<'_>, version: &Version) -> String {
    let group = match project.apis().next() {
        Some(api) => api.group.as_ref(),
        None => group,
    };
    let options = options(group, version);
    format!("kbr create api {options} --kind {kind}")
}
