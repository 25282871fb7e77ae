//! What is around modules that move: lines of the scaffold, and modules that only hold others.
//!
//! A version's or a group's module moves as a whole where all that is in it does. Where something stays,
//! or its new place is taken, single modules leave it: then their lines change files, and the module
//! around them comes or goes with the scaffold. Pure.

use crate::modules::MoveError;
use std::collections::BTreeSet;

use crate::commands::error::Result;
use crate::modules::Moved;
use crate::plan::Change;
use crate::project::Project;
use crate::scaffold::{self, Identity, Part, What};

use super::Files;
use crate::commands::moves;
use crate::commands::wanted::insert;

/// The lines of the scaffold that change.
#[derive(Default)]
pub struct Lines {
    /// In their files, what they were and what they become.
    pub renamed: Vec<(Part, Part)>,
    gone: Vec<Part>,
    come: Vec<Part>,
}

impl Lines {
    pub fn of(pairs: &[(Part, Part)], before: &Project, after: &Project, files: &Files) -> Self {
        let (existing, wanted) = (scaffold::of(before), scaffold::of(after));
        let existing: BTreeSet<Identity<'_>> = existing.iter().map(Part::identity).collect();
        let wanted: BTreeSet<Identity<'_>> = wanted.iter().map(Part::identity).collect();
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
            let is_gone = !wanted.contains(&old.identity());
            let is_new = !existing.contains(&new.identity());
            if is_in_place && is_gone && is_new {
                all.renamed.push((old.clone(), new.clone()));
                continue;
            }
            all.gone.extend(is_gone.then(|| old.clone()));
            all.come.extend(is_new.then(|| new.clone()));
        }
        all
    }

    /// Takes removed lines out of `files`; returns what else is added and removed.
    pub fn changes(
        &self,
        pairs: &[(Part, Part)],
        (before, after): (&Project, &Project),
        moved: &Moved,
        files: &mut Files,
    ) -> Result<Vec<Change>> {
        for part in &self.gone {
            if let What::Line { marker, fragment } = &part.what
                && let Some((_, text)) = files.get_mut(&part.path)
                && let Some(without) = marker.remove(text, fragment)
            {
                *text = without;
            }
        }
        let mut changes = modules(pairs, before, after, files)?;
        for part in &self.come {
            if let What::Line { marker, fragment } = &part.what {
                let owners = moves::declaration(moved, &part.path, fragment);
                changes.push(insert(&part.path, *marker, owners.unwrap_or(fragment)));
            }
        }
        Ok(changes)
    }
}

/// The modules that came to hold others, and those that hold none any more; one in which something is
/// of the user's own is refused.
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
