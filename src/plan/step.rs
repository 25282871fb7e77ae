//! What happens to one file, one change after the other.

use serde::{Deserialize, Serialize};
use similar::TextDiff;
use thiserror::Error;

use super::Change;
use super::error::{Conflict, PlanError};
use crate::evolve::{Rerendered, with_line_ends_of};
use crate::layout;
use crate::marker::ScaffoldMarker;
use crate::rendered::normalized;

/// What happens to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) path: String,
    /// The text when the plan was made; apply refuses to continue if it has changed.
    pub(crate) before: Option<String>,
    /// The new text, or `None` for a file that is removed.
    pub(crate) after: Option<String>,
    pub(crate) outcome: Outcome,
    /// The whole text as kbr rendered it, unless it only edited a user's text; lines may have been inserted since, and
    /// the same plan may have given the file another text.
    pub(super) rendered: Option<String>,
    /// The old path of a file in which names change.
    pub(super) from: Option<String>,
    /// How kbr renders that file, before and after.
    pub(super) rerendered: Option<Rerendered>,
    /// Why the new text is refused, unless the file already has it.
    refused: Option<Why>,
}

/// Why a file cannot be written. The text continues its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum Why {
    #[error("already exists with different content")]
    OtherContent,
    #[error("is a file, but kbr needs a folder there")]
    File,
    #[error("would be generated, but the existing file was not written by kbr")]
    NotGenerated,
    #[error("is a folder")]
    Folder,
    #[error("is a symbolic link, which may lead out of the project")]
    Link,
    #[error("is not a text file")]
    NoText,
}

/// How a step is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome {
    Created,
    Edited,
    Updated,
    Removed,
    Unchanged,
    /// A user's file that exists where kbr would have created one, or that stays where kbr would have
    /// removed it.
    Kept,
}

impl Step {
    pub(crate) fn new(
        path: &str,
        before: Option<&str>,
        after: Option<&str>,
        outcome: Outcome,
    ) -> Self {
        Self {
            path: path.to_owned(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
            outcome,
            rendered: None,
            from: None,
            rerendered: None,
            refused: None,
        }
    }

    /// The old path of a file that changes with the model.
    #[cfg(test)]
    pub(crate) fn from(&self) -> Option<&str> {
        self.from.as_deref()
    }

    /// The diff, as `git apply` and `patch -p1` accept it; empty if nothing changes.
    pub(crate) fn diff(&self) -> String {
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

    /// Applies `change` on top of the earlier changes of this step.
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
            Change::Edit { text, .. } => self.write(text, Outcome::Edited),
            Change::Rewrite {
                from,
                text,
                rendered,
                ..
            } => {
                if from != self.path && self.is_other_than(&text) {
                    self.refused = Some(Why::OtherContent);
                }
                self.from = Some(from);
                self.rerendered = rendered;
                self.write(text, Outcome::Edited);
            }
            Change::Leave { .. } => self.outcome = Outcome::Kept,
        }
        Ok(())
    }

    fn is_other_than(&self, text: &str) -> bool {
        let now = self.after.as_deref();
        now.is_some_and(|now| normalized(now) != normalized(text))
    }

    /// Sets the whole text, as kbr renders it.
    fn render(&mut self, text: String) {
        self.rendered = Some(text.clone());
        let old = self.before.as_deref().unwrap_or_default();
        self.write(with_line_ends_of(old, text), Outcome::Updated);
    }

    fn insert(&mut self, marker: ScaffoldMarker, fragment: &str) -> Result<(), PlanError> {
        let Some(now) = &self.after else {
            return Err(PlanError::FileMissing {
                path: self.path.clone(),
                fragment: fragment.to_owned(),
            });
        };
        // An error about the marker refers to the file as its owner sees it.
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

    /// Sets the new text. A file that is created or updated keeps that outcome when a line is inserted
    /// into it.
    fn write(&mut self, text: String, outcome: Outcome) {
        self.outcome = match self.outcome {
            _ if self.before.as_ref() == Some(&text) => Outcome::Unchanged,
            _ if self.before.is_none() => Outcome::Created,
            Outcome::Updated => Outcome::Updated,
            _ => outcome,
        };
        self.after = Some(text);
    }

    /// Why the file cannot get its new text; `None` if it already has it.
    pub(super) fn conflict(&self) -> Option<Conflict> {
        let why = self.refused.filter(|_| self.after != self.before)?;
        Some(Conflict {
            path: self.path.clone(),
            why,
        })
    }
}

/// Whether the text has the header of the files that kbr owns.
pub(crate) fn is_generated(text: &str) -> bool {
    text.lines()
        .next()
        .is_some_and(|line| line.contains(layout::GENERATED))
}
