//! Crates that a project depends on for types of other operators: cargo adds them, and removes them when
//! no such type remains.
//!
//! Cargo works on a copy, so that the changed manifest and lock file become part of the plan.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::cargo_toml::Manifest;
use crate::commands::desired::{Desired, is_removed, rewrite};
use crate::commands::error::Result;
use crate::commands::external::error::ExternalError;
use crate::commands::module_moves;
use crate::commands::rename_map::has_word;
use crate::layout::MANIFEST;
use crate::lock::{Lock, PATH};
use crate::names::CrateSpec;
use crate::plan::Change;
use crate::project::Project;
use crate::toolchain;
use crate::tree::Tree;

/// Crates of which a project must have only one version: types of one version do not implement the traits of
/// another.
const ONCE: [&str; 3] = ["kube-core", "kube", "k8s-openapi"];

/// Adds changes of the dependencies to `desired`, if the types of other operators need different crates than
/// in `before`.
pub(super) fn change(
    root: &Path,
    before: &Project,
    mut desired: Desired,
    tree: &Tree,
) -> Result<Desired> {
    let Some(after) = &desired.project else {
        return Ok(desired);
    };
    let modules = |project: &Project| project.crates().cloned().collect::<BTreeSet<CrateSpec>>();
    let (old, new) = (modules(before), modules(after));
    let manifest = tree.text(MANIFEST).unwrap_or_default();
    let name = after.project_name.as_str();
    for module in new.difference(&old) {
        let arguments = ["add", "--package", name, module.as_str()];
        let changes = cargo(root, manifest, &arguments, tree)?;
        if let Some(error) = misfit(module, &changes, tree)? {
            return Err(error.into());
        }
        desired.changes.extend(changes);
    }
    for module in old.difference(&new) {
        if let Some(path) = user_of(module, &desired.changes, tree) {
            desired.warnings.push(format!(
                "`{path}` refers to the crate `{module}`, which stays in Cargo.toml"
            ));
        } else if let Some(manifest) = without(manifest, module.name()) {
            let arguments = ["update", "--workspace"];
            let changes = cargo(root, &manifest, &arguments, tree)?;
            desired.changes.extend(changes);
        }
    }
    Ok(desired)
}

/// The manifest without that dependency, if it has it: `cargo remove` would also remove profiles.
fn without(manifest: &str, name: &str) -> Option<String> {
    let mut parsed: Manifest = manifest.parse().ok()?;
    let is_found = parsed.remove(&[name.to_owned()]);
    is_found.then(|| parsed.to_string())
}

/// Runs cargo with `manifest` as the manifest, and returns the manifest and the lock file as changes.
fn cargo(root: &Path, manifest: &str, arguments: &[&str], tree: &Tree) -> Result<Vec<Change>> {
    let mut files: BTreeMap<&str, &str> = tree.files().collect();
    files.insert(MANIFEST, manifest);
    let texts = run(root, &files, arguments, &[MANIFEST, PATH])?;
    let changes = [MANIFEST, PATH].into_iter().zip(texts);
    let existing = changes.filter(|(path, _)| tree.text(path).is_some());
    Ok(existing.map(|(path, text)| rewrite(path, text)).collect())
}

/// The lock file for these files, without access to a registry: entries of the existing lock file stay.
pub(super) fn locked(root: &Path, files: &BTreeMap<&str, &str>) -> Result<String> {
    let arguments = ["update", "--workspace", "--offline", "--quiet"];
    let texts = run(root, files, &arguments, &[PATH])?;
    Ok(texts.concat())
}

/// Runs cargo on copies of the project files that it reads.
fn run(
    root: &Path,
    files: &BTreeMap<&str, &str>,
    arguments: &[&str],
    results: &[&str],
) -> Result<Vec<String>> {
    let needed = files.iter().filter_map(|(path, text)| {
        let is_cargos = [MANIFEST, PATH].iter().any(|it| path.ends_with(it));
        // Cargo checks that targets exist, but does not read them.
        let is_target = path.ends_with(".rs");
        (is_cargos || is_target).then_some((*path, if is_cargos { *text } else { "" }))
    });
    let copies: Vec<(&str, &str)> = needed.collect();
    Ok(toolchain::cargo_edit(root, &copies, arguments, results)?)
}

/// Why the project cannot use the types of the crate, if it cannot.
fn misfit(module: &CrateSpec, changes: &[Change], tree: &Tree) -> Result<Option<ExternalError>> {
    let locked = changes.iter().find_map(|change| match change {
        Change::Edit { path, text } if path == PATH => Some(text),
        _ => None,
    });
    let (Some(before), Some(after)) = (tree.text(PATH), locked) else {
        return Ok(None);
    };
    let (before, after): (Lock, Lock) = (before.parse()?, after.parse()?);
    Ok(ONCE.into_iter().find_map(|package| {
        let (ours, all) = (before.versions(package), after.versions(package));
        let theirs = all.difference(&ours).next()?;
        Some(ExternalError::OtherKube {
            module: module.clone(),
            package,
            theirs: (*theirs).to_owned(),
            ours: ours.into_iter().collect::<Vec<_>>().join(", "),
        })
    }))
}

/// A file of the project that refers to the crate and is not removed.
fn user_of<'a>(module: &CrateSpec, changes: &[Change], tree: &'a Tree) -> Option<&'a str> {
    let name = module.name().replace('-', "_");
    let sources = module_moves::sources(tree).into_iter();
    let mut of_rust = sources.filter(|(path, _)| path.ends_with(".rs"));
    of_rust.find_map(|(path, text)| {
        (!is_removed(path, changes) && has_word(text, &name)).then_some(path)
    })
}
