//! Carries the owner's edits of a file from what kbr has rendered for one model to what it renders for another. Pure.

use std::collections::BTreeSet;

use crate::commands::error::Result;
use crate::commands::init_files::rendering;
use crate::commands::update::error::UpdateError;
use crate::evolve::{Rerendered, carried, with_line_ends_of, with_lines_of};
use crate::layout;
use crate::plan::Change;
use crate::project::Project;
use crate::rendered::{Rendered, hash, normalized};
use crate::tree::Tree;

/// Carries the owner's edits of files over, and remembers where that was impossible.
pub(super) struct Carrier<'a> {
    before: &'a Project,
    known: &'a Rendered,
    /// What knows the lines above markers that a file has now.
    lines: &'a Rendered,
    tree: &'a Tree,
    /// Files in which the scaffold and their owner have changed the same lines.
    conflicts: Vec<String>,
    /// Edited files that an earlier kbr rendered, so that their base is not known.
    outdated: Vec<String>,
}

impl<'a> Carrier<'a> {
    pub(super) fn new(
        before: &'a Project,
        known: &'a Rendered,
        lines: &'a Rendered,
        tree: &'a Tree,
    ) -> Self {
        Self {
            before,
            known,
            lines,
            tree,
            conflicts: Vec::new(),
            outdated: Vec::new(),
        }
    }

    /// The new text of the file that was at `from`, and is at `to` now, if names change: `base` is what kbr has rendered and
    /// `ours` what the owner has, both with the new names.
    pub(super) fn renamed(
        &mut self,
        from: &str,
        to: &str,
        it: &Rerendered,
        base: &str,
        ours: &str,
    ) -> String {
        self.carry(from, to, it, base, ours, true)
    }

    fn carry(
        &mut self,
        from: &str,
        to: &str,
        it: &Rerendered,
        base: &str,
        ours: &str,
        is_rename: bool,
    ) -> String {
        let was = self.tree.text(from).unwrap_or_default();
        let ours = &*normalized(ours);
        // Lines above markers are added and removed by other changes.
        let base = self.lines.without_additions(to, base);
        let [base, new] = [&*base, &it.new].map(|it| self.lines.with_additions(to, it, ours));
        let text = match self.before.files.get(from) {
            Some(recorded) if *recorded == hash(&it.old) => {
                carried(to, [&base, ours, &new], is_rename).unwrap_or_else(|conflicting| {
                    self.conflicts.push(to.to_owned());
                    conflicting
                })
            }
            // What an earlier release has stored gets no more than the new names.
            Some(_) if from.starts_with(layout::STORED) => with_lines_of(&base, ours, &new),
            Some(_) if self.known.is_unedited(from, was) => new,
            Some(_) => {
                self.outdated.push(from.to_owned());
                ours.to_owned()
            }
            // The owner had it before kbr.
            None => with_lines_of(&base, ours, &new),
        };
        with_line_ends_of(was, text)
    }

    /// What changes in the files that `after` has too, except for those in `others`.
    pub(super) fn both(&mut self, after: &Project, others: &BTreeSet<String>) -> Vec<Change> {
        let mut news = rendering(after);
        let mut changes = Vec::new();
        // What an earlier release has stored never changes.
        let is_fixed = |path: &str| path.starts_with(layout::STORED) || others.contains(path);
        let olds = rendering(self.before).into_iter();
        for (path, old) in olds.filter(|(path, _)| !is_fixed(path)) {
            let new = news.remove(&path).filter(|new| *new != old);
            let (Some(new), Some(text)) = (new, self.tree.text(&path)) else {
                continue;
            };
            let it = Rerendered { old, new };
            changes.push(Change::Rewrite {
                from: path.clone(),
                text: self.carry(&path, &path, &it, &it.old, text, false),
                path,
                rendered: Some(it),
            });
        }
        changes
    }

    /// The files with conflicts; refuses files without a base.
    pub(super) fn end(self) -> Result<Vec<String>> {
        match self.outdated {
            files if files.is_empty() => Ok(self.conflicts),
            files => Err(UpdateError::First { files }.into()),
        }
    }
}
