//! Versions in which objects may still be stored: PROJECT remembers them until the objects are migrated.
//!
//! The user moves `storage` in PROJECT manually. The previous stored version is in the CRD that was generated
//! last. Pure.

use std::collections::BTreeSet;

use crate::commands::error::{Error, Result};
use crate::commands::manifests::error::ManifestsError;
use crate::commands::target::named;
use crate::layout;
use crate::manifests::json::{is_true, list_of};
use crate::manifests::migration::Migration;
use crate::names::Version;
use crate::plan::is_generated;
use crate::project::{Project, Resource};
use crate::rendered::normalized;
use crate::tree::Tree;
use crate::yaml::{self, YamlError};

/// Refuses the removal of the version that has been the stored one so far, and a hub that is not stored.
pub(super) fn check(project: &Project, tree: &Tree) -> Result<()> {
    let mut errors: Vec<Error> = Vec::new();
    for api in project.apis().filter(|api| api.is_stored()) {
        match stored_so_far(api, tree) {
            Ok(version) => errors.extend(version.and_then(|it| gone(project, api, it))),
            Err(error) => errors.push(error.into()),
        }
        errors.extend(hub_not_stored(project, api).map(Error::from));
    }
    Error::all(errors)
}

/// The error if PROJECT no longer has the version that has been the stored one so far.
fn gone(project: &Project, api: &Resource, version: String) -> Option<Error> {
    let mut versions = project.versions_of(api);
    let is_gone = versions.all(|it| it.version.as_str() != version);
    is_gone.then(|| {
        let (kind, crd) = (api.kind.clone(), crd_file(api));
        ManifestsError::StoredVersionGone { kind, version, crd }.into()
    })
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
pub(super) fn remembered(project: &Project, tree: &Tree) -> Result<Project, YamlError> {
    let mut after = project.clone();
    for api in &mut after.resources {
        let mut versions = BTreeSet::new();
        if api.is_stored() {
            versions = stored_versions(project, api, tree)?;
        }
        let are_listed = versions.len() > 1;
        if let Some(api) = api.api_mut() {
            api.stored_versions = versions.into_iter().filter(|_| are_listed).collect();
        }
    }
    Ok(after)
}

/// Every version in which objects of that kind may be stored.
pub(super) fn stored_versions(
    project: &Project,
    resource: &Resource,
    tree: &Tree,
) -> Result<BTreeSet<Version>, YamlError> {
    let mut versions = project.stored_versions(resource);
    if let Some(version) = stored_so_far(resource, tree)? {
        let known = project.versions_of(resource).map(|api| &api.version);
        versions.extend(known.filter(|it| it.as_str() == version).cloned());
    }
    Ok(versions)
}

/// The stored version in the CRD that was generated last.
fn stored_so_far(resource: &Resource, tree: &Tree) -> Result<Option<String>, YamlError> {
    let path = crd_file(resource);
    let Some(entry) = tree.entry(&path) else {
        return Ok(None);
    };
    let text = entry.text();
    let text = text.map_err(|why| YamlError::unread(&path, why))?;
    // `kbr manifests` writes a generated file again that a merge has broken.
    if is_generated(text) && text.contains("\n<<<<<<< ") {
        return Ok(None);
    }
    let crds = yaml::read(&path, text)?;
    let mut versions = crds.iter().flat_map(|crd| list_of(crd, "/spec/versions"));
    let stored = versions.find(|version| is_true(version, "storage"));
    Ok(stored.and_then(|version| Some(version["name"].as_str()?.to_owned())))
}

/// Path and text of the migration instructions for each kind that needs them, and warnings about those that are new
/// or changed.
pub(super) fn migrations(project: &Project, tree: &Tree) -> (Vec<(String, String)>, Vec<String>) {
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
pub(super) fn migration_file(api: &Resource) -> String {
    format!("{}{}", layout::STORAGE_MIGRATION, file_name(api))
}

/// Path of the CRD of a kind.
pub(super) fn crd_file(resource: &Resource) -> String {
    format!("{}{}", layout::CRD_BASES, file_name(resource))
}

fn file_name(resource: &Resource) -> String {
    layout::crd_file(&resource.qualified_group(), resource.plural.as_str())
}

#[cfg(test)]
mod tests;
