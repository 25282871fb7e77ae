//! Files that get other names because something was renamed: what their owner did to them follows. Pure.

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

impl Refresh<'_> {
    /// Moves what its owner did to files that are `gone` to the new ones that are most similar, which have other names
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
        let mut moved = BTreeSet::new();
        if new.is_empty() {
            return moved;
        }
        let mut olds = BTreeMap::new();
        for path in gone {
            let recorded = &self.project.files[path];
            let text = self.tree.text(path).map(normalized);
            match self.base(path, recorded, text.as_deref().unwrap_or_default()) {
                Ok(base) => olds.extend(base.map(|it| (path, it.rendered))),
                Err(_) if text.is_none() => {}
                Err(error) => self.refused.push(error),
            }
        }
        let mut pairs = Vec::new();
        for (from, old) in &olds {
            let places = new.iter().filter(|to| folder(to) == folder(from));
            pairs.extend(places.map(|to| (similarity(old, &files[*to]), *from, *to)));
        }
        pairs.retain(|(similarity, ..)| *similarity >= SIMILAR);
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut taken = BTreeSet::new();
        for (_, from, to) in pairs {
            let text = self.tree.text(from);
            let is_unedited = text.is_some_and(|it| self.rendered.is_unedited(from, it));
            if taken.contains(from) || taken.contains(to) {
                continue;
            }
            taken.extend([from, to]);
            // Nothing is lost if it is written as new.
            if !is_unedited {
                self.move_one(from, to, &olds[from], &files[to]);
                moved.extend([from.clone(), to.clone()]);
            }
        }
        moved
    }

    /// Moves a file that its owner edited or deleted.
    fn move_one(&mut self, from: &str, to: &str, old: &str, new: &str) {
        let Some(text) = self.tree.text(from) else {
            self.warnings
                .push(format!("`{to}` was deleted, and stays deleted"));
            self.project.files.remove(from);
            let hash = self.rendered.hash(to, new);
            self.project.files.insert(to.to_owned(), hash);
            return;
        };
        let ours = normalized(text);
        let merged = carried(to, [old, &ours, new], true).unwrap_or_else(|conflicting| {
            self.conflicts.push(to.to_owned());
            conflicting
        });
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
