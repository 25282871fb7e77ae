//! The surroundings of files that move: lines of the scaffold, and modules that only contain others.
//!
//! A version's or a group's module moves as a whole if everything in it moves. If something stays,
//! or its new place is taken, single modules leave it: then their lines move to other files, and the module
//! around them is added or removed with the scaffold. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::RenamedFiles;
use crate::commands::desired::insert;
use crate::commands::error::Result;
use crate::commands::line_edits::RenamedLine;
use crate::commands::module_moves;
use crate::modules::{MoveError, Moved};
use crate::plan::Change;
use crate::project::Project;
use crate::scaffold::{self, Part, What};

/// How the scaffold differs from the old one with its files at their new places.
pub(super) struct Surroundings {
    /// Lines that change within their files, by the old path.
    pub(crate) renamed: BTreeMap<String, Vec<RenamedLine>>,
    removed: Vec<Part>,
    added: Vec<Part>,
}

impl Surroundings {
    pub(super) fn of(
        pairs: &[(Part, Part)],
        before: &Project,
        after: &Project,
        files: &RenamedFiles,
    ) -> Self {
        let moved = |part: &Part| Part {
            path: match files.get(&part.path) {
                Some((place, _)) => place.clone(),
                None => part.path.clone(),
            },
            what: part.what.clone(),
        };
        let existing: Vec<Part> = scaffold::of(before).iter().map(moved).collect();
        let desired = scaffold::of(after);
        let removed = scaffold::without(existing.clone(), &desired);
        let added = scaffold::without(desired, &existing);
        let [gone, new] = [&removed, &added]
            .map(|parts| parts.iter().map(Part::identity).collect::<BTreeSet<_>>());
        let is_renamed = |(old, now): &(Part, Part)| {
            let was = moved(old);
            was.path == now.path && gone.contains(&was.identity()) && new.contains(&now.identity())
        };
        let mut renamed: BTreeMap<String, Vec<RenamedLine>> = BTreeMap::new();
        let (mut olds, mut news) = (Vec::new(), Vec::new());
        for (old, new) in pairs.iter().filter(|pair| is_renamed(pair)) {
            if let What::Line { marker, fragment } = &old.what
                && let What::Line { fragment: new, .. } = &new.what
            {
                renamed
                    .entry(old.path.clone())
                    .or_default()
                    .push(RenamedLine {
                        marker: *marker,
                        old: fragment.clone(),
                        new: new.clone(),
                    });
            }
            olds.push(moved(old));
            news.push(new.clone());
        }
        Self {
            renamed,
            removed: scaffold::without(removed, &olds),
            added: scaffold::without(added, &news),
        }
    }

    /// Removes lines and empty modules from `files`; returns the other additions and removals. Refuses to remove a
    /// module that contains code of the user. A file whose old one at one of `places` was deleted is not added.
    pub(super) fn changes(
        &self,
        before: &Project,
        after: &Project,
        places: &[(String, String)],
        moved: &Moved,
        files: &mut RenamedFiles,
    ) -> Result<Vec<Change>> {
        for part in &self.removed {
            let texts = files.values_mut().filter(|(path, _)| *path == part.path);
            for (_, text) in texts {
                if let What::Line { marker, fragment } = &part.what
                    && let Some(without) = marker.remove(text, fragment)
                {
                    *text = without;
                }
            }
        }
        let mut changes = Vec::new();
        let taken: BTreeSet<&str> = files.values().map(|(to, _)| to.as_str()).collect();
        let is_missing = |path: &str| {
            let mut from = places.iter().filter(|(_, to)| to == path).peekable();
            let is_new = from.peek().is_none();
            is_new || !taken.contains(path) && from.any(|(from, _)| files.contains_key(from))
        };
        // The file of a module comes before the lines in it.
        for part in &self.added {
            let path = part.path.as_str();
            if let What::Line { marker, fragment } = &part.what {
                let owners = module_moves::declaration(moved, path, fragment);
                changes.push(insert(path, *marker, owners.unwrap_or(fragment)));
            } else if is_missing(path) {
                changes.extend(part.change(after, false));
            }
        }
        for part in &self.removed {
            let path = part.path.clone();
            if let Some(scaffolded) = part.text(before)
                && let Some((place, text)) = files.get(&path)
                && *place == path
            {
                if *text != scaffolded {
                    return Err(MoveError::Edited { path }.into());
                }
                files.remove(&path);
                changes.push(Change::Remove { path });
            }
        }
        Ok(changes)
    }
}
