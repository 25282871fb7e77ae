//! `kbr manifests`: CRDs, roles and webhook configurations from the code, and what nothing produces any more removed.
//!
//! Only files that carry kbr's header are written over or removed. Pure: the one slow step,
//! compiling the API types, is over before anything here is asked.

mod grants;

use std::collections::BTreeSet;

use crate::cli::ManifestsArgs;
use crate::error::{ApiError, Error, Result};
use crate::layout::{self, Place};
use crate::manifests::crd::{self, CrdDocument, Entry};
use crate::manifests::source::{self, Declared, Remark};
use crate::manifests::{self, MarkerError, Watched, code_marker, rbac, webhook};
use crate::plan::{Change, is_generated};
use crate::project::{Project, Resource};
use crate::scaffold;
use crate::tree::Tree;

use super::{Wanted, resources_of};

/// What the markers of all sources make, each as the text of a file.
pub struct FromMarkers {
    pub roles: String,
    /// Nothing where no marker asks for a webhook.
    pub webhooks: Option<String>,
}

/// Reads the markers of all sources, or tells all that is wrong with them.
pub fn from_markers(project: &Project, tree: &Tree) -> Result<FromMarkers> {
    let (mut markers, mut errors) = (Vec::new(), Vec::new());
    for (path, source) in tree.files().filter(|(path, _)| is_source(path)) {
        let (found, wrong) = code_marker::read(path, source);
        markers.extend(found);
        errors.extend(wrong);
    }
    let namespace = format!("{}-system", project.project_name);
    let mut or_errors = |documents: std::result::Result<_, Vec<MarkerError>>| {
        documents.unwrap_or_else(|wrong| {
            errors.extend(wrong);
            Vec::new()
        })
    };
    let watched = match project.namespaced {
        true => Watched::read(tree.text(layout::MANAGER), &namespace).map(Some),
        false => Ok(None),
    };
    let roles = match watched {
        Ok(watched) => rbac::roles(&markers, &namespace, watched.as_ref()),
        Err(wrong) => Err(vec![wrong]),
    };
    let roles = or_errors(roles);
    let webhooks = or_errors(webhook::configurations(&markers));
    errors.extend(grants::taken(tree, &markers, &roles));
    if errors.is_empty() {
        return Ok(FromMarkers {
            roles: manifests::generated(&roles),
            webhooks: (!webhooks.is_empty()).then(|| manifests::generated(&webhooks)),
        });
    }
    errors.sort_by(|a, b| (&a.place.path, a.place.line).cmp(&(&b.place.path, b.place.line)));
    Err(Error::Markers(errors))
}

fn is_source(path: &str) -> bool {
    path.ends_with(".rs") && is_among_sources(path)
}

fn is_among_sources(path: &str) -> bool {
    layout::SOURCES
        .iter()
        .any(|folder| path.starts_with(folder))
}

/// What the user has to know of sources that were not read: their markers count for nothing.
fn unread_sources(tree: &Tree) -> impl Iterator<Item = String> {
    let unread = tree.unread().filter(|(path, _)| is_among_sources(path));
    unread.map(|(path, why)| format!("`{path}` {why}: markers in it are not read"))
}

/// crdgen as it has to be before it is run, where it is not: the rest follows from what it prints.
pub fn crdgen(project: &Project, tree: &Tree) -> Option<Wanted> {
    let change = scaffold::crdgen(project);
    let Change::Generate { path, text } = &change else {
        return None;
    };
    let warning =
        format!("`{path}` did not fit PROJECT: kbr writes it anew, and all CRDs follow from it");
    (tree.text(path) != Some(text)).then(|| Wanted {
        project: Some(project.clone()),
        warnings: vec![warning],
        changes: vec![change],
        next: "kbr manifests",
    })
}

/// A CRD, as it is written.
struct CrdFile {
    path: String,
    text: String,
    /// What the user has to know of it when it changes.
    of_null: Option<String>,
    /// What is wrong with its size.
    of_size: Option<String>,
}

/// The file of each CRD, from what crdgen printed.
///
/// The compiled types must be those that PROJECT has: otherwise a CRD would vanish, or stand under
/// a name that nothing else knows, and nobody would hear of it.
fn crds(
    project: &Project,
    entries: Vec<Entry>,
    max_desc_len: Option<usize>,
) -> Result<Vec<CrdFile>> {
    let stored = |group: &str, kind: &str| {
        let of_kind = |api: &&Resource| api.qualified_group() == group && api.kind.as_str() == kind;
        project
            .apis()
            .filter(of_kind)
            .find(|api| api.is_stored())
            .map(|api| api.version.as_str())
    };
    let documents = crd::custom_resource_definitions(entries, stored).map_err(Error::Types)?;
    let file = |mut crd: CrdDocument| {
        if let Some(characters) = max_desc_len {
            crd::descriptions::limit(&mut crd.document, characters);
        }
        if project.hub(&crd.group, &crd.kind).is_some() {
            crd::conversion::add(&mut crd.document, project.project_name.as_str());
        }
        let file = layout::crd_file(&crd.group, &crd.plural);
        let name = format!("{}.{}", crd.plural, crd.group);
        CrdFile {
            path: format!("{}{file}", layout::CRD_BASES),
            of_null: of_null(&crd),
            of_size: crd::size::too_large_to_apply(&name, &crd.document),
            text: manifests::generated(&[crd.document]),
        }
    };
    Ok(documents.into_iter().map(file).collect())
}

/// What is wrong with the sizes of CRDs, each and all together.
fn of_sizes(crds: &[CrdFile]) -> Vec<String> {
    let each = crds.iter().filter_map(|crd| crd.of_size.clone());
    let files = crds.iter().map(|crd| (crd.path.clone(), crd.text.clone()));
    let all = crd::size::too_large_for_helm(&files.collect::<Vec<_>>());
    each.chain(all).collect()
}

/// The types that the sources of the API declare, and what is to be said of their fields.
fn declared(tree: &Tree) -> (Vec<Declared>, Vec<Remark>) {
    let [api, _] = layout::SOURCES;
    let files = tree.files();
    let files = files.filter(|(path, _)| path.starts_with(api) && path.ends_with(".rs"));
    let (types, remarks): (Vec<_>, Vec<_>) =
        files.map(|(path, text)| source::scan(path, text)).unzip();
    let (types, mut remarks) = (types.concat(), remarks.concat());
    remarks.extend(source::open_keys(&types));
    (types, remarks)
}

/// Says why crdgen crashed, where the sources tell it.
pub fn explained(error: Error, tree: &Tree) -> Error {
    let (types, _) = declared(tree);
    let endless = source::endless(&types).into_iter();
    let named = endless.map(|one| format!("`{}` in {}:{}", one.name, one.path, one.line));
    let named: Vec<String> = named.collect();
    match error {
        Error::CrdgenCrashed if !named.is_empty() => Error::EndlessTypes(named),
        error => error,
    }
}

/// The fields that may be null, because the operator always writes them.
fn of_null(crd: &CrdDocument) -> Option<String> {
    let fields = crd.nullable_fields();
    let fields: Vec<String> = fields.iter().map(|field| format!("`{field}`")).collect();
    (!fields.is_empty()).then(|| {
        format!(
            "of `{}`, {} may be null: where null means the same as leaving the field out, write \
             `#[serde(skip_serializing_if = \"Option::is_none\")]` on it",
            crd.kind,
            fields.join(", ")
        )
    })
}

fn check_types(project: &Project, entries: &[Entry]) -> Result<()> {
    let Some(compiled) = crd::identities(entries) else {
        return Ok(());
    };
    let known: BTreeSet<String> = project.apis().map(identity).collect();
    let missing = known
        .difference(&compiled)
        .map(|api| format!("`{api}` is in PROJECT, but not in the code"));
    let strange = compiled
        .difference(&known)
        .map(|api| format!("`{api}` is in the code, but not in PROJECT"));
    let differences: Vec<String> = missing.chain(strange).collect();
    if !differences.is_empty() {
        return Err(Error::TypesDisagree { differences });
    }
    Ok(())
}

/// PROJECT with the scopes that the types have, where they were changed in the code, and what else has
/// to follow.
fn scopes(project: &Project, entries: &[Entry]) -> Result<Option<(Project, Vec<String>)>> {
    if crd::identities(entries).is_none() {
        return Ok(None);
    }
    let compiled = crd::cluster_scoped(entries);
    let mut after = project.clone();
    let mut warnings = Vec::new();
    for api in &mut after.resources {
        let is_cluster_scoped = compiled.contains(&identity(api));
        if !api.is_own() || is_cluster_scoped == api.is_cluster_scoped() {
            continue;
        }
        if project.namespaced {
            let kind = api.kind.clone();
            return Err(ApiError::ClusterScope { kind }.into());
        }
        api.set_scope(!is_cluster_scoped);
        let place = Place::of(project, api);
        let (is, was) = match is_cluster_scoped {
            true => ("all", "namespaced"),
            false => ("namespaced", "all"),
        };
        warnings.push(format!(
            "`{}` is {} now: write `Api::{is}` for `Api::{was}` in `{}` and in `{}`; in a cluster, the \
             CRD has to be deleted first, and its objects with it",
            identity(api),
            if is_cluster_scoped { "cluster-scoped" } else { "namespaced" },
            place.controller(None),
            place.tests_of_kind(),
        ));
    }
    Ok((!warnings.is_empty()).then_some((after, warnings)))
}

fn identity(api: &Resource) -> String {
    format!("{} ({})", api.gvk(), api.plural)
}

/// The manifests, and PROJECT where a scope is another; of what crdgen printed, if there are types.
pub fn plan(
    project: &Project,
    args: &ManifestsArgs,
    made: FromMarkers,
    crdgen: Option<&str>,
    tree: &Tree,
) -> Result<Wanted> {
    let (mut crds, mut scopes, mut remarks) = (Vec::new(), None, Vec::new());
    if let Some(crdgen) = crdgen {
        let mut entries = crd::read(crdgen).map_err(|error| Error::Types(vec![error]))?;
        let (types, found) = declared(tree);
        entries.iter_mut().for_each(|entry| entry.mend(&types));
        remarks = found;
        check_types(project, &entries)?;
        scopes = self::scopes(project, &entries)?;
        crds = self::crds(project, entries, args.max_desc_len)?;
    }
    let (project, followers) = scopes.unzip();
    let changed = crds
        .iter()
        .filter(|crd| tree.text(&crd.path) != Some(&crd.text));
    let of_crds: Vec<String> = changed.filter_map(|crd| crd.of_null.clone()).collect();
    let sizes = of_sizes(&crds);
    let is_changed = crds
        .iter()
        .any(|crd| tree.text(&crd.path) != Some(&crd.text));
    let remarks = remarks.into_iter().filter(|_| is_changed);
    let remarks = remarks.map(|Remark { path, line, text }| format!("{path}:{line}: {text}"));
    let of_roles = grants::lost(tree, &made.roles);
    let changes = changes(made, crds, tree);
    let warnings = followers.into_iter().flatten();
    let warnings = warnings
        .chain(of_crds)
        .chain(sizes)
        .chain(remarks)
        .chain(of_roles)
        .chain(grants::unreached(tree))
        .chain(unread_sources(tree))
        .chain(warnings_of(&changes, tree))
        .collect();
    Ok(Wanted {
        changes,
        project,
        warnings,
        next: "cargo build --locked",
    })
}

/// Everything as changes, and a `Remove` for each generated file that nothing produces any more.
fn changes(made: FromMarkers, crds: Vec<CrdFile>, tree: &Tree) -> Vec<Change> {
    let generate = |path: String, text| Change::Generate { path, text };
    let mut changes = vec![generate(layout::MANAGER_ROLE.to_owned(), made.roles)];
    let webhooks = made.webhooks;
    changes.extend(webhooks.map(|text| generate(layout::WEBHOOK_MANIFESTS.to_owned(), text)));
    changes.extend(crds.into_iter().map(|crd| generate(crd.path, crd.text)));

    let is_ours = |path: &str| {
        path == layout::WEBHOOK_MANIFESTS
            || path.starts_with(layout::CRD_BASES) && path.ends_with(".yaml")
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

/// What the user has to put right by hand: lines that name what goes, and a file that nothing
/// deploys.
fn warnings_of(changes: &[Change], tree: &Tree) -> Vec<String> {
    let orphans = changes.iter().filter_map(|change| match change {
        Change::Remove { path } => orphan(path, tree),
        _ => None,
    });
    orphans.chain(undeployed(changes, tree)).collect()
}

/// The line that still names a file that goes.
fn orphan(gone: &str, tree: &Tree) -> Option<String> {
    let (kustomization, name) = match gone.strip_prefix("config/crd/") {
        Some(base) => (layout::CRD_KUSTOMIZATION, base),
        None => (
            layout::WEBHOOK_KUSTOMIZATION,
            gone.strip_prefix("config/webhook/")?,
        ),
    };
    lists(tree.text(kustomization)?, name)
        .then(|| format!("`{kustomization}` still lists `{name}`: remove that line"))
}

/// Whether a kustomization has that file among its resources.
fn lists(kustomization: &str, name: &str) -> bool {
    let resources = resources_of(kustomization);
    resources.iter().any(|item| item.as_str() == Some(name))
}

/// Webhooks that the API server will not call, since kustomize does not know of their file.
fn undeployed(changes: &[Change], tree: &Tree) -> Option<String> {
    let (file, kustomization) = (layout::WEBHOOK_MANIFESTS, layout::WEBHOOK_KUSTOMIZATION);
    let is_made =
        |change: &&Change| matches!(change, Change::Generate { path, .. } if path == file);
    changes.iter().find(is_made)?;
    let Some(text) = tree.text(kustomization) else {
        return Some(format!(
            "nothing deploys `{file}`: there is no `{kustomization}`; \
             type `kbr create webhook --kind KIND` to have it made"
        ));
    };
    (!lists(text, "manifests.yaml")).then(|| {
        format!(
            "nothing deploys `{file}`: add the line `- manifests.yaml` below `resources:` of \
             `{kustomization}`"
        )
    })
}
