//! Removes the files and lines that a project no longer needs. Pure.
//!
//! An unedited file is removed, an edited one stays. If the file that stays is a module that contains
//! the owner's modules, or the kustomization of CRDs that lists other files, the line that refers to it
//! stays too, and so on upwards: what the owner added is still part of the project.

use std::collections::BTreeSet;

use crate::commands::desired::resources_of;
use crate::layout;
use crate::marker::{ScaffoldMarker, module_name};
use crate::plan::Change;
use crate::project::Project;
use crate::rust::marker::PREFIXES;
use crate::scaffold::{self, Part, What};
use crate::tree::Tree;

/// The line that deploys `config/crd`.
const CRD_FOLDER: &str = "- ../crd";

/// A line above a marker.
struct InsertedLine {
    path: String,
    marker: ScaffoldMarker,
    fragment: String,
}

/// The parts that are no longer needed, compared with the files.
pub(super) struct Unneeded<'a> {
    files: BTreeSet<String>,
    lines: Vec<InsertedLine>,
    tree: &'a Tree,
    /// Files that stay because their owner edited them.
    edited: BTreeSet<String>,
    /// Files that stay because they refer to what their owner added: the lines that refer to them stay too.
    alive: BTreeSet<String>,
}

impl<'a> Unneeded<'a> {
    /// The parts that `before` needs and `after` does not.
    pub(super) fn of(before: &Project, after: &Project, tree: &'a Tree, force: bool) -> Self {
        let mut unneeded = Self {
            files: BTreeSet::new(),
            lines: Vec::new(),
            tree,
            edited: BTreeSet::new(),
            alive: BTreeSet::new(),
        };
        for Part { path, what } in scaffold::without(scaffold::of(before), &scaffold::of(after)) {
            match what {
                What::File(_) | What::Given(_) => drop(unneeded.files.insert(path)),
                What::Line { marker, fragment } => unneeded.lines.push(InsertedLine {
                    path,
                    marker,
                    fragment,
                }),
            }
        }
        if !force {
            unneeded.spare(before);
        }
        unneeded
    }

    /// The same without the files at these paths, which move.
    pub(super) fn except(mut self, moved: &BTreeSet<String>) -> Self {
        self.files.retain(|path| !moved.contains(path));
        self.edited.retain(|path| !moved.contains(path));
        self
    }

    /// Decides which files stay.
    fn spare(&mut self, before: &Project) {
        let rendered = scaffold::rendered(before);
        let is_edited = |path: &&String| {
            let text = self.tree.text(path);
            text.is_some_and(|text| !rendered.is_unedited(path, text))
        };
        let edited: BTreeSet<String> = self.files.iter().filter(is_edited).cloned().collect();
        let needed = edited.iter().filter(|path| self.has_others(path));
        let mut alive: BTreeSet<String> = needed.cloned().collect();
        // A module that declares a module that stays is needed too.
        loop {
            let names_one = |path: &str| self.lines_of(path).any(|line| names_any(line, &alive));
            let mut files = self.files.iter().filter(|path| self.exists(path));
            let Some(above) = files.find(|path| !alive.contains(*path) && names_one(path)) else {
                break;
            };
            alive.insert(above.clone());
        }
        (self.edited, self.alive) = (edited, alive);
    }

    fn exists(&self, path: &str) -> bool {
        self.tree.entry(path).is_some()
    }

    fn lines_of(&self, path: &str) -> impl Iterator<Item = &InsertedLine> {
        self.lines.iter().filter(move |line| line.path == path)
    }

    /// Whether an edited file may refer to more than what kbr has added to it.
    fn has_others(&self, path: &str) -> bool {
        if self.lines_of(path).next().is_none() {
            return false;
        }
        let left = || self.without_lines(path);
        path.ends_with(".rs")
            || path == layout::CRD_KUSTOMIZATION && !resources_of(&left()).is_empty()
    }

    /// The text of a file without the lines that are no longer needed.
    fn without_lines(&self, path: &str) -> String {
        let text = self.tree.text(path).unwrap_or_default().to_owned();
        self.lines_of(path).fold(text, |text, line| {
            line.marker.remove(&text, &line.fragment).unwrap_or(text)
        })
    }

    /// Whether the project had that line.
    pub(super) fn has_line(&self, path: &str, fragment: &str) -> bool {
        self.lines_of(path).any(|line| line.fragment == fragment)
    }

    /// Removes the files from PROJECT's list, and returns the changes.
    pub(super) fn changes(&self, project: &mut Project) -> Vec<Change> {
        let mut changes = Vec::new();
        for path in &self.files {
            project.files.remove(path);
            let path = path.clone();
            changes.push(if self.stays(&path) {
                Change::Leave { path }
            } else {
                Change::Remove { path }
            });
        }
        let lines = self.lines.iter().filter(|line| self.is_to_take_out(line));
        changes.extend(lines.map(|line| Change::TakeOut {
            path: line.path.clone(),
            marker: line.marker,
            fragment: line.fragment.clone(),
        }));
        changes
    }

    fn stays(&self, path: &str) -> bool {
        self.edited.contains(path) || self.alive.contains(path)
    }

    fn is_to_take_out(&self, line: &InsertedLine) -> bool {
        let is_removed = self.files.contains(&line.path) && !self.stays(&line.path);
        self.exists(&line.path) && !is_removed && !names_any(line, &self.alive)
    }

    /// Whether `kbr manifests` finds markers in a file.
    fn has_markers(&self, path: &str) -> bool {
        let is_source = layout::SOURCES.iter().any(|it| path.starts_with(it));
        let text = self.tree.text(path).unwrap_or_default();
        is_source && PREFIXES.iter().any(|it| text.contains(it))
    }

    /// Warnings about files that stay, and lines that are no longer where kbr put them; `may_force` if the command has
    /// `--force`.
    pub(super) fn warnings(&self, may_force: bool) -> Vec<String> {
        let force = if may_force {
            "; with `--force`, kbr deletes such files too"
        } else {
            ""
        };
        let edited = self.edited.iter().map(|path| if self.alive.contains(path) {
format!(
                "`{path}` was edited, so it stays, and is still part of the project because of what else it declares{force}"
            )
} else {
format!(
                "`{path}` was edited, so it stays, but is no longer part of the project: take out what you need, \
                 and delete it{}{force}",
                if self.has_markers(path) {
                    ", because `kbr manifests` refuses its markers"
                } else {
                    ""
                }
            )
});
        let strays = self.lines.iter().filter(|line| self.is_to_take_out(line));
        let strays = strays.filter_map(|line| {
            let (path, fragment) = (&line.path, &line.fragment);
            let text = self.tree.text(path)?;
            let has_line = text.lines().any(|line| line.trim() == fragment);
            (has_line && line.marker.remove(text, fragment).is_none()).then(|| {
                format!(
                    "`{path}` still has the line `{fragment}`, not directly above `{}`: remove it",
                    line.marker.line()
                )
            })
        });
        edited.chain(strays).collect()
    }
}

/// Whether a line refers to one of these files.
fn names_any(line: &InsertedLine, files: &BTreeSet<String>) -> bool {
    named(&line.path, &line.fragment).is_some_and(|file| files.contains(&file))
}

/// The file that a line in `path` refers to: that of a module, or the kustomization of a folder.
fn named(path: &str, fragment: &str) -> Option<String> {
    if path == layout::DEFAULT_KUSTOMIZATION && fragment == CRD_FOLDER {
        return Some(layout::CRD_KUSTOMIZATION.to_owned());
    }
    let module = module_name(fragment)?;
    let folder = match path.rsplit_once('/') {
        Some((folder, "lib.rs" | "main.rs")) => folder,
        _ => path.strip_suffix(".rs")?,
    };
    Some(format!("{folder}/{module}.rs"))
}
