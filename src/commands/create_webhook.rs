//! `kbr create webhook`: defaulting, validation and conversion, each in files of its own.
//!
//! This module checks the command against the project model: its type, and which webhooks the type may
//! get. The files and lines that the command needs are in [`crate::scaffold`]. Pure.

pub(crate) mod error;
mod hub;

use crate::cli::{TypeArgs, WebhookArgs};
use crate::commands::clashes::refused_admissions;
use crate::commands::desired::{Desired, added};
use crate::commands::error::{Error, Result};
use crate::commands::target::{Target, create_api, known, named};
use crate::names::Version;
use crate::project::{Admission, CoreType, Gvk, Project, Resource, Webhooks};
use crate::scaffold;
use crate::tree::Tree;
use error::WebhookError;

/// The project with the new webhooks, and the changes to its files.
///
/// `crd` is the text of the CRD file that was given for a type of another operator.
pub(crate) fn plan(
    mut project: Project,
    args: &WebhookArgs,
    crd: Option<&str>,
    tree: &Tree,
) -> Result<Desired> {
    let requested = Admission::typed(args.defaulting, args.programmatic_validation);
    if requested.is_empty() && !args.conversion {
        return Err(WebhookError::NothingWanted.into());
    }
    let target = Target::of(&project, &args.typed, &args.external, crd, args.force)?;
    let existing = project.clone();
    let is_accepted = |meant: &Resource| {
        let typed = TypeArgs::of(meant);
        let args = WebhookArgs {
            typed,
            ..args.clone()
        };
        plan(existing.clone(), &args, crd, tree).is_ok()
    };
    let is_suitable = |core: &CoreType| core.has_webhooks;
    let found = target.resource;
    let mut before = known(&project, &args.typed, found, is_suitable, is_accepted)?;
    check_suitable(&before)?;
    let refused = if args.conversion {
        refused_conversions(&project, &before, args)
    } else {
        Vec::new()
    };
    let other = other_hub(&existing, &before);
    let old_hub = other.filter(|_| args.conversion && refused.is_empty());
    if let Some(old) = old_hub {
        project = hub::moved(&project, old, &before);
        let moved = project.resources.iter().find(|it| it.gvk() == before.gvk());
        before = moved.cloned().unwrap_or(before);
    }
    let after = Resource {
        webhooks: Some(webhooks(&before, args)),
        ..before.clone()
    };
    let mut errors = refused_admissions(&project, &before, &after, &requested, args.force);
    errors.extend(refused.into_iter().map(Error::from));
    Error::all(errors)?;
    let mut warnings: Vec<String> = warning(&after).into_iter().collect();
    project.upsert(after.clone());
    let mut rewritten = Vec::new();
    if args.force {
        for &admission in &requested {
            rewritten.extend(scaffold::admission_files(&project, &after, admission));
        }
        for spoke in &args.spoke {
            rewritten.extend(scaffold::conversion_files(&project, &after, spoke));
        }
    }
    let mut changes = added(&project, &scaffold::of(&existing), &rewritten, args.force);
    let mut conflicts = Vec::new();
    if let Some(old) = old_hub {
        let files = hub::HubChanges::of(&existing, &mut project, old, &after, tree)?;
        changes.retain(|change| files.needs(change));
        changes.extend(files.changes);
        warnings.extend(files.warnings);
        conflicts = files.conflicts;
    }
    changes.extend(target.changes);
    warnings.extend(target.warnings);
    Ok(Desired {
        conflicts,
        ..Desired::of(project, changes, warnings)
    })
}

/// Refuses a type of Kubernetes' own that can only have controllers.
fn check_suitable(resource: &Resource) -> Result<()> {
    match resource.core_type() {
        Some(core) if !core.has_webhooks => Err(WebhookError::ControllersAlone {
            gvk: resource.gvk(),
            create: format!("kbr create api {} --resource=false", named(resource)),
        }
        .into()),
        _ => Ok(()),
    }
}

/// The hub of the kind, if it is another version.
fn other_hub<'a>(project: &'a Project, resource: &Resource) -> Option<&'a Resource> {
    let hub = project.hub(&resource.qualified_group(), resource.kind.as_str());
    hub.filter(|hub| resource.is_own() && hub.version != resource.version)
}

/// A warning about what the user must know before the webhook is deployed.
fn warning(resource: &Resource) -> Option<String> {
    if resource.is_own() {
        return None;
    }
    let owner = match resource.core_type() {
        Some(_) => "Kubernetes' own",
        None => "another operator's",
    };
    let exception = if resource.is_cluster_scoped() {
        ""
    } else {
        ", except in the namespaces that the marker's `namespaceSelector` excludes, including the operator's own"
    };
    Some(format!(
        "`{}` is {owner}: while this operator is down, nobody can write one{exception}",
        resource.gvk()
    ))
}

/// The versions of the kind that can be spokes of that hub, without those that are typed.
fn possible_spokes(project: &Project, hub: &Resource, typed: &[Version]) -> Vec<Version> {
    let spokes = hub.webhooks().spoke;
    let versions = project.versions_of(hub).map(|it| &it.version);
    let is_possible =
        |it: &&Version| **it != hub.version && !spokes.contains(it) && !typed.contains(it);
    versions.filter(is_possible).cloned().collect()
}

/// The existing webhooks of the type together with the requested ones.
fn webhooks(before: &Resource, args: &WebhookArgs) -> Webhooks {
    let mut webhooks = before.webhooks();
    webhooks.conversion |= args.conversion;
    webhooks.defaulting |= args.defaulting;
    webhooks.validation |= args.programmatic_validation;
    let typed = args.defaulting_path.clone();
    webhooks.defaulting_path = typed.or(webhooks.defaulting_path);
    let typed = args.validation_path.clone();
    webhooks.validation_path = typed.or(webhooks.validation_path);
    webhooks.spoke.extend(args.spoke.clone());
    webhooks.spoke.sort();
    webhooks.spoke.dedup();
    webhooks
}

/// Every reason to refuse a conversion.
fn refused_conversions(project: &Project, hub: &Resource, args: &WebhookArgs) -> Vec<WebhookError> {
    if !hub.is_own() {
        return vec![WebhookError::CoreConversion { gvk: hub.gvk() }];
    }
    if let Some(other) = other_hub(project, hub)
        && !args.spoke.contains(&other.version)
    {
        return vec![WebhookError::SecondHub {
            kind: hub.kind.clone(),
            hub: other.version.clone(),
            version: hub.version.clone(),
        }];
    }
    if args.spoke.is_empty() {
        return vec![WebhookError::NoSpoke { gvk: hub.gvk() }];
    }
    let known = hub.webhooks().spoke;
    let mut errors = Vec::new();
    for (at, spoke) in args.spoke.iter().enumerate() {
        let spoke = spoke.clone();
        if args.spoke[..at].contains(&spoke) {
            errors.push(WebhookError::SpokeTwice { spoke });
        } else if spoke == hub.version {
            errors.push(WebhookError::SpokeIsHub { hub: spoke });
        } else if project.versions_of(hub).all(|it| it.version != spoke) {
            errors.push(WebhookError::UnknownSpoke {
                versions: possible_spokes(project, hub, &args.spoke),
                create: create_api(project, &args.typed, &spoke),
                gvk: Gvk {
                    version: spoke,
                    ..hub.gvk()
                },
            });
        } else if known.contains(&spoke) && !args.force {
            errors.push(WebhookError::SpokeExists {
                spoke,
                hub: hub.gvk(),
            });
        }
    }
    errors
}

#[cfg(test)]
mod tests;
