//! The surroundings of modules that move: lines of the scaffold, and modules that only contain others.
//!
//! A version's or a group's module moves as a whole if everything in it moves. If something stays,
//! or its new place is taken, single modules leave it: then their lines move to other files, and the module
//! around them is added or removed with the scaffold. Pure.

use std::collections::BTreeSet;

use super::Files;
use crate::commands::error::Result;
use crate::commands::moves;
use crate::commands::wanted::insert;
use crate::modules::{MoveError, Moved};
use crate::plan::Change;
use crate::project::Project;
use crate::scaffold::{self, Identity, Part, What};

/// The lines of the scaffold that change.
#[derive(Default)]
pub struct Lines {
    /// Lines that change within their files, before and after.
    pub renamed: Vec<(Part, Part)>,
    removed: Vec<Part>,
    added: Vec<Part>,
}

impl Lines {
    pub fn of(pairs: &[(Part, Part)], before: &Project, after: &Project, files: &Files) -> Self {
        let (existing, wanted) = (scaffold::of(before), scaffold::of(after));
        let existing: BTreeSet<Identity> = existing.iter().map(Part::identity).collect();
        let wanted: BTreeSet<Identity> = wanted.iter().map(Part::identity).collect();
        let mut all = Self::default();
        for (old, new) in pairs {
            let (What::Line { fragment: was, .. }, What::Line { fragment, .. }) =
                (&old.what, &new.what)
            else {
                continue;
            };
            let place = files.get(&old.path).map_or(&old.path, |(to, _)| to);
            let is_in_place = *place == new.path;
            if is_in_place && was == fragment {
                continue;
            }
            let is_removed = !wanted.contains(&old.identity());
            let is_new = !existing.contains(&new.identity());
            if is_in_place && is_removed && is_new {
                all.renamed.push((old.clone(), new.clone()));
                continue;
            }
            all.removed.extend(is_removed.then(|| old.clone()));
            all.added.extend(is_new.then(|| new.clone()));
        }
        all
    }

    /// Removes lines from `files`; returns the other additions and removals.
    pub fn changes(
        &self,
        pairs: &[(Part, Part)],
        (before, after): (&Project, &Project),
        moved: &Moved,
        files: &mut Files,
    ) -> Result<Vec<Change>> {
        for part in &self.removed {
            if let What::Line { marker, fragment } = &part.what
                && let Some((_, text)) = files.get_mut(&part.path)
                && let Some(without) = marker.remove(text, fragment)
            {
                *text = without;
            }
        }
        let mut changes = modules(pairs, before, after, files)?;
        for part in &self.added {
            if let What::Line { marker, fragment } = &part.what {
                let owners = moves::declaration(moved, &part.path, fragment);
                changes.push(insert(&part.path, *marker, owners.unwrap_or(fragment)));
            }
        }
        Ok(changes)
    }
}

/// Adds modules that now contain others, and removes those that no longer do; refuses to remove a module
/// that contains code of the user.
fn modules(
    pairs: &[(Part, Part)],
    before: &Project,
    after: &Project,
    files: &mut Files,
) -> Result<Vec<Change>> {
    let wanted = scaffold::of(after);
    let wanted: BTreeSet<&str> = wanted.iter().map(|part| part.path.as_str()).collect();
    let mut taken: BTreeSet<String> = files.values().map(|(to, _)| to.clone()).collect();
    let mut changes = Vec::new();
    for (old, new) in pairs {
        let (Some(scaffolded), Some((place, text))) = (old.text(before), files.get(&old.path))
        else {
            continue;
        };
        if *place == new.path {
            continue;
        }
        if taken.insert(new.path.clone()) {
            changes.extend(new.change(after, false));
        }
        if wanted.contains(old.path.as_str()) {
            continue;
        }
        if *text != scaffolded {
            let path = old.path.clone();
            return Err(MoveError::Edited { path }.into());
        }
        files.remove(&old.path);
        changes.push(Change::Remove {
            path: old.path.clone(),
        });
    }
    Ok(changes)
}
