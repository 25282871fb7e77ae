//! `kbr edit --certificates`: who makes the certificates of the webhooks.
//!
//! The scaffold of one maker is removed and that of the other is added, as by `kbr delete` and `kbr create`. In files
//! that both have, lines that differ are replaced; what their owner wrote stays. Pure.

use std::collections::BTreeSet;

use crate::commands::carrier::Carrier;
use crate::commands::desired::{Desired, added, generated};
use crate::commands::error::Result;
use crate::commands::unneeded::Unneeded;
use crate::layout;
use crate::plan::Change;
use crate::project::{Certificates, Project};
use crate::rendered::hash;
use crate::scaffold;
use crate::tree::Tree;

/// The project with that maker, and the changes to its files.
pub fn plan(project: &Project, certificates: Certificates, tree: &Tree) -> Result<Desired> {
    let mut after = project.clone();
    after.certificates = certificates;
    let mut changes = added(&after, &scaffold::of(project), &[], false);
    // A file that stayed when the certificates had that maker before, because it was edited.
    for change in &mut changes {
        if let Change::Create { path, text, .. } = change
            && tree.entry(path).is_some()
        {
            after.files.insert(path.clone(), hash(text));
            let (path, text) = (path.clone(), text.clone());
            *change = Change::Keep { path, text };
        }
    }
    let unneeded = Unneeded::of(project, &after, tree, false);
    changes.extend(unneeded.changes(&mut after));
    if unneeded.has_line(layout::WEBHOOK_KUSTOMIZATION, scaffold::CERTIFICATES_LINE) {
        changes.extend(generated(layout::CERTIFICATES_ROLE, tree));
    }
    let known = scaffold::rendered(project);
    let mut carrier = Carrier::new(project, [&known, &known], tree);
    changes.extend(carrier.both(&after, &BTreeSet::new()));
    Ok(Desired {
        conflicts: carrier.end()?,
        ..Desired::of(after, changes, unneeded.warnings())
    })
}

#[cfg(test)]
mod tests;
