//! `kbr manifests --check --against` and `--against-crds`: finds breaking changes of the CRDs since an earlier commit, and
//! differences from CRDs in files.
//!
//! An intended break is listed in [`layout::ALLOWED_BREAKS`] with its reason. A line that the earlier
//! commit already has was for an earlier break. Pure, except for [`old`].

pub(super) mod error;
mod explained;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};

use crate::cli::ManifestsArgs;
use crate::commands::crd_files;
use crate::commands::error::{Error, Result};
use crate::error::quoted;
use crate::import::documents::Documents;
use crate::layout;
use crate::manifests::compat::{self, CrdChange};
use crate::manifests::json::text_of;
use crate::plan::Change;
use crate::project::{PROJECT_FILE, Project};
use crate::toolchain::git::{self, Files};
use crate::tree::Tree;
use crate::yaml;
use error::{AgainstError, Break};
use explained::Fields;
pub(super) use explained::{Foreign, foreign};

/// How the CRDs differ from the earlier ones.
pub(super) struct Compared {
    pub(crate) broken: Option<Error>,
    pub(crate) safe: Vec<CrdChange>,
    /// What would break on a rollback to the earlier ones; only for CRDs in files.
    pub(crate) rollback: Vec<CrdChange>,
    pub(crate) warnings: Vec<String>,
}

/// What the CRDs are compared with.
pub(super) enum Earlier {
    /// The CRDs of an earlier commit, and the breaks that were allowed then.
    Commit(Files),
    /// The CRDs in files.
    Given(Documents),
}

/// What the user wants to compare the CRDs with, if anything.
pub(super) fn old(root: &Path, args: &ManifestsArgs) -> Result<Option<Earlier>> {
    if let Some(git_ref) = &args.against {
        let files = git::committed(root, git_ref, layout::CRD_BASES, layout::ALLOWED_BREAKS)?;
        return Ok(Some(Earlier::Commit(files)));
    }
    if args.against_crds.is_empty() {
        return Ok(None);
    }
    let found = crd_files::crds(root, &args.against_crds, &[])?;
    Ok(Some(Earlier::Given(found)))
}

/// Compares the CRDs after the changes with the earlier ones.
pub(super) fn compare(
    old: &Earlier,
    changes: &[Change],
    foreign: &Foreign,
    tree: &Tree,
) -> Result<Compared> {
    let crds = documents(crds(changes, tree).into_iter(), false)?;
    match old {
        Earlier::Commit(files) => with_commit(files, &crds, tree),
        Earlier::Given(found) => with_files(found, crds, foreign, tree),
    }
}

fn with_commit(old: &Files, crds: &[Value], tree: &Tree) -> Result<Compared> {
    let old_files = old.iter().filter(|(path, _)| is_crd(path));
    let mut old_crds = documents(old_files.map(|(path, text)| (&**path, &**text)), true)?;
    add_stored(&mut old_crds, old.get(PROJECT_FILE));
    let spent = allowed(old.get(layout::ALLOWED_BREAKS).map(String::as_str)).unwrap_or_default();
    let mut allowed = allowed(tree.text(layout::ALLOWED_BREAKS))?;
    allowed.retain(|key, reason| spent.get(key) != Some(reason));
    let changes = compat::compare(&old_crds, crds);
    let (mut compared, used) = sorted(changes, &allowed);
    let unused = allowed.keys().filter(|key| !used.contains(*key));
    compared.warnings.extend(unused.map(|key| {
        let path = layout::ALLOWED_BREAKS;
        format!("`{path}` allows `{key}`, which breaks nothing: remove the line")
    }));
    Ok(compared)
}

/// Compares in both directions, and only the CRDs that the files and the project have. Whether an allowed break is an earlier one
/// is unknown, so a line that allows none causes no warning.
fn with_files(
    found: &Documents,
    mut crds: Vec<Value>,
    foreign: &Foreign,
    tree: &Tree,
) -> Result<Compared> {
    let own: BTreeSet<String> = crds.iter().map(|crd| name(crd).to_owned()).collect();
    let (given, missing): (Vec<_>, Vec<_>) =
        found.crds.iter().partition(|it| own.contains(it.name()));
    if given.is_empty() {
        let own = own.into_iter().collect();
        return Err(AgainstError::NoneInCommon { own }.into());
    }
    let given: Vec<Value> = given.into_iter().map(|it| it.crd.clone()).collect();
    crds.retain(|crd| given.iter().any(|it| name(it) == name(crd)));
    let allowed = allowed(tree.text(layout::ALLOWED_BREAKS))?;
    let forth = compat::compare(&given, &crds);
    let rollback = compat::compare(&crds, &given);
    // What breaks forth is reported as that.
    let is_broken = |it: &CrdChange| {
        let mut forth = forth.iter();
        forth.any(|other| other.is_break && place(other) == place(it))
    };
    let rollback = rollback.into_iter();
    let rollback = rollback.filter(|it| it.is_break && !is_broken(it));
    let (of_given, of_own) = (Fields::of(&given), Fields::of(&crds));
    let (mut told, mut explained) = (Vec::new(), Vec::new());
    for it in rollback {
        match explained::rollback(&it, &of_own, foreign) {
            Some(why) => explained.push(CrdChange {
                reason: format!("on rollback, {}; {why}", it.reason),
                ..it
            }),
            None => told.push(it),
        }
    }
    let forth: Vec<CrdChange> = forth
        .into_iter()
        .map(|mut it| {
            let why = explained::forth(&it, &of_given, &of_own, foreign);
            if let Some(why) = why.filter(|_| it.is_break) {
                it.is_break = false;
                it.reason += &format!("; {why}");
            }
            it
        })
        .collect();
    let (mut compared, _) = sorted(forth, &allowed);
    compared.safe.extend(explained);
    compared.rollback = told;
    compared.warnings.extend(found.notes.iter().cloned());
    if !missing.is_empty() {
        let names: Vec<&str> = missing.iter().map(|it| it.name()).collect();
        let warning = format!("not in the project, and not compared: {}", quoted(&names));
        compared.warnings.push(warning);
    }
    Ok(compared)
}

/// The changes as lines, one each.
pub(super) fn lines(changes: &[CrdChange]) -> Vec<String> {
    changes.iter().map(ToString::to_string).collect()
}

/// The changes as lines for people, those of one version of a CRD with the same reason in one line: a type of Kubernetes' own can
/// differ in a hundred fields for one reason.
pub(super) fn brief(changes: &[CrdChange]) -> Vec<String> {
    let mut groups: Vec<(&CrdChange, usize)> = Vec::new();
    for change in changes {
        let is_like = |(first, _): &&mut (&CrdChange, usize)| {
            (&first.crd, &first.version, &first.reason)
                == (&change.crd, &change.version, &change.reason)
        };
        match groups.iter_mut().find(is_like) {
            Some((_, others)) => *others += 1,
            None => groups.push((change, 0)),
        }
    }
    let lines = groups.into_iter().map(|(first, others)| match others {
        0 => first.to_string(),
        1 => format!("{first}; the same in one other place"),
        _ => format!("{first}; the same in {others} other places"),
    });
    lines.collect()
}

/// Where a change is.
fn place(change: &CrdChange) -> (&str, Option<&str>, &str) {
    (&change.crd, change.version.as_deref(), &change.path)
}

fn name(crd: &Value) -> &str {
    text_of(crd, "/metadata/name")
}

/// Tells breaks from what is safe or allowed; returns the keys that allowed a break, too.
fn sorted(
    changes: Vec<CrdChange>,
    allowed: &BTreeMap<String, String>,
) -> (Compared, BTreeSet<String>) {
    let (mut safe, mut meant, mut broken) = (Vec::new(), Vec::new(), Vec::new());
    let mut used = BTreeSet::new();
    for mut it in changes {
        let key = it.key();
        if !it.is_break {
            safe.push(it);
        } else if allowed.contains_key(&key) {
            used.insert(key);
            it.reason += "; this is intended";
            meant.push(it);
        } else {
            broken.push(Break(it));
        }
    }
    safe.extend(meant);
    let compared = Compared {
        broken: (!broken.is_empty()).then(|| AgainstError::Breaks(broken).into()),
        safe,
        rollback: Vec::new(),
        warnings: Vec::new(),
    };
    (compared, used)
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

/// Parses the CRDs of these files, which nobody can correct if they are of a commit.
fn documents<'a>(
    files: impl Iterator<Item = (&'a str, &'a str)>,
    is_commit: bool,
) -> Result<Vec<Value>> {
    let mut crds = Vec::new();
    for (path, text) in files {
        let unreadable = |reason: String| AgainstError::Unreadable {
            path: path.to_owned(),
            reason,
        };
        let documents = match yaml::read(path, text) {
            Err(wrong) if is_commit => {
                let reason = format!("line {} {}", wrong.line, wrong.problem);
                return Err(unreadable(reason).into());
            }
            read => read?,
        };
        let is_other = |it: &Value| text_of(it, "kind") != "CustomResourceDefinition";
        if documents.is_empty() || documents.iter().any(is_other) {
            return Err(unreadable("it is not a CustomResourceDefinition".to_owned()).into());
        }
        crds.extend(documents);
    }
    Ok(crds)
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
