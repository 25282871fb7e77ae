//! `kbr edit --certificates`: who makes the certificates of the webhooks.
//!
//! The scaffold of one maker is removed and that of the other is added, as by `kbr delete` and `kbr create`. In files
//! that both have, lines that differ are replaced; what their owner wrote stays. Pure.

use std::collections::BTreeMap;

use crate::commands::initial;
use crate::commands::lines;
use crate::commands::unneeded::Unneeded;
use crate::commands::wanted::{Wanted, added, generated};
use crate::layout;
use crate::plan::Change;
use crate::project::{Certificates, Project};
use crate::scaffold;
use crate::tree::Tree;

/// The project with that maker, and the changes to its files.
pub fn plan(project: &Project, certificates: Certificates, tree: &Tree) -> Wanted {
    let mut after = project.clone();
    after.certificates = certificates;
    let mut changes = added(&after, &scaffold::of(project), &[], false);
    let unneeded = Unneeded::of(project, &after, tree, false);
    changes.extend(unneeded.changes(&mut after));
    if unneeded.has_line(layout::WEBHOOK_KUSTOMIZATION, scaffold::CERTIFICATES_LINE) {
        changes.extend(generated(layout::CERTIFICATES_ROLE, tree));
    }
    changes.extend(rewritten(project, &after, tree));
    Wanted::of(after, changes, unneeded.warnings())
}

/// The files that both have, with other lines.
fn rewritten(before: &Project, after: &Project, tree: &Tree) -> Vec<Change> {
    let texts = |project: &Project| {
        let parts = scaffold::of(project).into_iter();
        let parts = parts.filter_map(|part| Some((part.path.clone(), part.text(project)?)));
        let texts: BTreeMap<_, _> = parts.chain(initial::texts(project)).collect();
        texts
    };
    let news = texts(after);
    let both = texts(before).into_iter().filter_map(|(path, old)| {
        let new = news.get(&path)?;
        let text = tree.text(&path).filter(|_| old != *new)?;
        let text = match text == old {
            true => new.clone(),
            false => lines::with_changes(text, &old, new, false),
        };
        let from = path.clone();
        Some(Change::Rewrite { from, path, text })
    });
    both.collect()
}

#[cfg(test)]
mod tests;
