//! What happens to one file, one change after the other.

use super::error::PlanError;
use serde::{Deserialize, Serialize};
use similar::TextDiff;

use crate::layout;
use crate::marker::ScaffoldMarker;
use crate::tree::Tree;

use super::Change;
use super::conflict::{Conflict, Why};

/// What happens to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub path: String,
    /// The text that the plan saw; apply refuses to go on when it is another by then.
    pub before: Option<String>,
    /// The text to be, or nothing for a file that goes.
    pub after: Option<String>,
    pub outcome: Outcome,
    /// Whether the text is all kbr's, and not a user's with lines of kbr's in it.
    pub(super) is_rendered: bool,
    /// Where the file was, if it moves or is rewritten.
    pub(super) from: Option<String>,
    /// What prevents the text, unless it is already there.
    refused: Option<Why>,
}

/// How a step is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Created,
    Edited,
    Updated,
    Removed,
    Unchanged,
    /// A file of the user's stands where kbr would have put one, or stays where kbr would have
    /// removed it.
    Kept,
}

impl Step {
    pub(super) fn untouched(path: &str, tree: &Tree) -> Self {
        let text = tree.text(path).map(str::to_owned);
        Self {
            path: path.to_owned(),
            before: text.clone(),
            after: text,
            outcome: Outcome::Unchanged,
            is_rendered: false,
            from: None,
            refused: None,
        }
    }

    /// A file that leaves its place.
    pub(super) fn removed(path: &str, tree: &Tree) -> Self {
        Self {
            after: None,
            outcome: Outcome::Removed,
            ..Self::untouched(path, tree)
        }
    }

    /// A step that another kbr has begun, and that is carried out: its texts are not shown.
    pub fn carried_out(path: String, outcome: Outcome) -> Self {
        Self {
            path,
            before: Some(String::new()),
            after: Some(String::new()),
            outcome,
            ..Self::untouched("", &Tree::default())
        }
    }

    /// A step as the tests of other modules want it.
    #[cfg(test)]
    pub fn of(path: &str, before: Option<&str>, after: Option<&str>) -> Self {
        Self {
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
            outcome: Outcome::Updated,
            ..Self::untouched(path, &Tree::default())
        }
    }

    /// What changes, as `git apply` and `patch -p1` accept it; empty if nothing does.
    pub fn diff(&self) -> String {
        let name = |side: &str, text: &Option<String>| match text {
            Some(_) => format!("{side}/{}", self.path),
            None => "/dev/null".to_owned(),
        };
        let before = self.before.as_deref().unwrap_or_default();
        let after = self.after.as_deref().unwrap_or_default();
        TextDiff::from_lines(before, after)
            .unified_diff()
            .header(&name("a", &self.before), &name("b", &self.after))
            .to_string()
    }

    /// Puts `change` on top of what this step is so far.
    pub(super) fn change(&mut self, change: Change) -> Result<(), PlanError> {
        match change {
            Change::Create { text, force, .. } => {
                if !force && self.is_other_than(&text) {
                    self.refused = Some(Why::OtherContent);
                }
                self.render(text);
            }
            Change::Keep { text, .. } if self.is_other_than(&text) => {
                self.outcome = Outcome::Kept;
            }
            Change::Keep { text, .. } => self.render(text),
            Change::Generate { text, .. } => {
                if self.is_other_than(&text) && !self.after.as_deref().is_some_and(is_generated) {
                    self.refused = Some(Why::NotGenerated);
                }
                self.render(text);
            }
            Change::Insert {
                marker, fragment, ..
            } => self.insert(marker, &fragment)?,
            Change::TakeOut {
                marker, fragment, ..
            } => {
                let now = self.after.as_deref().unwrap_or_default();
                if let Some(text) = marker.remove(now, &fragment) {
                    self.write(text, Outcome::Edited);
                }
            }
            Change::Remove { .. } => {
                self.after = None;
                self.outcome = match self.before {
                    Some(_) => Outcome::Removed,
                    None => Outcome::Unchanged,
                };
            }
            Change::Rewrite { from, text, .. } => {
                if from != self.path && self.is_other_than(&text) {
                    self.refused = Some(Why::OtherContent);
                }
                self.from = Some(from);
                self.write(text, Outcome::Edited);
            }
            Change::Leave { .. } => self.outcome = Outcome::Kept,
        }
        Ok(())
    }

    fn is_other_than(&self, text: &str) -> bool {
        self.after.as_deref().is_some_and(|now| now != text)
    }

    /// The whole text as kbr renders it.
    fn render(&mut self, text: String) {
        self.is_rendered = true;
        self.write(text, Outcome::Updated);
    }

    fn insert(&mut self, marker: ScaffoldMarker, fragment: &str) -> Result<(), PlanError> {
        let Some(now) = &self.after else {
            return Err(PlanError::FileMissing {
                path: self.path.clone(),
                fragment: fragment.to_owned(),
            });
        };
        // What is told of the marker is told of the file as its owner sees it.
        let as_found = |error| {
            let found = self.before.as_deref();
            found
                .and_then(|text| marker.insert(&self.path, text, fragment).err())
                .unwrap_or(error)
        };
        let inserted = marker.insert(&self.path, now, fragment);
        if let Some(text) = inserted.map_err(as_found)? {
            self.write(text, Outcome::Edited);
        }
        Ok(())
    }

    /// A file that is created or rewritten stays that when a line is inserted into it.
    fn write(&mut self, text: String, outcome: Outcome) {
        self.outcome = match self.outcome {
            _ if self.before.as_ref() == Some(&text) => Outcome::Unchanged,
            _ if self.before.is_none() => Outcome::Created,
            Outcome::Updated => Outcome::Updated,
            _ => outcome,
        };
        self.after = Some(text);
    }

    /// Why the file cannot become what is wanted; if it already is, nothing is in the way.
    pub(super) fn conflict(&self) -> Option<Conflict> {
        let why = self.refused.filter(|_| self.after != self.before)?;
        Some(Conflict {
            path: self.path.clone(),
            why,
        })
    }
}

/// Whether the text carries the header of the files that kbr owns.
pub fn is_generated(text: &str) -> bool {
    text.lines()
        .next()
        .is_some_and(|line| line.contains(layout::GENERATED))
}
