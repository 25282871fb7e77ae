//! `kbr docs`: the API reference, from the compiled types and the samples. Pure.

use crate::commands::desired::Desired;
use crate::commands::reference::{generated, reference};
use crate::commands::types::Types;
use crate::layout;
use crate::plan::Change;
use crate::tree::Tree;
use crate::yaml::YamlError;

/// The reference of the compiled types; if there are none, it is removed.
pub(crate) fn plan(types: &Types, tree: &Tree) -> Result<Desired, YamlError> {
    let path = layout::API_REFERENCE.to_owned();
    let change = match reference(&types.crds, tree)? {
        Some(text) => Some(Change::Generate { path, text }),
        None => generated(tree).map(|_| Change::Remove { path }),
    };
    let has_types = !types.crds.is_empty();
    let warning = "PROJECT has no API types of its own: there is nothing to describe";
    Ok(Desired {
        changes: change.into_iter().collect(),
        project: None,
        warnings: Vec::from_iter((!has_types).then(|| warning.to_owned())),
        conflicts: Vec::new(),
        next: if has_types {
            "cargo build --locked"
        } else {
            "kbr create api --kind KIND"
        },
    })
}
