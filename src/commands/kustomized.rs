//! `config/default`, as kubectl builds it.

use std::collections::BTreeSet;
use std::path::Path;

use crate::commands::error::Result;
use crate::envtest;
use crate::kustomize::{Build, OPTIONAL, Root};
use crate::layout;
use crate::project::Project;
use crate::toolchain::kubectl;
use crate::tree::Tree;

/// Builds `config/default`, and what is optional beside it.
pub(crate) fn build(root: &Path, project: &Project, tree: &Tree) -> Result<Build> {
    let kustomization = Root::read(tree)?;
    let fallback = envtest::kubectl();
    let built = |more: &[&str]| -> Result<Build> {
        let text = kustomization.marked(more);
        let path = layout::DEFAULT_KUSTOMIZATION;
        let printed = kubectl::kustomize(root, layout::DEFAULT, path, &text, fallback.as_deref())?;
        Ok(Build::read(project, &printed)?)
    };
    // What `config/default` contains is usually listed there; only kubectl knows what it contains otherwise.
    let mut enabled = kustomization.enabled();
    let mut all = built(&left_out(tree, &enabled));
    if all.is_err() {
        enabled = built(&[])?.folders();
        all = built(&left_out(tree, &enabled));
    }
    Ok(Build { enabled, ..all? })
}

/// The folders of [`OPTIONAL`] of the project that are not enabled.
fn left_out(tree: &Tree, enabled: &BTreeSet<&'static str>) -> Vec<&'static str> {
    let mut folders = OPTIONAL.to_vec();
    folders.retain(|it| {
        let kustomization = format!("{it}/kustomization.yaml");
        tree.entry(&kustomization).is_some() && !enabled.contains(it)
    });
    folders
}
