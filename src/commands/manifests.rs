//! `kbr manifests`: CRDs, roles and webhook configurations from the code; files that are no longer
//! produced are removed.
//!
//! Only files with kbr's header are overwritten or removed. Pure: the one slow step,
//! compiling the API types, is done before anything here runs.

pub(crate) mod error;
mod grants;
mod policies;
mod sources;
mod types;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::cli::ManifestsArgs;
use crate::commands::desired::{Desired, resources_of};
use crate::commands::error::Result;
use crate::commands::reference;
use crate::commands::storage;
use crate::commands::types::Types;
use crate::layout;
use crate::manifests::{self, MarkerError, Watched, code_marker, rbac, webhook};
use crate::plan::{Change, is_generated};
use crate::project::{Certificates, Project, Resource};
use crate::tree::Tree;
use error::ManifestsError;
use sources::{Sources, is_among_sources};

/// The manifests from the markers of all sources.
pub(crate) struct FromMarkers {
    /// The text of the file.
    pub(crate) roles: String,
    /// The webhook configurations; none if no marker declares a webhook.
    pub(crate) webhooks: Vec<Value>,
    pub(crate) warnings: Vec<String>,
}

/// Reads the markers of all sources, or reports everything that is wrong with them.
pub(crate) fn from_markers(project: &Project, tree: &Tree) -> Result<FromMarkers> {
    let (mut markers, mut errors) = (Vec::new(), Vec::new());
    let sources = Sources::of(tree);
    for (path, source) in &sources.files {
        let (found, wrong) = code_marker::read(path, source);
        markers.extend(found);
        errors.extend(wrong);
    }
    let (certain, others) = sources.outside(&markers);
    errors.extend(certain);
    let unread = sources.unread(tree);
    // What they declare is not known, so nobody knows whether the others are outside.
    let is_known = others.is_empty() || unread.is_empty();
    errors.extend(if is_known { others } else { unread });
    let compiled: Vec<&str> = sources.compiled().collect();
    let namespace = project.project_name.namespace();
    let mut or_errors = |documents: std::result::Result<_, Vec<MarkerError>>| {
        documents.unwrap_or_else(|wrong| {
            errors.extend(wrong);
            Vec::new()
        })
    };
    let watched = if project.namespaced {
        Watched::read(tree.text(layout::MANAGER), &namespace).map(Some)
    } else {
        Ok(None)
    };
    let roles = or_errors(match watched {
        Ok(watched) => rbac::roles(&markers, &namespace, watched.as_ref()),
        Err(wrong) => Err(vec![wrong]),
    });
    let is_injected = project.certificates == Certificates::CertManager;
    let own = project.apis().map(Resource::qualified_group).collect();
    let webhooks = or_errors(webhook::configurations(&markers, is_injected, &own));
    errors.extend(grants::taken(tree, &markers, &roles));
    if errors.is_empty() {
        return Ok(FromMarkers {
            roles: manifests::generated(&roles),
            webhooks,
            warnings: webhook::served::unserved(&markers, &compiled),
        });
    }
    errors.sort_by(|a, b| {
        (&a.location.path, a.location.line).cmp(&(&b.location.path, b.location.line))
    });
    Err(ManifestsError::Markers(errors).into())
}

/// Warnings about sources that were not read: their markers have no effect.
fn unread_sources(tree: &Tree) -> impl Iterator<Item = String> {
    let unread = tree.unread().filter(|(path, _)| is_among_sources(path));
    unread.map(|(path, why)| format!("`{path}` {why}: markers in it are not read"))
}

/// The manifests, and PROJECT if a scope has changed; from the compiled types, if there are any.
pub(crate) fn plan(
    project: &Project,
    args: &ManifestsArgs,
    made: FromMarkers,
    mut types: Types,
    tree: &Tree,
) -> Result<Desired> {
    let of_policies = policies::check(project, &types, tree)?;
    let stale = reference::stale(&types.crds, tree);
    let (scoped, followers) = types.scopes.take().unzip();
    let (mut files, of_types) =
        types::from_types(project, types, &made.webhooks, args.max_desc_len, tree);
    let before = scoped.as_ref().unwrap_or(project);
    let remembered = storage::remembered(before, tree)?;
    let (migrations, to_migrate) = storage::migrations(&remembered, tree);
    let project = (remembered != *before).then_some(remembered).or(scoped);
    let of_roles = grants::lost(tree, &made.roles);
    files.push((layout::MANAGER_ROLE.to_owned(), made.roles));
    if !made.webhooks.is_empty() {
        let text = manifests::generated(&made.webhooks);
        files.push((layout::WEBHOOK_MANIFESTS.to_owned(), text));
    }
    files.extend(migrations);
    let changes = changes(files, tree);
    let of_scopes = followers.into_iter().flatten();
    let warnings = of_scopes
        .chain(of_types)
        .chain(to_migrate)
        .chain(of_roles)
        .chain(made.warnings)
        .chain(of_policies)
        .chain(unread_sources(tree))
        .chain(warnings_of(&changes, tree))
        .chain(stale)
        .collect();
    Ok(Desired {
        changes,
        project,
        warnings,
        conflicts: Vec::new(),
        next: "cargo build --locked",
    })
}

/// All files as changes, and a `Remove` for each generated file that nothing produces any more.
fn changes(files: Vec<(String, String)>, tree: &Tree) -> Vec<Change> {
    let generate = |(path, text)| Change::Generate { path, text };
    let mut changes: Vec<Change> = files.into_iter().map(generate).collect();
    let is_ours = |path: &str| {
        let mut folders = [layout::CRD_BASES, layout::STORAGE_MIGRATION].into_iter();
        [
            layout::CERTIFICATES_ROLE,
            layout::WEBHOOK_MANIFESTS,
            layout::STATE_METRICS,
        ]
        .contains(&path)
            || folders.any(|folder| path.starts_with(folder) && path.ends_with(".yaml"))
    };
    let made: BTreeSet<&str> = changes.iter().map(Change::path).collect();
    let stale = tree
        .files()
        .filter(|(path, text)| is_ours(path) && !made.contains(path) && is_generated(text));
    let removals: Vec<Change> = stale
        .map(|(path, _)| Change::Remove {
            path: path.to_owned(),
        })
        .collect();
    changes.extend(removals);
    changes
}

/// Warnings about what the user must fix manually: lines that refer to a removed file, and a file that
/// nothing deploys.
fn warnings_of(changes: &[Change], tree: &Tree) -> Vec<String> {
    let orphans = changes.iter().filter_map(|change| match change {
        Change::Remove { path } => orphan(path, tree),
        _ => None,
    });
    orphans.chain(undeployed(changes, tree)).collect()
}

/// A warning about a line that still refers to a removed file.
fn orphan(removed: &str, tree: &Tree) -> Option<String> {
    let listed = |kustomization: &'static str| {
        let folder = kustomization.strip_suffix("kustomization.yaml")?;
        Some((kustomization, removed.strip_prefix(folder)?))
    };
    let mut lists_files = [layout::CRD_KUSTOMIZATION, layout::WEBHOOK_KUSTOMIZATION].into_iter();
    let (kustomization, name) = lists_files.find_map(listed)?;
    lists(tree.text(kustomization)?, name)
        .then(|| format!("`{kustomization}` still lists `{name}`: remove that line"))
}

/// Whether a kustomization lists that file in its resources.
fn lists(kustomization: &str, name: &str) -> bool {
    let resources = resources_of(kustomization);
    resources.iter().any(|item| item.as_str() == Some(name))
}

/// A warning about webhooks that the API server will not call, because no kustomization lists their file.
fn undeployed(changes: &[Change], tree: &Tree) -> Option<String> {
    let (file, kustomization) = (layout::WEBHOOK_MANIFESTS, layout::WEBHOOK_KUSTOMIZATION);
    let is_made =
        |change: &&Change| matches!(change, Change::Generate { path, .. } if path == file);
    changes.iter().find(is_made)?;
    let Some(text) = tree.text(kustomization) else {
        return Some(format!(
            "nothing deploys `{file}`: there is no `{kustomization}`; \
             type `kbr create webhook --kind KIND` to create it"
        ));
    };
    (!lists(text, "manifests.yaml")).then(|| {
        format!(
            "nothing deploys `{file}`: add the line `- manifests.yaml` below `resources:` of \
             `{kustomization}`"
        )
    })
}
