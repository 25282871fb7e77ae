//! Versions in which objects may still be stored: PROJECT remembers them until the objects are migrated.
//!
//! The user moves `storage` in PROJECT manually. The previous stored version is in the CRD that was generated
//! last. Pure.

use std::collections::BTreeSet;

use serde_yaml::Value;

use crate::commands::error::{Error, Result};
use crate::commands::manifests::error::ManifestsError;
use crate::commands::target::named;
use crate::layout;
use crate::manifests::migration::Migration;
use crate::names::Version;
use crate::project::{Project, Resource};
use crate::rendered::normalized;
use crate::tree::Tree;

/// Refuses the removal of the version that has been the stored one so far, and a hub that is not stored.
pub fn check(project: &Project, tree: &Tree) -> Result<()> {
    let removed = |api: &Resource| {
        let version = stored_so_far(api, tree)?;
        let mut versions = project.versions_of(api);
        let is_removed = versions.all(|it| it.version.as_str() != version);
        is_removed.then(|| ManifestsError::StoredVersionGone {
            kind: api.kind.clone(),
            version,
            crd: crd_file(api),
        })
    };
    let stored = || project.apis().filter(|api| api.is_stored());
    let hubs = stored().filter_map(|api| hub_not_stored(project, api));
    Error::all(stored().filter_map(removed).chain(hubs))
}

/// The runtime assumes that the hub is the stored version: it fails to convert an object to the hub rather than
/// write a part of it, and the other way it shows what it can.
fn hub_not_stored(project: &Project, stored: &Resource) -> Option<ManifestsError> {
    let hub = project.hub(&stored.qualified_group(), stored.kind.as_str())?;
    (hub.version != stored.version).then(|| ManifestsError::HubNotStored {
        kind: stored.kind.clone(),
        stored: stored.version.clone(),
        hub: hub.version.clone(),
        command: format!(
            "kbr create webhook {} --conversion --spoke {}",
            named(stored),
            hub.version
        ),
    })
}

/// PROJECT with all versions in which objects may be stored, recorded at the stored version of each kind.
pub fn remembered(project: &Project, tree: &Tree) -> Project {
    let mut after = project.clone();
    for api in &mut after.resources {
        let versions = stored_versions(project, api, tree);
        let are_listed = api.is_stored() && versions.len() > 1;
        if let Some(api) = api.api_mut() {
            api.stored_versions = versions.into_iter().filter(|_| are_listed).collect();
        }
    }
    after
}

/// Every version in which objects of that kind may be stored.
pub fn stored_versions(project: &Project, resource: &Resource, tree: &Tree) -> BTreeSet<Version> {
    let mut versions = project.stored_versions(resource);
    if let Some(version) = stored_so_far(resource, tree) {
        let known = project.versions_of(resource).map(|api| &api.version);
        versions.extend(known.filter(|it| it.as_str() == version).cloned());
    }
    versions
}

/// The stored version in the CRD that was generated last.
fn stored_so_far(resource: &Resource, tree: &Tree) -> Option<String> {
    let crd: Value = serde_yaml::from_str(tree.text(&crd_file(resource))?).ok()?;
    let mut versions = crd["spec"]["versions"].as_sequence()?.iter();
    let stored = versions.find(|version| version["storage"] == Value::Bool(true))?;
    stored["name"].as_str().map(str::to_owned)
}

/// Path and text of the migration instructions for each kind that needs them, and warnings about those that are new
/// or changed.
pub fn migrations(project: &Project, tree: &Tree) -> (Vec<(String, String)>, Vec<String>) {
    let (mut files, mut warnings) = (Vec::new(), Vec::new());
    for api in project.apis().filter(|api| api.is_stored()) {
        let versions = project.stored_versions(api);
        let others = versions.iter().filter(|version| **version != api.version);
        let older: Vec<&str> = others.map(Version::as_str).collect();
        if older.is_empty() {
            continue;
        }
        let (group, path) = (api.qualified_group(), migration_file(api));
        let migration = Migration {
            kind: api.kind.as_str(),
            plural: api.plural.as_str(),
            group: &group,
            stored: api.version.as_str(),
            older,
            is_cluster_scoped: api.is_cluster_scoped(),
            is_converted: project.hub(&group, api.kind.as_str()).is_some(),
            crd_file: &crd_file(api),
            file: &path,
        };
        let text = migration.text();
        if tree.text(&path).map(normalized).as_deref() != Some(&text) {
            warnings.push(format!(
                "`{}` is stored in `{}` now: once that is deployed, follow `{path}` in each cluster",
                api.kind, api.version
            ));
        }
        files.push((path, text));
    }
    (files, warnings)
}

/// Path of the file that explains how to migrate a kind's objects.
pub fn migration_file(api: &Resource) -> String {
    format!("{}{}", layout::STORAGE_MIGRATION, file_name(api))
}

/// Path of the CRD of a kind.
pub fn crd_file(resource: &Resource) -> String {
    format!("{}{}", layout::CRD_BASES, file_name(resource))
}

fn file_name(resource: &Resource) -> String {
    layout::crd_file(&resource.qualified_group(), resource.plural.as_str())
}

#[cfg(test)]
mod tests;
