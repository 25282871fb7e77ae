//! The API reference of a project, and whether it is up to date. Pure.

use crate::envtest;
use crate::kustomize;
use crate::layout;
use crate::manifests::crd::CrdDocument;
use crate::manifests::docs;
use crate::plan::is_generated;
use crate::rendered::normalized;
use crate::tree::Tree;
use crate::yaml::YamlError;

/// A warning if the reference exists and is out of date.
pub(super) fn stale(crds: &[CrdDocument], tree: &Tree) -> Option<String> {
    let now = generated(tree)?;
    let path = layout::API_REFERENCE;
    match reference(crds, tree) {
        Ok(new) if new.as_deref() == Some(&normalized(now)) => None,
        Ok(_) => Some(format!("`{path}` is out of date: type `kbr docs`")),
        Err(error) => Some(format!("`{path}` may be out of date: {error}")),
    }
}

/// The reference that kbr has generated.
pub(super) fn generated(tree: &Tree) -> Option<&str> {
    tree.text(layout::API_REFERENCE)
        .filter(|text| is_generated(text))
}

/// The reference of these types; `None` if there are none.
pub(super) fn reference(crds: &[CrdDocument], tree: &Tree) -> Result<Option<String>, YamlError> {
    let samples = kustomize::files(tree, layout::SAMPLES)?;
    docs::reference(crds, &samples, &envtest::DEFAULT.to_string())
}
