//! `kbr rename`: renames a kind, a version or a group of the project.
//!
//! A module for each checks the command against the project model: what to rename, and whether it can have
//! that name. [`crate::commands::model_change`] changes the files, [`crate::commands::rename_map`] the names in code. For a cluster, the renamed resource
//! is a new one: [`cluster`] explains what that means. Pure, except for the formatter that it is given.

mod cluster;
pub(crate) mod error;
mod group;
mod kind;
pub(crate) mod project;
mod version;

use std::collections::BTreeSet;

use crate::cli::Rename;
use crate::commands::clashes;
use crate::commands::desired::{Desired, generated};
use crate::commands::error::{Error, Result};
use crate::commands::model_change::{ModelChange, changed};
use crate::commands::module_moves::{self, Format};
use crate::commands::rename_map::{RenameMap, webhook_names};
use crate::commands::storage;
use crate::commands::target::misspelt;
use crate::names::{Group, Kind};
use crate::plan::Change;
use crate::project::{Admission, Project, Resource};
use crate::rust::Code;
use crate::scaffold;
use crate::tree::Tree;
use error::RenameError;

/// The requested rename, checked against the project model: the project with the new name, its resources in the
/// same order; the names; and warnings about what it means for a cluster.
type Requested = (Project, RenameMap, Vec<String>);

/// The project with the new name, and the changes to its files.
pub(crate) fn plan(
    project: &Project,
    args: &Rename,
    tree: &Tree,
    format: Format<'_>,
) -> Result<Desired> {
    let before = &storage::remembered(project, tree)?;
    let (mut after, mut words, of_cluster) = match args {
        Rename::Kind(args) => kind::requested(before, args)?,
        Rename::Version(args) => version::requested(before, args)?,
        Rename::Group(args) => group::requested(before, args)?,
    };
    check_types(&words, tree)?;
    let both = changed(before, &after);
    let names = both.flat_map(|(old, new)| webhook_names([(before, old), (&after, new)]));
    words.webhooks = names.collect();
    words.crates = module_moves::crate_names(before).concat();
    let crds = crds(before, &after, tree);
    let pairs = scaffold::pairs(before, &after);
    let mut renamed = ModelChange::of(before, &after, &words, &pairs, Vec::new(), tree)?;
    let mut changes = renamed.changes(&mut after, tree, format);
    changes.extend(crds);
    let mut warnings = renamed.left(&words, tree);
    warnings.extend(match args {
        Rename::Kind(args) => args.to.unusual(),
        Rename::Version(args) => args.to.unusual(),
        Rename::Group(_) => None,
    });
    warnings.extend(of_cluster);
    Ok(renamed.desired(after, changes, warnings))
}

/// The error for what PROJECT does not have, or has only from others: the typed group, and `rest` after it, with the `kind` if one was typed.
/// `named` returns the options for what can be renamed.
fn unknown(
    project: &Project,
    typed: Option<&Group>,
    kind: Option<&Kind>,
    rest: &str,
    is_of_others: bool,
    named: fn(&Resource) -> String,
) -> Error {
    let group = match typed {
        Some(group) if is_of_others => group.to_string(),
        typed => project.qualified_group(typed),
    };
    let name = format!("{group}{rest}");
    // Those of a similar kind, or of the same group, first.
    let mut all: Vec<&Resource> = project.apis().collect();
    all.sort_by_key(|api| {
        let misspelt = kind.and_then(|kind| misspelt(api, kind));
        (misspelt.is_none(), misspelt, api.group.as_ref() != typed)
    });
    let mut existing: Vec<String> = all.into_iter().map(named).collect();
    existing.dedup();
    match is_of_others {
        true => RenameError::NotOwn { name, existing },
        false => RenameError::Unknown { name, existing },
    }
    .into()
}

/// Refuses a new kind whose types already exist in the project's code.
fn check_types(words: &RenameMap, tree: &Tree) -> Result<()> {
    for (path, text) in module_moves::sources(tree) {
        let code = Code::read(text);
        let mut names = (0..code.len()).filter(|&at| code.is_word(at));
        let taken = names.find(|&at| path.ends_with(".rs") && words.is_new_type(code.word(at)));
        if let Some(at) = taken {
            let (name, path) = (code.word(at).to_owned(), path.to_owned());
            return Err(RenameError::NameInUse { name, path }.into());
        }
    }
    Ok(())
}

/// The changes that remove the CRDs of renamed kinds: `kbr manifests` generates them again.
fn crds(before: &Project, after: &Project, tree: &Tree) -> Vec<Change> {
    let own = changed(before, after).filter(|(old, _)| old.is_own());
    let files: BTreeSet<String> = own.map(|(old, _)| storage::crd_file(old)).collect();
    let changes = files.iter().filter_map(|path| generated(path, tree));
    changes.collect()
}

/// Refuses new names that are impossible in the project `beside`.
fn refused(before: &Project, after: &Project, beside: &Project) -> Result<()> {
    let mut errors = Vec::new();
    let mut others = after.clone();
    let both = before.resources.iter().zip(&after.resources);
    for (it, (old, new)) in others.resources.iter_mut().zip(both) {
        if old.gvk() != new.gvk() {
            it.controllers.clear();
        }
    }
    for (old, new) in changed(before, after) {
        errors.extend(clashes::check_names(beside, new).err());
        errors.extend(clashes::check_clashes(beside, new).err());
        for name in &new.controllers {
            let taken = clashes::check_controller(&others, new, name.as_ref());
            errors.extend(taken.err());
            let mut all = others.resources.iter_mut();
            if let Some(it) = all.find(|it| it.gvk() == new.gvk()) {
                it.controllers.push(name.clone());
            }
        }
        let webhooks = new.webhooks();
        let mut admissions = Admission::ALL.to_vec();
        admissions.retain(|it| webhooks.has(*it));
        let refused = clashes::refused_admissions(after, old, new, &admissions, true);
        errors.extend(refused);
    }
    cannot_be(&errors)
}

/// The reasons why a name is impossible, if there are any, each once.
fn cannot_be(errors: &[Error]) -> Result<()> {
    let mut reasons: Vec<String> = errors.iter().map(Error::to_string).collect();
    reasons.dedup();
    let refusal = |reason| RenameError::CannotBe { reason };
    Error::all(reasons.into_iter().map(refusal))
}

#[cfg(test)]
mod tests;
