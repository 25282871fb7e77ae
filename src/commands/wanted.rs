//! What a command wants, and the changes that most of them want.

use crate::marker::ScaffoldMarker;
use crate::plan::Change;
use crate::project::Project;
use crate::scaffold::{self, Part};

/// What a command wants, before it is compared with the files.
#[derive(Debug, PartialEq, Eq)]
pub struct Wanted {
    pub changes: Vec<Change>,
    /// The new PROJECT; `None` if it stays as it is.
    pub project: Option<Project>,
    /// Warnings, in words that are true before and after the plan is carried out.
    pub warnings: Vec<String>,
    /// The next command to type.
    pub next: &'static str,
}

/// What a kustomization has under `resources`: nothing where it cannot be read.
pub fn resources_of(kustomization: &str) -> Vec<serde_yaml::Value> {
    let parsed: serde_yaml::Value = serde_yaml::from_str(kustomization).unwrap_or_default();
    let items = parsed.get("resources").and_then(|list| list.as_sequence());
    items.cloned().unwrap_or_default()
}

/// A file of the user's.
pub fn create(path: impl Into<String>, text: String, force: bool) -> Change {
    Change::Create {
        path: path.into(),
        text,
        force,
    }
}

/// The changes that bring the scaffold from what it was `before` to that of `project`, and write the
/// files of `rewritten` anew.
pub fn added(project: &Project, before: &[Part], rewritten: &[Part], force: bool) -> Vec<Change> {
    let new = scaffold::without(scaffold::of(project), before);
    let again = rewritten.iter().filter(|part| {
        let mut new = new.iter();
        !new.any(|new| new.identity() == part.identity())
    });
    let all = new.iter().chain(again);
    all.filter_map(|part| part.change(project, force)).collect()
}

/// A line above a marker.
pub fn insert(path: &str, marker: ScaffoldMarker, fragment: impl Into<String>) -> Change {
    Change::Insert {
        path: path.to_owned(),
        marker,
        fragment: fragment.into(),
    }
}
