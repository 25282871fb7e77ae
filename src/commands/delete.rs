//! `kbr delete`: the exact inverse of `kbr create`.
//!
//! This module checks the command against the project model: what can be deleted, and what must
//! be deleted first. Then it removes what the scaffold no longer needs; see [`crate::commands::unneeded`]. Pure.

mod cluster;
pub(crate) mod error;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::cli::{
    DeleteApiArgs, DeleteArgs, DeleteControllerArgs, DeletePolicyArgs, DeleteWebhookArgs, TypeArgs,
};
use crate::commands::desired::{Desired, generated, is_removed};
use crate::commands::error::{Error, Result};
use crate::commands::storage;
use crate::commands::target::{distance, named};
use crate::commands::unneeded::Unneeded;
use crate::kustomize;
use crate::layout;
use crate::names::{ControllerName, Group, Version};
use crate::plan::Change;
use crate::project::{Admission, CoreType, Gvk, Policies, PolicyType, Project, Resource, Webhooks};
use crate::scaffold;
use crate::tree::Tree;
use crate::yaml;
use error::DeleteError;

/// The line that deploys the webhook configurations from `kbr manifests`.
const WEBHOOK_MANIFESTS_LINE: &str = "- manifests.yaml";

/// The project without that version of a type.
pub(crate) fn api(project: Project, args: &DeleteApiArgs, tree: &Tree) -> Result<Desired> {
    let resource = resource(&project, &args.of.typed)?;
    let stored = storage::stored_versions(&project, &resource, tree)?;
    Error::all(refused(&project, &resource, &stored))?;
    let mut after = project.clone();
    after.resources.retain(|it| it.gvk() != resource.gvk());
    let (mut changes, mut warnings) = unneeded(&project, &mut after, &args.of, tree);
    changes.push(scaffold::crdgen(&after));
    if after.versions_of(&resource).next().is_none() {
        changes.extend(generated(&storage::crd_file(&resource), tree));
    }
    warnings.extend(left_objects(&after, &resource, &changes, tree)?);
    warnings.push(cluster::of_api(&after, &resource));
    Ok(Desired::of(after, changes, warnings))
}

/// The project without those webhooks.
pub(crate) fn webhook(project: Project, args: &DeleteWebhookArgs, tree: &Tree) -> Result<Desired> {
    let resource = resource(&project, &args.of.typed)?;
    Error::all(absent(&project, &resource, args))?;
    let stored = storage::stored_versions(&project, &resource, tree)?;
    Error::all(still_stored(&resource, args, &stored))?;
    let mut webhooks = resource.webhooks();
    if args.defaulting {
        (webhooks.defaulting, webhooks.defaulting_path) = (false, None);
    }
    if args.programmatic_validation {
        (webhooks.validation, webhooks.validation_path) = (false, None);
    }
    if args.conversion {
        let spokes = &args.spoke;
        webhooks
            .spoke
            .retain(|spoke| !spokes.is_empty() && !spokes.contains(spoke));
        webhooks.conversion = !webhooks.spoke.is_empty();
    }
    let is_any_left = webhooks.conversion || webhooks.has_admission();
    let changed = Resource {
        webhooks: is_any_left.then_some(webhooks),
        ..resource.clone()
    };
    let mut after = with(&project, changed);
    let (changes, mut warnings) = unneeded(&project, &mut after, &args.of, tree);
    warnings.extend(cluster::of_webhooks(&project, &after));
    if args.conversion {
        warnings.push(cluster::of_conversion(&after, &resource, &args.spoke));
    }
    Ok(Desired::of(after, changes, warnings))
}

/// The project without those policies.
pub(crate) fn policy(project: Project, args: &DeletePolicyArgs, tree: &Tree) -> Result<Desired> {
    let resource = resource(&project, &args.of.typed)?;
    let requested = PolicyType::typed(args.mutating, args.validating);
    if requested.is_empty() {
        let options = policies(resource.policies);
        return Err(DeleteError::NoPolicyWanted { options }.into());
    }
    let absent = requested.iter().filter(|it| !resource.policies.has(**it));
    Error::all(absent.map(|policy| DeleteError::NoPolicy {
        gvk: resource.gvk().to_string(),
        policy: *policy,
    }))?;
    let mut changed = resource.clone();
    for &policy in &requested {
        changed.policies.set(policy, false);
    }
    let mut after = with(&project, changed);
    let (mut changes, mut warnings) = unneeded(&project, &mut after, &args.of, tree);
    if resource.core_type().is_some() {
        changes.push(scaffold::crdgen(&after));
    }
    let deleted = requested.into_iter();
    warnings.extend(deleted.map(|policy| cluster::of_policy(&project, &resource, policy)));
    Ok(Desired::of(after, changes, warnings))
}

/// The project without that controller.
pub(crate) fn controller(
    project: Project,
    args: &DeleteControllerArgs,
    tree: &Tree,
) -> Result<Desired> {
    let resource = resource(&project, &args.of.typed)?;
    let name = &args.controller_name;
    if !resource.controllers.contains(name) {
        let of_kind = project
            .resources
            .iter()
            .filter(|it| it.is_kind_of(&resource));
        let commands = of_kind.flat_map(|it| {
            let names = it.controllers.iter();
            names.map(|name| delete_controller(it, name.as_ref()))
        });
        return Err(DeleteError::NoController {
            gvk: resource.gvk().to_string(),
            name: name.clone(),
            commands: commands.collect(),
        }
        .into());
    }
    let mut changed = resource;
    changed.controllers.retain(|it| it != name);
    let mut after = with(&project, changed);
    let (changes, warnings) = unneeded(&project, &mut after, &args.of, tree);
    Ok(Desired::of(after, changes, warnings))
}

/// The project with `resource` instead of its old state. A type that is not the project's own is listed only
/// while it has webhooks or controllers.
fn with(project: &Project, resource: Resource) -> Project {
    let mut after = project.clone();
    if resource.is_used() {
        after.upsert(resource);
    } else {
        after.resources.retain(|it| it.gvk() != resource.gvk());
    }
    after
}

/// The changes from the scaffold of `before` to that of `after`, and warnings about what stays.
fn unneeded(
    before: &Project,
    after: &mut Project,
    args: &DeleteArgs,
    tree: &Tree,
) -> (Vec<Change>, Vec<String>) {
    let unneeded = Unneeded::of(before, after, tree, args.force);
    let mut changes = unneeded.changes(after);
    if unneeded.has_line(layout::WEBHOOK_KUSTOMIZATION, WEBHOOK_MANIFESTS_LINE) {
        changes.extend(generated(layout::WEBHOOK_MANIFESTS, tree));
    }
    if unneeded.has_line(layout::WEBHOOK_KUSTOMIZATION, scaffold::CERTIFICATES_LINE) {
        changes.extend(generated(layout::CERTIFICATES_ROLE, tree));
    }
    (changes, unneeded.warnings(true))
}

/// The requested resource, from PROJECT.
fn resource(project: &Project, typed: &TypeArgs) -> Result<Resource> {
    let (version, kind) = (&typed.version, &typed.kind);
    if let Some(found) = project.find(typed.group(), version, kind) {
        return Ok(found.clone());
    }
    let is_core = |group: &&Group| CoreType::of_kind(group, kind).is_some();
    let group = match typed.group().filter(is_core) {
        Some(group) => group.to_string(),
        None => project.qualified_group(typed.group()),
    };
    let mut existing: Vec<&Resource> = project.resources.iter().collect();
    existing.sort_by_key(|it| distance(it, typed));
    Err(DeleteError::UnknownType {
        gvk: format!("{group}/{version} {kind}"),
        existing: existing.into_iter().map(named).collect(),
    }
    .into())
}

/// Every reason why this version of a type must stay.
fn refused(project: &Project, resource: &Resource, stored: &BTreeSet<Version>) -> Vec<DeleteError> {
    let gvk = resource.gvk().to_string();
    if !resource.is_own() {
        let names = resource.controllers.iter();
        let controllers = names.map(|name| delete_controller(resource, name.as_ref()));
        let existing = resource.webhooks.iter();
        let webhooks = existing.map(|it| delete_webhook(resource, it));
        let has_policies = !resource.policies.is_empty();
        let policies = has_policies.then(|| delete_policy(resource));
        let commands = webhooks.chain(policies).chain(controllers).collect();
        return vec![DeleteError::NotOwn { gvk, commands }];
    }
    let mut errors = Vec::new();
    let mut others = project.versions_of(resource);
    if let Some(other) = others.find(|other| other.version != resource.version)
        && resource.is_stored()
    {
        errors.push(DeleteError::StoredVersion {
            gvk: gvk.clone(),
            version: resource.version.clone(),
            other: other.version.clone(),
        });
    }
    if !resource.is_stored() && stored.contains(&resource.version) {
        errors.push(DeleteError::MayBeStored {
            gvk: gvk.clone(),
            version: resource.version.clone(),
            migration: storage::migration_file(resource),
        });
    }
    if let Some(webhooks) = &resource.webhooks {
        errors.push(DeleteError::HasWebhooks {
            gvk: gvk.clone(),
            command: delete_webhook(resource, webhooks),
        });
    }
    if !resource.policies.is_empty() {
        errors.push(DeleteError::HasPolicies {
            gvk: gvk.clone(),
            command: delete_policy(resource),
        });
    }
    if let Some(hub) = project.hub(&resource.qualified_group(), resource.kind.as_str())
        && hub.webhooks().spoke.contains(&resource.version)
    {
        errors.push(DeleteError::IsSpoke {
            gvk,
            hub: hub.version.clone(),
            command: format!(
                "kbr delete webhook {} --conversion --spoke {}",
                named(hub),
                resource.version
            ),
        });
    }
    errors
}

fn delete_controller(resource: &Resource, name: Option<&ControllerName>) -> String {
    let option = name.map_or_else(String::new, |name| format!(" --controller-name {name}"));
    format!("kbr delete controller {}{option}", named(resource))
}

fn delete_webhook(resource: &Resource, webhooks: &Webhooks) -> String {
    let options = types(webhooks);
    format!("kbr delete webhook {} {options}", named(resource))
}

fn delete_policy(resource: &Resource) -> String {
    let options = policies(resource.policies);
    format!("kbr delete policy {} {options}", named(resource))
}

/// The options for all of these policies.
fn policies(policies: Policies) -> String {
    let options: Vec<&str> = policies.all().map(PolicyType::option).collect();
    options.join(" ")
}

/// The options for all webhooks of a type.
fn types(webhooks: &Webhooks) -> String {
    let admissions = Admission::ALL.into_iter().filter(|it| webhooks.has(*it));
    let mut options: Vec<&str> = admissions.map(Admission::option).collect();
    options.extend(webhooks.conversion.then_some("--conversion"));
    options.join(" ")
}

/// The errors for requested webhooks that do not exist.
fn absent(project: &Project, resource: &Resource, args: &DeleteWebhookArgs) -> Vec<DeleteError> {
    let (gvk, webhooks) = (|| resource.gvk().to_string(), resource.webhooks());
    let requested = Admission::typed(args.defaulting, args.programmatic_validation);
    if requested.is_empty() && !args.conversion {
        let options = types(&webhooks);
        return vec![DeleteError::NothingWanted { options }];
    }
    let absent = requested.into_iter().filter(|it| !webhooks.has(*it));
    let mut errors: Vec<DeleteError> = absent
        .map(|admission| DeleteError::NoAdmission {
            gvk: gvk(),
            admission,
        })
        .collect();
    if args.conversion && !webhooks.conversion {
        let hub = project.hub(&resource.qualified_group(), resource.kind.as_str());
        errors.push(DeleteError::NoConversion {
            gvk: gvk(),
            hub: hub.map(|hub| hub.version.clone()),
        });
    } else {
        let spokes = args.spoke.iter();
        let strange = spokes.filter(|spoke| !webhooks.spoke.contains(spoke));
        errors.extend(strange.map(|spoke| DeleteError::NoSpoke {
            gvk: gvk(),
            spoke: spoke.clone(),
            spokes: webhooks.spoke.clone(),
        }));
    }
    errors
}

/// An error for each spoke that would no longer be converted, and in which some of the objects may be stored.
fn still_stored(
    hub: &Resource,
    args: &DeleteWebhookArgs,
    stored: &BTreeSet<Version>,
) -> Vec<DeleteError> {
    let is_deleted = |spoke: &&Version| args.spoke.is_empty() || args.spoke.contains(spoke);
    let spokes = hub.webhooks().spoke.into_iter().filter(|_| args.conversion);
    let spokes =
        spokes.filter(|spoke| is_deleted(&spoke) && stored.len() > 1 && stored.contains(spoke));
    spokes
        .map(|version| DeleteError::MayBeStored {
            gvk: Gvk {
                version: version.clone(),
                ..hub.gvk()
            }
            .to_string(),
            version,
            migration: storage::migration_file(hub),
        })
        .collect()
}

/// Warnings about objects of a deleted type: the tests that apply them would fail.
fn left_objects(
    after: &Project,
    deleted: &Resource,
    changes: &[Change],
    tree: &Tree,
) -> Result<Vec<String>> {
    if after.apis().next().is_none() {
        return Ok(Vec::new());
    }
    let gvk = deleted.gvk();
    let version = format!("{}/{}", gvk.group, gvk.version);
    let is_left =
        |object: &Value| object["apiVersion"] == *version && object["kind"] == gvk.kind.as_str();
    let mut warnings = Vec::new();
    for (path, text) in kustomize::files(tree, layout::STORED)? {
        if !is_removed(path, changes) && yaml::read(path, text)?.iter().any(is_left) {
            warnings.push(format!(
                "`{path}` is an object of the deleted type: the tests fail until it is deleted"
            ));
        }
    }
    Ok(warnings)
}

#[cfg(test)]
mod tests;
