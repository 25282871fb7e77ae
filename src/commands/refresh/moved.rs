//! Files that get other names because something was renamed: their owner's edits follow. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::Refresh;
use crate::evolve::{Rerendered, carried, similarity, with_line_ends_of};
use crate::plan::Change;
use crate::rendered::normalized;

/// How similar a file must be to one that is gone to be the same with other names, between 0 and 1.
const SIMILAR: f32 = 0.6;

/// The folder and the extension of a path.
fn folder(path: &str) -> (&str, &str) {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    (folder, name.rsplit_once('.').map_or("", |(_, it)| it))
}

/// Whether two texts can be that similar: words are compared only then.
fn may_be_similar(one: &str, other: &str) -> bool {
    let (short, long) = (one.len().min(other.len()), one.len().max(other.len()));
    long <= 4 * short
}

impl Refresh<'_> {
    /// Moves the owner's edits of files that are `gone` to the new files that are most similar, which have other names
    /// because something was renamed. Returns the old and the new paths.
    pub(super) fn moved(
        &mut self,
        gone: &[String],
        files: &BTreeMap<String, String>,
    ) -> BTreeSet<String> {
        let is_new = |path: &String| {
            !self.project.files.contains_key(path) && self.tree.entry(path).is_none()
        };
        let new: Vec<&String> = files.keys().filter(|path| is_new(path)).collect();
        let is_edited = |path: &&String| {
            let text = self.tree.text(path);
            text.is_some_and(|it| !self.rendered.is_unedited(path, it))
        };
        let edited: BTreeSet<&String> = gone.iter().filter(is_edited).collect();
        if new.is_empty() || edited.is_empty() {
            return BTreeSet::new();
        }
        let mut olds = BTreeMap::new();
        for path in gone {
            let Some(text) = self.tree.text(path).map(normalized) else {
                continue;
            };
            match self.base(path, &self.project.files[path], &text) {
                Ok(base) => olds.extend(base.map(|it| (path, it.rendered))),
                Err(error) => self.refused.push(error),
            }
        }
        let mut pairs = Vec::new();
        for (from, old) in &olds {
            let places = new.iter().filter(|to| folder(to) == folder(from));
            let places = places.filter(|to| may_be_similar(old, &files[**to]));
            pairs.extend(places.map(|to| (similarity(old, &files[*to]), *from, *to)));
        }
        pairs.retain(|(similarity, ..)| *similarity >= SIMILAR);
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
        let (mut taken, mut moved) = (BTreeSet::new(), BTreeSet::new());
        for (_, from, to) in pairs {
            if taken.contains(from) || taken.contains(to) {
                continue;
            }
            taken.extend([from, to]);
            // Nothing is lost if the others are written as new.
            if edited.contains(from) {
                self.move_one(from, to, &olds[from], &files[to]);
                moved.extend([from.clone(), to.clone()]);
            }
        }
        moved
    }

    /// Moves a file that its owner edited. Only its owner knows whether the new one is for the same.
    fn move_one(&mut self, from: &str, to: &str, old: &str, new: &str) {
        let text = self.tree.text(from).unwrap_or_default();
        let ours = normalized(text);
        let merged = carried(to, [old, &ours, new], true).unwrap_or_else(|conflicting| {
            self.conflicts.push(to.to_owned());
            conflicting
        });
        self.warnings.push(format!(
            "`{to}` has your edits of `{from}`, which it replaces: check that they still fit"
        ));
        self.changes.push(Change::Rewrite {
            from: from.to_owned(),
            path: to.to_owned(),
            text: with_line_ends_of(text, merged),
            rendered: Some(Rerendered {
                old: old.to_owned(),
                new: new.to_owned(),
            }),
        });
    }
}
