//! The files that the scaffolds of two models have both, but not with the same text; and how one of them changes. Pure.

use std::collections::BTreeSet;

use crate::commands::error::Result;
use crate::commands::initial::rendering;
use crate::commands::update::error::UpdateError;
use crate::evolve::{Rerendered, carried, renamed, with_line_ends_of, with_lines_of};
use crate::layout;
use crate::plan::Change;
use crate::project::Project;
use crate::rendered::{Rendered, hash, normalized};
use crate::scaffold;
use crate::tree::Tree;

/// The texts of a file that is rendered differently now: what kbr rendered, what the owner has, and what kbr renders now,
/// all of them with the new names and with the same lines above markers.
pub struct Texts<'a> {
    pub base: &'a str,
    pub ours: &'a str,
    pub new: &'a str,
}

/// Carries the owner's edits of files over, and remembers where that was impossible.
pub struct Carrier<'a> {
    before: &'a Project,
    known: Rendered,
    tree: &'a Tree,
    /// Whether names change.
    is_rename: bool,
    /// Files in which the scaffold and their owner have changed the same lines.
    pub conflicts: Vec<String>,
    /// Edited files that an earlier kbr rendered, so that their base is not known.
    outdated: Vec<String>,
}

impl<'a> Carrier<'a> {
    pub fn new(before: &'a Project, tree: &'a Tree, is_rename: bool) -> Self {
        Self {
            before,
            known: scaffold::rendered(before),
            tree,
            is_rename,
            conflicts: Vec::new(),
            outdated: Vec::new(),
        }
    }

    /// The new text of the file that was at `from` and rendered as `old`, and is at `to` now.
    pub fn carry(&mut self, [from, to]: [&str; 2], old: &str, texts: &Texts<'_>) -> String {
        let (base, ours, new) = (texts.base, texts.ours, texts.new);
        let was = self.tree.text(from).unwrap_or_default();
        let text = match self.before.files.get(from) {
            Some(recorded) if *recorded == hash(old) => {
                let carry = if self.is_rename { renamed } else { carried };
                carry(base, ours, new).unwrap_or_else(|conflicting| {
                    self.conflicts.push(to.to_owned());
                    conflicting
                })
            }
            // What an earlier release has stored gets no more than the new names.
            Some(_) if from.starts_with(layout::STORED) => with_lines_of(base, ours, new),
            Some(_) if self.known.is_unedited(from, was) => new.to_owned(),
            Some(_) => {
                self.outdated.push(from.to_owned());
                ours.to_owned()
            }
            // The owner had it before kbr.
            None => with_lines_of(base, ours, new),
        };
        with_line_ends_of(was, text)
    }

    /// The files with conflicts; refuses files without a base.
    pub fn end(self) -> Result<Vec<String>> {
        match self.outdated {
            files if files.is_empty() => Ok(self.conflicts),
            files => Err(UpdateError::First { files }.into()),
        }
    }
}

/// The new texts of these files, with the edits of their owner.
pub struct Both {
    pub changes: Vec<Change>,
    /// Files in which the scaffold and their owner have changed the same lines.
    pub conflicts: Vec<String>,
}

/// What changes in the files of both models, except for those in `others`.
pub fn both(
    before: &Project,
    after: &Project,
    tree: &Tree,
    others: &BTreeSet<String>,
) -> Result<Both> {
    let mut carrier = Carrier::new(before, tree, false);
    let mut news = rendering(after);
    let mut changes = Vec::new();
    // What an earlier release has stored never changes.
    let is_fixed = |path: &str| path.starts_with(layout::STORED) || others.contains(path);
    for (path, old) in rendering(before)
        .into_iter()
        .filter(|(path, _)| !is_fixed(path))
    {
        let Some(new) = news.remove(&path).filter(|new| *new != old) else {
            continue;
        };
        let Some(text) = tree.text(&path) else {
            continue;
        };
        // Lines above markers are added and removed by other changes.
        let [base, target] = [&old, &new].map(|it| carrier.known.with_additions(&path, it, text));
        let texts = Texts {
            base: &base,
            ours: &normalized(text),
            new: &target,
        };
        changes.push(Change::Rewrite {
            from: path.clone(),
            text: carrier.carry([&path, &path], &old, &texts),
            path,
            rendered: Some(Rerendered { old, new }),
        });
    }
    let conflicts = carrier.end()?;
    Ok(Both { changes, conflicts })
}
