//! What is made from `config/` for others to install, a chart or a bundle, with the edits of its owner.
//!
//! PROJECT records what kbr wrote last, so that an edited file is merged as by `kbr update`. Pure, except for
//! [`earlier`].

pub mod error;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use error::PackagedError;

use crate::commands::error::Result;
use crate::commands::merge::{has_conflict, merged, with_line_ends_of};
use crate::commands::wanted::{Wanted, create, rewrite};
use crate::layout::UPDATE_BESIDE;
use crate::plan::Change;
use crate::project::Project;
use crate::rendered::{hash, normalized};
use crate::toolchain::git;
use crate::tree::Tree;

/// Returns the text of a file with that hash that kbr has rendered earlier.
pub type Earlier<'a> = &'a dyn Fn(&str, &str) -> Option<String>;

/// Path and text of each file.
pub type Files = BTreeMap<String, String>;

/// What is made.
#[derive(Debug, Clone, Copy)]
pub struct Package {
    /// The command that makes it, which is also what it is called.
    pub command: &'static str,
    /// Whether a path belongs to it.
    pub is_part: fn(&str) -> bool,
    /// The files and folders, ending in `/`, that it is made from.
    pub inputs: &'static [&'static str],
}

/// The changes, and where they cannot be merged.
#[derive(Debug)]
pub struct Planned {
    pub wanted: Wanted,
    /// Files in which kbr and their owner have changed the same lines.
    pub conflicts: Vec<String>,
}

/// Refuses files with conflicts of an earlier merge.
pub fn resolved(package: Package, project: &Project, tree: &Tree) -> Result<()> {
    let recorded = recorded(package, project);
    let unresolved = recorded.iter();
    let unresolved = unresolved.filter(|path| tree.text(path).is_some_and(has_conflict));
    let files: Vec<String> = unresolved.cloned().collect();
    match files.is_empty() {
        true => Ok(()),
        false => Err(PackagedError::new(package, files).into()),
    }
}

/// Brings the files up to date; `next` is the next command to type.
pub fn plan(
    package: Package,
    project: Project,
    tree: &Tree,
    files: &Files,
    earlier: Earlier<'_>,
    next: &'static str,
) -> Planned {
    let recorded = recorded(package, &project);
    let mut update = Update {
        package,
        project,
        tree,
        earlier,
        changes: Vec::new(),
        warnings: Vec::new(),
        conflicts: Vec::new(),
    };
    for (path, text) in files {
        update.file(path, text);
    }
    for path in recorded.iter().filter(|path| !files.contains_key(*path)) {
        update.take_away(path);
    }
    Planned {
        wanted: Wanted {
            changes: update.changes,
            project: Some(update.project),
            warnings: update.warnings,
            next,
        },
        conflicts: update.conflicts,
    }
}

/// The text of a file with that hash, from git's history. Once an edited file has been merged, no commit has
/// what kbr rendered, so it is rendered again from the commit whose PROJECT has the hash.
pub fn earlier(
    package: Package,
    root: &Path,
    path: &str,
    recorded: &str,
    files: &dyn Fn(&Project, &Tree) -> Option<Files>,
) -> Option<String> {
    let is_it = |text: &str| hash(text) == recorded;
    git::earlier(root, path, &is_it).or_else(|| {
        git::earlier_project(root, |commit, project| {
            let project = Project::parse(project).ok()?;
            let is_recorded = project.files.get(path).is_some_and(|it| it == recorded);
            let inputs = is_recorded.then(|| commit.files(package.inputs))??;
            let tree = inputs
                .iter()
                .map(|(path, text)| (&**path, &**text))
                .collect();
            let mut rendered = files(&project, &tree)?;
            rendered.remove(path).filter(|text| is_it(text))
        })
    })
}

/// The files that kbr has written.
fn recorded(package: Package, project: &Project) -> Vec<String> {
    let files = project.files.keys();
    files
        .filter(|path| (package.is_part)(path))
        .cloned()
        .collect()
}

struct Update<'a> {
    package: Package,
    project: Project,
    tree: &'a Tree,
    earlier: Earlier<'a>,
    changes: Vec<Change>,
    warnings: Vec<String>,
    conflicts: Vec<String>,
}

impl Update<'_> {
    /// Brings one file up to date.
    fn file(&mut self, path: &str, new: &str) {
        let new_hash = hash(new);
        let recorded = self.project.files.get(path).cloned();
        let text = self.tree.text(path).map(normalized);
        match (recorded, text) {
            (Some(recorded), _) if recorded == new_hash => {}
            (None, None) if self.tree.entry(path).is_none() => {
                self.changes.push(create(path, new.to_owned(), false));
            }
            (Some(_), None) if self.tree.entry(path).is_none() => self
                .warnings
                .push(format!("`{path}` was deleted, and stays deleted")),
            (Some(recorded), Some(text)) if recorded == hash(&text) => {
                self.changes.push(create(path, new.to_owned(), true));
            }
            (Some(recorded), Some(text)) => self.merge(path, &recorded, &text, new),
            (None, Some(text)) if text == new => {}
            (None, Some(_)) => self.beside(path, new, "was not written by kbr"),
            (_, None) => self
                .warnings
                .push(format!("`{path}` is not a text file, and stays as it is")),
        }
        self.project.files.insert(path.to_owned(), new_hash);
    }

    /// Merges what has changed into an edited file.
    fn merge(&mut self, path: &str, recorded: &str, text: &str, new: &str) {
        let Some(base) = (self.earlier)(path, recorded) else {
            let why = "was edited, and the text that kbr wrote is not in git's history";
            self.beside(path, new, why);
            return;
        };
        let text = merged(&base, text, new).unwrap_or_else(|conflicting| {
            self.conflicts.push(path.to_owned());
            conflicting
        });
        let old = self.tree.text(path).unwrap_or_default();
        self.changes
            .push(rewrite(path, with_line_ends_of(old, text)));
    }

    /// Writes the new text of a file next to that of the owner.
    fn beside(&mut self, path: &str, new: &str, why: &str) {
        let beside = format!("{path}{UPDATE_BESIDE}");
        self.warnings.push(format!(
            "`{path}` {why}: copy what is new from `{beside}`, then delete it"
        ));
        self.changes.push(create(beside, new.to_owned(), true));
    }

    /// Removes a file that is no longer made.
    fn take_away(&mut self, path: &str) {
        let text: Option<Cow<'_, str>> = self.tree.text(path).map(normalized);
        let recorded = self.project.files.remove(path);
        match text {
            Some(text) if recorded == Some(hash(&text)) => {
                self.changes.push(Change::Remove {
                    path: path.to_owned(),
                });
            }
            Some(_) => self.warnings.push(format!(
                "`{path}` is no longer a part of the {}, and stays because it was edited",
                self.package.command
            )),
            None => {}
        }
    }
}
