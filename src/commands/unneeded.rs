//! Removes the files and lines that a project no longer needs. Pure.
//!
//! An unedited file is removed, an edited one stays. If the file that stays is a module that contains
//! the owner's modules, or the kustomization of CRDs that lists other files, the line that refers to it
//! stays too, and so on upwards: what the owner added is still part of the project.

use std::collections::BTreeSet;

use crate::layout;
use crate::marker::module_name;
use crate::plan::Change;
use crate::project::Project;
use crate::rust::marker::PREFIXES;
use crate::scaffold::{self, Part, What};
use crate::tree::Tree;

use crate::commands::wanted::resources_of;

/// The line that deploys `config/crd`.
const CRD_FOLDER: &str = "- ../crd";

/// The parts that are no longer needed, compared with the files.
pub struct Unneeded<'a> {
    parts: Vec<Part>,
    tree: &'a Tree,
    /// Files that stay because their owner edited them.
    edited: BTreeSet<String>,
    /// Files that stay because they refer to what their owner added: the lines that refer to them stay too.
    alive: BTreeSet<String>,
}

impl<'a> Unneeded<'a> {
    /// The parts that `before` needs and `after` does not.
    pub fn of(before: &Project, after: &Project, tree: &'a Tree, force: bool) -> Self {
        let parts = scaffold::without(scaffold::of(before), &scaffold::of(after));
        let mut unneeded = Self {
            parts,
            tree,
            edited: BTreeSet::new(),
            alive: BTreeSet::new(),
        };
        if !force {
            unneeded.spare(before);
        }
        unneeded
    }

    /// The same without the files at these paths, which move.
    pub fn except(mut self, moved: &BTreeSet<String>) -> Self {
        self.parts
            .retain(|part| !is_file(part) || !moved.contains(&part.path));
        self.edited.retain(|path| !moved.contains(path));
        self
    }

    /// Decides which files stay.
    fn spare(&mut self, before: &Project) {
        let rendered = scaffold::rendered(before);
        let is_edited = |path: &&str| {
            let text = self.tree.text(path);
            text.is_some_and(|text| !rendered.is_unedited(path, text))
        };
        let edited = self.files().filter(is_edited).map(str::to_owned);
        let edited: BTreeSet<String> = edited.collect();
        let alive = edited.iter().filter(|path| self.has_others(path));
        let mut alive: BTreeSet<String> = alive.cloned().collect();
        // A module that declares a module that stays is needed too.
        loop {
            let names_one = |path: &str| self.lines_of(path).any(|line| names_any(line, &alive));
            let mut files = self.files();
            let above = files.find(|path| !alive.contains(*path) && names_one(path));
            let Some(above) = above.map(str::to_owned) else {
                break;
            };
            alive.insert(above);
        }
        (self.edited, self.alive) = (edited, alive);
    }

    /// The files that are no longer needed and exist.
    fn files(&self) -> impl Iterator<Item = &str> {
        let files = self.parts.iter().filter(|part| is_file(part));
        let existing = files.filter(|part| self.tree.entry(&part.path).is_some());
        existing.map(|part| &*part.path)
    }

    fn lines_of(&self, path: &str) -> impl Iterator<Item = &Part> {
        let lines = self.parts.iter().filter(|part| !is_file(part));
        lines.filter(move |part| part.path == path)
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
            let What::Line { marker, fragment } = &line.what else {
                return text;
            };
            marker.remove(&text, fragment).unwrap_or(text)
        })
    }

    /// Whether the project had that line.
    pub fn has_line(&self, path: &str, fragment: &str) -> bool {
        self.lines_of(path)
            .any(|part| matches!(&part.what, What::Line { fragment: it, .. } if it == fragment))
    }

    /// Removes the files from PROJECT's list, and returns the changes.
    pub fn changes(&self, project: &mut Project) -> Vec<Change> {
        let mut changes = Vec::new();
        for part in &self.parts {
            let path = part.path.clone();
            if is_file(part) {
                project.files.remove(&path);
                if self.stays(&path) {
                    changes.push(Change::Leave { path });
                } else {
                    changes.push(Change::Remove { path });
                }
            }
        }
        for part in &self.parts {
            let path = part.path.clone();
            if let What::Line { marker, fragment } = &part.what
                && self.is_to_take_out(part)
            {
                changes.push(Change::TakeOut {
                    path,
                    marker: *marker,
                    fragment: fragment.clone(),
                });
            }
        }
        changes
    }

    fn stays(&self, path: &str) -> bool {
        self.edited.contains(path) || self.alive.contains(path)
    }

    fn is_to_take_out(&self, line: &Part) -> bool {
        let is_removed = self.files().any(|path| path == line.path) && !self.stays(&line.path);
        let exists = self.tree.entry(&line.path).is_some();
        exists && !is_removed && !names_any(line, &self.alive)
    }

    /// Whether `kbr manifests` finds markers in a file.
    fn has_markers(&self, path: &str) -> bool {
        let is_source = layout::SOURCES.iter().any(|it| path.starts_with(it));
        let text = self.tree.text(path).unwrap_or_default();
        is_source && PREFIXES.iter().any(|it| text.contains(it))
    }

    /// Warnings about files that stay, and lines that are no longer where kbr put them.
    pub fn warnings(&self) -> Vec<String> {
        let edited = self.edited.iter().map(|path| match self.alive.contains(path) {
            true => format!(
                "`{path}` was edited, so it stays, and is still part of the project because of what else it declares; with `--force`, kbr deletes such files too"
            ),
            false => format!(
                "`{path}` was edited, so it stays, but is no longer part of the project: take out what you need, \
                 and delete it{}; with `--force`, kbr deletes such files too",
                if self.has_markers(path) {
                    ", because `kbr manifests` refuses its markers"
                } else {
                    ""
                }
            ),
        });
        let strays = self.parts.iter().filter(|part| self.is_to_take_out(part));
        let strays = strays.filter_map(|part| {
            let What::Line { marker, fragment } = &part.what else {
                return None;
            };
            let (path, text) = (&part.path, self.tree.text(&part.path)?);
            let has_line = text.lines().any(|line| line.trim() == fragment);
            (has_line && marker.remove(text, fragment).is_none()).then(|| {
                format!(
                    "`{path}` still has the line `{fragment}`, not directly above `{}`: remove it",
                    marker.line()
                )
            })
        });
        edited.chain(strays).collect()
    }
}

fn is_file(part: &Part) -> bool {
    !matches!(part.what, What::Line { .. })
}

/// Whether a line refers to one of these files.
fn names_any(line: &Part, files: &BTreeSet<String>) -> bool {
    let What::Line { fragment, .. } = &line.what else {
        return false;
    };
    named(&line.path, fragment).is_some_and(|file| files.contains(&file))
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
