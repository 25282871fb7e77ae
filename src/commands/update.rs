//! `kbr update`: updates a project from an earlier kbr to the scaffold of this kbr.
//!
//! Every file is rendered from PROJECT. If the result has the hash that PROJECT records, the template has not
//! changed, and the file stays unchanged. An unedited file is replaced. Into an edited one, the changes are merged:
//! the base is the text with the recorded hash, from git's history. Pure, except for [`Tools`].

pub mod error;
mod fresh;
mod manifest;
mod text;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::commands::error::{Error, Result};
use crate::error::help_of;
use crate::layout::{self, UPDATE_BESIDE};
use crate::lock::{self, Lock};
use crate::marker::{Inserted, ScaffoldMarker};
use crate::plan::{Change, hash};
use crate::project::Project;
use crate::scaffold::{self, What};
use crate::tree::Tree;
use crate::vendored::{self, Edit};

use crate::commands::init;
use crate::commands::moves::{Format, rewrite};
use crate::commands::wanted::{Wanted, create, insert};

/// Given a path and a predicate, returns a text of that file in git's history that satisfies it.
type Earlier<'a> = &'a dyn Fn(&str, &dyn Fn(&str) -> bool) -> Option<String>;

/// What the plan needs from other programs.
pub struct Tools<'a> {
    pub earlier: Earlier<'a>,
    /// The lock file that cargo generates from these manifests and the existing lock file.
    pub locked: &'a dyn Fn(&BTreeMap<&str, &str>) -> Result<String>,
    pub format: Format<'a>,
}

/// The project as this kbr would have scaffolded it, with the edits of its owner.
pub struct Updated {
    pub wanted: Wanted,
    /// Files in which the scaffold and the owner have changed the same lines.
    pub conflicts: Vec<String>,
}

/// Why there is no base for a merge.
const NOT_IN_GIT: &str = "the text that kbr rendered is not in git's history";

/// The files in which an update left a conflict that is still there.
pub fn unresolved(project: &Project, tree: &Tree) -> Vec<String> {
    let files = project.files.keys();
    let files = files.filter(|path| tree.text(path).is_some_and(text::has_conflict));
    files.cloned().collect()
}

/// The files that an update may change, and the folder of the vendored crate.
pub fn places(project: &Project, tree: &Tree) -> BTreeSet<String> {
    let fresh = fresh::files(project, tree).into_keys();
    let recorded = project.files.keys().cloned();
    let vendored = [layout::VENDORED.to_owned()];
    fresh.chain(recorded).chain(vendored).collect()
}

pub fn plan(project: &Project, tree: &Tree, tools: &Tools<'_>) -> Result<Updated> {
    let fresh = fresh::files(project, tree);
    let mut update = Update {
        lines: fresh::lines(project),
        inserted: scaffold::inserted(project),
        inherited: OnceCell::new(),
        project: project.clone(),
        tree,
        tools,
        changes: Vec::new(),
        warnings: Vec::new(),
        conflicts: Vec::new(),
    };
    for (path, text) in &fresh {
        update.file(path, text);
    }
    update.take_away(&fresh);
    update.vendored();
    update.changes.push(scaffold::crdgen(project));
    update.lock();
    update.project.renew();
    Ok(Updated {
        wanted: Wanted {
            changes: update.changes,
            project: Some(update.project),
            warnings: update.warnings,
            next: "kbr manifests",
        },
        conflicts: update.conflicts,
    })
}

struct Update<'a> {
    lines: BTreeMap<String, Vec<(ScaffoldMarker, String)>>,
    inserted: Inserted,
    /// See [`Update::inherited`]. Only a changed manifest needs it.
    inherited: OnceCell<BTreeSet<String>>,
    project: Project,
    tree: &'a Tree,
    tools: &'a Tools<'a>,
    changes: Vec<Change>,
    warnings: Vec<String>,
    conflicts: Vec<String>,
}

impl<'a> Update<'a> {
    /// The hash of a file without the lines above its markers.
    fn hash(&self, path: &str, text: &str) -> String {
        hash(&self.inserted.taken_out(path, text))
    }

    /// `text` with those lines of the scaffold above its markers that `like` also has. In a project of kbr 0.1,
    /// which had different lines, with all of them.
    fn with_lines_of(&self, path: &str, text: &str, like: &str) -> String {
        let lines = self.lines.get(path).into_iter().flatten();
        let is_kept = |(marker, line): &&(ScaffoldMarker, String)| {
            self.project.is_of_0_1() || marker.remove(like, line).is_some()
        };
        let lines = lines.filter(is_kept);
        lines.fold(text.to_owned(), |text, (marker, line)| {
            let inserted = marker.insert(path, &text, line);
            inserted.ok().flatten().unwrap_or(text)
        })
    }

    /// Brings one file of the scaffold up to date.
    fn file(&mut self, path: &str, new: &str) {
        let new_hash = self.hash(path, new);
        let recorded = self.project.files.get(path).cloned();
        // It contains what an earlier release has stored, which never changes.
        if recorded.is_some() && path.starts_with(layout::STORED) {
            return;
        }
        let text = self.text(path);
        let text = text.as_deref();
        match (recorded, text) {
            (Some(recorded), _) if recorded == new_hash => {}
            (Some(_), None) if self.tree.entry(path).is_none() => {
                self.project.files.insert(path.to_owned(), new_hash);
                self.warnings
                    .push(format!("`{path}` was deleted, and stays deleted"));
            }
            (None, None) if self.tree.entry(path).is_none() => self.add(path, new),
            (Some(recorded), Some(text))
                if recorded == self.hash(path, text) && !self.lacks_inherited(path, new) =>
            {
                let text = self.with_lines_of(path, new, text);
                self.changes.push(create(path, text, true));
            }
            (Some(recorded), Some(text)) => {
                self.merge(path, &recorded, text, new);
                self.project.files.insert(path.to_owned(), new_hash);
            }
            // The owner had it before kbr.
            (None, Some(_)) if init::KEPT.contains(&path) => {}
            (None, Some(text)) => {
                if new_hash != self.hash(path, text) {
                    self.beside(path, new, text, "is yours, and now part of the scaffold");
                }
                self.project.files.insert(path.to_owned(), new_hash);
            }
            (_, None) => self
                .warnings
                .push(format!("`{path}` is not a text file, and stays as it is")),
        }
    }

    /// The text of a file of the project as git stores it.
    fn text(&self, path: &str) -> Option<Cow<'a, str>> {
        self.tree.text(path).map(text::normalized)
    }

    /// Gives a file of the owner another text.
    fn rewrite(&mut self, path: &str, text: String) {
        let old = self.tree.text(path).unwrap_or_default();
        let text = text::with_line_ends_of(old, text);
        self.changes.push(rewrite(path, text));
    }

    /// Writes the new text of a file next to that of the owner.
    fn beside(&mut self, path: &str, new: &str, text: &str, why: &str) {
        let new = self.with_lines_of(path, new, text);
        let beside = format!("{path}{UPDATE_BESIDE}");
        self.warnings.push(format!(
            "`{path}` {why}: copy what is new from `{beside}`, then delete it"
        ));
        self.changes.push(create(beside, new, true));
    }

    /// Dependencies of the workspace that manifests inherit because their owner wrote so.
    fn inherited(&self) -> &BTreeSet<String> {
        self.inherited.get_or_init(|| self.find_inherited())
    }

    fn find_inherited(&self) -> BTreeSet<String> {
        let manifests = self.tree.files().filter(|(path, _)| {
            path.ends_with(layout::MANIFEST) && !path.starts_with(layout::VENDORED)
        });
        let inherited = manifests.flat_map(|(path, text)| {
            let recorded = self.project.files.get(path);
            let base = recorded.and_then(|recorded| self.base(path, recorded, text));
            let old = base.map(|base| manifest::inherited(&base));
            let mut names = manifest::inherited(text);
            names.retain(|name| old.as_ref().is_none_or(|old| !old.contains(name)));
            names
        });
        inherited.collect()
    }

    /// Whether the new text of the workspace's manifest lacks a dependency that is inherited.
    fn lacks_inherited(&self, path: &str, new: &str) -> bool {
        path == layout::MANIFEST && !self.inherited().is_subset(&manifest::shared_names(new))
    }

    /// The text that kbr rendered, by the hash in PROJECT.
    fn base(&self, path: &str, recorded: &str, text: &str) -> Option<String> {
        // kbr 0.1 hashed the lines above markers too.
        let is_base = |text: &str| self.hash(path, text) == recorded || hash(text) == recorded;
        match is_base(text) {
            true => Some(text.to_owned()),
            false => (self.tools.earlier)(path, &is_base),
        }
    }

    /// Adds a file that no earlier kbr has created.
    fn add(&mut self, path: &str, new: &str) {
        self.changes.push(create(path, new.to_owned(), false));
        for (marker, line) in self.lines.get(path).into_iter().flatten() {
            self.changes.push(insert(path, *marker, line));
        }
    }

    /// Merges the changes of the scaffold into an edited file.
    fn merge(&mut self, path: &str, recorded: &str, text: &str, new: &str) {
        let base = self.base(path, recorded, text);
        if path.ends_with(layout::MANIFEST)
            && let Some(merged) = self.manifest(base.as_deref(), text, new)
        {
            if base.is_none() {
                self.warnings.push(format!(
                    "`{path}` was edited, and {NOT_IN_GIT}: what you have removed from it may be back"
                ));
            }
            self.rewrite(path, merged);
            return;
        }
        let Some(base) = base else {
            let why = format!("was edited, and {NOT_IN_GIT}");
            self.beside(path, new, text, &why);
            return;
        };
        let new = self.with_lines_of(path, new, text);
        match text::merged(&base, text, &new) {
            Ok(merged) if path.ends_with(".rs") => {
                let merged = (self.tools.format)(text, merged);
                self.rewrite(path, merged);
            }
            Ok(merged) => self.rewrite(path, merged),
            Err(conflicting) => {
                self.conflicts.push(path.to_owned());
                self.rewrite(path, conflicting);
            }
        }
    }

    fn manifest(&self, base: Option<&str>, text: &str, new: &str) -> Option<String> {
        let merged = manifest::merged(base, text, new, self.inherited())?;
        match self.project.is_of_0_1() {
            true => manifest::without_runtime(&merged),
            false => Some(merged),
        }
    }

    /// Removes what is no longer emitted.
    fn take_away(&mut self, fresh: &BTreeMap<String, String>) {
        let parts = scaffold::of(&self.project).into_iter();
        let given = parts.filter(|part| matches!(part.what, What::Given));
        let given: BTreeSet<String> = given.map(|part| part.path).collect();
        let is_emitted =
            |path: &str| path == lock::PATH || fresh.contains_key(path) || given.contains(path);
        let files = self.project.files.clone();
        for (path, recorded) in files.iter().filter(|(path, _)| !is_emitted(path)) {
            match self.text(path) {
                Some(text) if *recorded == self.hash(path, &text) => {
                    self.changes.push(Change::Remove { path: path.clone() });
                }
                Some(_) => self.warnings.push(format!(
                    "`{path}` is no longer a part of the scaffold, and stays because it was edited"
                )),
                None => {}
            }
            self.project.files.remove(path);
        }
    }

    /// The crate `kbr-runtime`, unless the project uses another copy of it.
    fn vendored(&mut self) {
        let old = match vendored::recorded(self.tree) {
            Some(old) => old,
            None if self.project.is_of_0_1() => Vec::new(),
            None => return,
        };
        for edit in vendored::edits(self.tree) {
            let outcome = match edit {
                Edit::Added(_) => "stays",
                Edit::Changed(_) | Edit::Missing(_) => "is restored",
            };
            self.warnings.push(format!("{edit}, and {outcome}"));
        }
        let new = vendored::files();
        let is_new = |path: &String| new.iter().any(|(new, _)| new == path);
        let gone = old.into_iter().filter(|path| !is_new(path));
        let gone = gone.filter(|path| self.tree.text(path).is_some());
        self.changes
            .extend(gone.map(|path| Change::Remove { path }));
        let changed = new
            .iter()
            .filter(|(path, text)| self.tree.text(path) != Some(text));
        self.changes
            .extend(changed.map(|(path, text)| create(path, text.clone(), true)));
    }

    /// Updates the lock file: replaces it with kbr's if it is unedited; otherwise cargo merges kbr's with the
    /// project's other dependencies.
    fn lock(&mut self) {
        let new = lock::render(self.project.project_name.as_str());
        let recorded = self.project.files.get(lock::PATH).cloned();
        let (Some(recorded), Some(text)) = (recorded, self.tree.text(lock::PATH)) else {
            return;
        };
        if recorded == hash(&new) {
            return;
        }
        if recorded == hash(text) {
            self.changes.push(create(lock::PATH, new, true));
            return;
        }
        match self.locked(&new, text) {
            Ok(locked) => {
                self.changes.push(rewrite(lock::PATH, locked));
                self.project.files.insert(lock::PATH.to_owned(), hash(&new));
            }
            Err(Error::Lock(error)) => {
                let help = help_of(&error).unwrap_or_default();
                self.warnings.push(format!("{error}: {help}"));
            }
            // For example a crate in a folder that kbr does not read.
            Err(error) => {
                self.warnings.push(format!(
                    "`{}` is unchanged ({error}): type `cargo update --workspace`",
                    lock::PATH
                ));
                let hash = hash(&new);
                self.project.files.insert(lock::PATH.to_owned(), hash);
            }
        }
    }

    /// The lock file that cargo generates from kbr's lock file and the other packages of the project.
    fn locked(&self, new: &str, text: &str) -> Result<String> {
        let mut candidate: Lock = new.parse()?;
        candidate.add_missing(&text.parse()?);
        let candidate = candidate.to_string();
        let mut files: BTreeMap<&str, &str> = self.tree.files().collect();
        for change in &self.changes {
            if let Change::Create { path, text, .. } | Change::Rewrite { path, text, .. } = change {
                files.insert(path, text);
            }
        }
        files.insert(lock::PATH, &candidate);
        (self.tools.locked)(&files)
    }
}
