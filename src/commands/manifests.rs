//! `kbr manifests`: CRDs and roles from the code, and what nothing produces any more removed.
//!
//! Only files that carry kbr's header are written over or removed. Pure: the one slow step,
//! compiling the API types, is over before anything here is asked.

use std::collections::BTreeSet;

use crate::error::{Error, Result};
use crate::layout;
use crate::manifests::crd::{self, CrdDocument, Entry};
use crate::manifests::{self, code_marker, rbac};
use crate::plan::{Change, Outcome, Plan, is_generated};
use crate::project::{Project, Resource};
use crate::tree::Tree;

/// The text of `config/rbac/role.yaml`, from the markers of all sources.
pub fn roles(project: &Project, tree: &Tree) -> Result<String> {
    let (mut markers, mut errors) = (Vec::new(), Vec::new());
    for (path, source) in tree.files().filter(|(path, _)| is_source(path)) {
        let (found, wrong) = code_marker::read(path, source);
        markers.extend(found);
        errors.extend(wrong);
    }
    let namespace = format!("{}-system", project.project_name);
    match rbac::roles(&markers, &namespace) {
        Ok(roles) if errors.is_empty() => return Ok(manifests::generated(&roles)),
        Ok(_) => {}
        Err(wrong) => errors.extend(wrong),
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
pub fn unread_sources(tree: &Tree) -> Vec<String> {
    let unread = tree.unread().filter(|path| is_among_sources(path));
    unread
        .map(|path| format!("`{path}` is a link or no text: markers in it are not read"))
        .collect()
}

/// File name and text of each CRD, from what crdgen printed.
///
/// The compiled types must be those that PROJECT has: otherwise a CRD would vanish, or stand under
/// a name that nothing else knows, and nobody would hear of it.
pub fn crds(project: &Project, crdgen: &str) -> Result<Vec<(String, String)>> {
    let entries = crd::read(crdgen).map_err(|error| Error::Types(vec![error]))?;
    check_types(project, &entries)?;
    let stored = |group: &str, kind: &str| {
        let of_kind = |api: &&Resource| api.qualified_group() == group && api.kind.as_str() == kind;
        project
            .apis()
            .filter(of_kind)
            .find(|api| api.is_stored())
            .map(|api| api.version.as_str())
    };
    let documents = crd::custom_resource_definitions(entries, stored).map_err(Error::Types)?;
    let file = |crd: CrdDocument| {
        (
            layout::crd_file(&crd.group, &crd.plural),
            manifests::generated(&[crd.document]),
        )
    };
    Ok(documents.into_iter().map(file).collect())
}

fn check_types(project: &Project, entries: &[Entry]) -> Result<()> {
    let Some(compiled) = crd::identities(entries) else {
        return Ok(());
    };
    let known: BTreeSet<String> = project
        .apis()
        .map(|api| format!("{} ({})", api.gvk(), api.plural))
        .collect();
    let missing = known
        .difference(&compiled)
        .map(|api| format!("`{api}` is in PROJECT alone"));
    let strange = compiled
        .difference(&known)
        .map(|api| format!("`{api}` is compiled alone"));
    let differences: Vec<String> = missing.chain(strange).collect();
    if differences.is_empty() {
        Ok(())
    } else {
        Err(Error::TypesDisagree { differences })
    }
}

/// Everything as changes, and a `Remove` for each generated CRD that is not among `crds`.
pub fn changes(roles: String, crds: Vec<(String, String)>, tree: &Tree) -> Vec<Change> {
    let stale = tree.files().filter(|(path, text)| {
        let base = path.strip_prefix(layout::CRD_BASES);
        base.is_some_and(|base| {
            base.ends_with(".yaml") && !crds.iter().any(|(name, _)| name == base)
        }) && is_generated(text)
    });
    let mut changes: Vec<Change> = stale
        .map(|(path, _)| Change::Remove {
            path: path.to_owned(),
        })
        .collect();
    changes.push(Change::Generate {
        path: layout::MANAGER_ROLE.to_owned(),
        text: roles,
    });
    changes.extend(crds.into_iter().map(|(name, text)| Change::Generate {
        path: format!("{}{name}", layout::CRD_BASES),
        text,
    }));
    changes
}

/// What the user has to take out by hand: the lines that still name a CRD that is gone.
pub fn orphans(plan: &Plan, tree: &Tree) -> Vec<String> {
    let removed = plan
        .steps
        .iter()
        .filter(|step| step.outcome == Outcome::Removed);
    let listed = tree.text(layout::CRD_KUSTOMIZATION).unwrap_or_default();
    removed
        .filter_map(|step| step.path.strip_prefix("config/crd/"))
        .filter(|base| listed.contains(base))
        .map(|base| {
            format!(
                "`{}` still lists `{base}`: remove that line",
                layout::CRD_KUSTOMIZATION
            )
        })
        .collect()
}
