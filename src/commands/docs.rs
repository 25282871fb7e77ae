//! `kbr docs`: the API reference, from the compiled types and the samples. Pure.

use crate::envtest;
use crate::layout;
use crate::manifests::crd::CrdDocument;
use crate::manifests::docs;
use crate::plan::{Change, is_generated};
use crate::tree::Tree;

use crate::commands::types::Types;
use crate::commands::wanted::Wanted;

/// The reference of the compiled types; if there are none, it is removed.
pub fn plan(types: Option<Types>, tree: &Tree) -> Wanted {
    let path = layout::API_REFERENCE;
    let crds = types.unwrap_or_default().crds;
    let change = match reference(&crds, tree) {
        Some(text) => Some(Change::Generate {
            path: path.to_owned(),
            text,
        }),
        None => generated(tree).map(|_| Change::Remove {
            path: path.to_owned(),
        }),
    };
    let has_types = !crds.is_empty();
    let warning = "PROJECT has no API types of its own: there is nothing to describe";
    Wanted {
        changes: change.into_iter().collect(),
        project: None,
        warnings: (!has_types)
            .then(|| warning.to_owned())
            .into_iter()
            .collect(),
        next: match has_types {
            true => "cargo build --locked",
            false => "kbr create api --kind KIND",
        },
    }
}

/// A warning if the reference exists and is out of date.
pub fn stale(crds: &[CrdDocument], tree: &Tree) -> Option<String> {
    let now = generated(tree)?;
    (reference(crds, tree).as_deref() != Some(now)).then(|| {
        format!(
            "`{}` is out of date: type `kbr docs`",
            layout::API_REFERENCE
        )
    })
}

fn generated(tree: &Tree) -> Option<&str> {
    tree.text(layout::API_REFERENCE)
        .filter(|text| is_generated(text))
}

fn reference(crds: &[CrdDocument], tree: &Tree) -> Option<String> {
    let is_sample = |path: &str| path.starts_with(layout::SAMPLES) && path.ends_with(".yaml");
    let samples = tree.files().filter(|(path, _)| is_sample(path));
    let samples: Vec<_> = samples.collect();
    docs::reference(crds, &samples, &envtest::DEFAULT.to_string())
}
