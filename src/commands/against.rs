//! `kbr manifests --check --against`: finds breaking changes of the CRDs since an earlier commit.
//!
//! An intended break is listed in [`layout::ALLOWED_BREAKS`] with its reason. A line that the earlier
//! commit already has was for an earlier break. Pure, except for [`old`].

pub mod error;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};

use crate::commands::error::{Error, Result};
use crate::layout;
use crate::manifests::compat;
use crate::plan::Change;
use crate::project::{PROJECT_FILE, Project};
use crate::toolchain::git::{self, Files};
use crate::tree::Tree;
use error::{AgainstError, Break};

/// How the CRDs of two commits differ.
pub struct Compared {
    pub broken: Option<Error>,
    pub safe: Vec<String>,
    pub warnings: Vec<String>,
}

/// The CRDs of an earlier commit, and the breaks that were allowed then.
pub fn old(root: &Path, git_ref: &str) -> Result<Files> {
    Ok(git::committed(
        root,
        git_ref,
        layout::CRD_BASES,
        layout::ALLOWED_BREAKS,
    )?)
}

/// Compares the CRDs after the changes with the old ones.
pub fn compare(old: &Files, changes: &[Change], tree: &Tree) -> Result<Compared> {
    let old_files = old.iter().filter(|(path, _)| is_crd(path));
    let mut old_crds = documents(old_files.map(|(path, text)| (&**path, &**text)))?;
    add_stored(&mut old_crds, old.get(PROJECT_FILE));
    let crds = documents(crds(changes, tree).into_iter())?;
    let spent = allowed(old.get(layout::ALLOWED_BREAKS).map(String::as_str)).unwrap_or_default();
    let mut allowed = allowed(tree.text(layout::ALLOWED_BREAKS))?;
    allowed.retain(|key, reason| spent.get(key) != Some(reason));

    let (mut safe, mut meant, mut broken) = (Vec::new(), Vec::new(), Vec::new());
    let mut unused: BTreeSet<&String> = allowed.keys().collect();
    for it in compat::compare(&old_crds, &crds) {
        let key = it.key();
        if !it.is_break {
            safe.push(it.to_string());
        } else if allowed.contains_key(&key) {
            unused.remove(&key);
            meant.push(format!("{it}; this is intended"));
        } else {
            broken.push(Break(it));
        }
    }
    safe.extend(meant);
    let warnings = unused.iter().map(|key| {
        let path = layout::ALLOWED_BREAKS;
        format!("`{path}` allows `{key}`, which breaks nothing: remove the line")
    });
    Ok(Compared {
        broken: (!broken.is_empty()).then(|| AgainstError::Breaks(broken).into()),
        safe,
        warnings: warnings.collect(),
    })
}

/// Adds to the status of the CRDs, as in a cluster, the versions in which objects may be stored, from PROJECT.
fn add_stored(crds: &mut [Value], project: Option<&String>) {
    let Some(project) = project.and_then(|text| Project::parse(text).ok()) else {
        return;
    };
    for api in project.apis() {
        let name = format!("{}.{}", api.plural, api.qualified_group());
        let is_it = |crd: &&mut Value| crd["metadata"]["name"] == *name;
        if let Some(crd) = crds.iter_mut().find(is_it) {
            let stored = project.stored_versions(api);
            crd["status"] = json!({ "storedVersions": stored });
        }
    }
}

fn is_crd(path: &str) -> bool {
    path.starts_with(layout::CRD_BASES) && path.ends_with(".yaml")
}

/// Path and text of each CRD after the changes.
fn crds<'a>(changes: &'a [Change], tree: &'a Tree) -> BTreeMap<&'a str, &'a str> {
    let mut crds: BTreeMap<&str, &str> = tree.files().filter(|(path, _)| is_crd(path)).collect();
    for change in changes.iter().filter(|change| is_crd(change.path())) {
        match change {
            Change::Generate { path, text } => drop(crds.insert(path, text)),
            Change::Remove { path } => drop(crds.remove(path.as_str())),
            _ => {}
        }
    }
    crds
}

/// Parses the CRDs of these files.
fn documents<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Vec<Value>> {
    let read = |(path, text): (&str, &str)| {
        let unreadable = |reason: String| AgainstError::Unreadable {
            path: path.to_owned(),
            reason,
        };
        let document: Value =
            serde_yaml::from_str(text).map_err(|error| unreadable(error.to_string()))?;
        if document["kind"] != "CustomResourceDefinition" {
            return Err(unreadable("it is not a CustomResourceDefinition".to_owned()).into());
        }
        Ok(document)
    };
    files.map(read).collect()
}

/// The reasons for intended breaks, by their keys.
fn allowed(text: Option<&str>) -> Result<BTreeMap<String, String>> {
    let unreadable = |reason: String| AgainstError::AllowedUnreadable { reason };
    let parsed: std::result::Result<Option<BTreeMap<String, String>>, _> =
        serde_yaml::from_str(text.unwrap_or_default());
    let reasons = parsed.map_err(|error| unreadable(error.to_string()))?;
    let allowed = reasons.unwrap_or_default();
    let is_empty = |reason: &str| matches!(reason.trim(), "" | "WHY");
    match allowed.iter().find(|(_, reason)| is_empty(reason)) {
        Some((key, _)) => Err(unreadable(format!("`{key}` has no reason")).into()),
        None => Ok(allowed),
    }
}
