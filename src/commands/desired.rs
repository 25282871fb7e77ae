//! The changes that a command wants, and those that most commands have in common.

use serde_json::Value;

use crate::layout;
use crate::manifests::json::list_of;
use crate::marker::ScaffoldMarker;
use crate::plan::{Change, is_generated};
use crate::project::Project;
use crate::scaffold::{self, Part};
use crate::tree::Tree;
use crate::yaml;

/// The changes that a command wants, before they are compared with the files.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Desired {
    pub(crate) changes: Vec<Change>,
    /// The new PROJECT; `None` if it stays as it is.
    pub(crate) project: Option<Project>,
    /// Warnings, worded so that they are true before and after the plan is carried out.
    pub(crate) warnings: Vec<String>,
    /// Files in which the scaffold and their owner have changed the same lines: their texts have both.
    pub(crate) conflicts: Vec<String>,
    /// The next command to type.
    pub(crate) next: &'static str,
}

impl Desired {
    /// The changes of a command that changes PROJECT, so that the manifests must be generated again.
    pub(crate) fn of(project: Project, changes: Vec<Change>, warnings: Vec<String>) -> Self {
        Self {
            changes,
            project: Some(project),
            warnings,
            conflicts: Vec::new(),
            next: "kbr manifests",
        }
    }
}

/// The `resources` of a kustomization of the project, which was read before the command began.
pub(crate) fn resources_of(kustomization: &str) -> Vec<Value> {
    let read = yaml::read(layout::CONFIG, kustomization).unwrap_or_default();
    let lists = read.iter().map(|it| list_of(it, "resources"));
    lists.flatten().cloned().collect()
}

/// Creates a file that belongs to the user.
pub(crate) fn create(path: impl Into<String>, text: String, force: bool) -> Change {
    Change::Create {
        path: path.into(),
        text,
        force,
    }
}

/// The changes from the scaffold `before` to that of `project`; the files of `rewritten` are written
/// again.
pub(crate) fn added(
    project: &Project,
    before: &[Part],
    rewritten: &[Part],
    force: bool,
) -> Vec<Change> {
    let new = scaffold::without(scaffold::of(project), before);
    let is_old = |part: &&Part| !new.iter().any(|it| it.identity() == part.identity());
    let again = rewritten.iter().filter(is_old);
    let all = new.iter().chain(again);
    all.filter_map(|part| part.change(project, force)).collect()
}

/// Inserts a line above a marker.
pub(crate) fn insert(path: &str, marker: ScaffoldMarker, fragment: impl Into<String>) -> Change {
    Change::Insert {
        path: path.to_owned(),
        marker,
        fragment: fragment.into(),
    }
}

/// Changes the text of a file of the user in place.
pub(crate) fn rewrite(path: &str, text: String) -> Change {
    Change::Edit {
        path: path.to_owned(),
        text,
    }
}

/// Whether one of these changes removes a file.
pub(crate) fn is_removed(path: &str, changes: &[Change]) -> bool {
    let removes = |change: &Change| matches!(change, Change::Remove { path: it } if it == path);
    changes.iter().any(removes)
}

/// The change that removes a file that `kbr manifests` generated and would not generate again.
pub(crate) fn generated(path: &str, tree: &Tree) -> Option<Change> {
    let path = path.to_owned();
    Some(if is_generated(tree.text(&path)?) {
        Change::Remove { path }
    } else {
        Change::Leave { path }
    })
}
