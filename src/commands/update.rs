//! `kbr update`: updates a project from an earlier kbr to the scaffold of this kbr.
//!
//! Every file is rendered from PROJECT. If the result has the hash that PROJECT records, the template has not
//! changed, and the file stays unchanged. An unedited file is replaced. Into an edited one, the changes are merged:
//! the base is the text with the recorded hash, from git's history. Pure, except for [`Tools`].

pub mod error;
mod manifest;

use std::collections::{BTreeMap, BTreeSet};

use crate::commands::error::Result;
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

/// Given a path and a predicate, returns the newest text of that file in git's history that satisfies it.
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

pub fn plan(project: &Project, tree: &Tree, tools: &Tools<'_>) -> Result<Updated> {
    let fresh = fresh(project, tree);
    let mut update = Update {
        lines: lines(project),
        inserted: scaffold::inserted(project),
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

/// Path and text of each file of the scaffold, as this kbr renders it.
fn fresh(project: &Project, tree: &Tree) -> BTreeMap<String, String> {
    let mut files: BTreeMap<String, String> = init::texts(project).into_iter().collect();
    let parts = scaffold::of(project).into_iter();
    files.extend(parts.filter_map(|part| Some((part.path.clone(), part.text(project)?))));
    for (path, text) in files
        .iter_mut()
        .filter(|(path, _)| path.starts_with(layout::RBAC))
    {
        if let Some(existing) = tree.text(path) {
            *text = with_name(text, existing);
        }
    }
    files
}

/// Keeps the existing name of a role: `kbr edit` may have moved its file, but no name in a cluster changes.
fn with_name(text: &str, existing: &str) -> String {
    let name = |text: &str| {
        let mut lines = text.lines();
        let line = lines.find(|line| line.starts_with("  name: "));
        line.map(str::to_owned)
    };
    match (name(text), name(existing)) {
        (Some(new), Some(old)) => text.replacen(&new, &old, 1),
        _ => text.to_owned(),
    }
}

/// The lines of the scaffold, by file.
fn lines(project: &Project) -> BTreeMap<String, Vec<(ScaffoldMarker, String)>> {
    let mut lines: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for part in scaffold::of(project) {
        if let What::Line { marker, fragment } = part.what {
            lines.entry(part.path).or_default().push((marker, fragment));
        }
    }
    lines
}

struct Update<'a> {
    lines: BTreeMap<String, Vec<(ScaffoldMarker, String)>>,
    inserted: Inserted,
    project: Project,
    tree: &'a Tree,
    tools: &'a Tools<'a>,
    changes: Vec<Change>,
    warnings: Vec<String>,
    conflicts: Vec<String>,
}

impl Update<'_> {
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
        match (recorded, self.tree.text(path)) {
            (Some(recorded), _) if recorded == new_hash => {}
            (Some(_), None) if self.tree.entry(path).is_none() => {
                self.project.files.insert(path.to_owned(), new_hash);
                self.warnings
                    .push(format!("`{path}` was deleted, and stays deleted"));
            }
            (None, None) if self.tree.entry(path).is_none() => self.add(path, new),
            (Some(recorded), Some(text)) if recorded == self.hash(path, text) => {
                let text = self.with_lines_of(path, new, text);
                self.changes.push(create(path, text, true));
            }
            (Some(recorded), Some(text)) => {
                self.merge(path, &recorded, text, new);
                self.project.files.insert(path.to_owned(), new_hash);
            }
            // A file of the owner, or one that is not text.
            (_, None) | (None, Some(_)) => {}
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
        // kbr 0.1 hashed the lines above markers too.
        let is_base = |text: &str| self.hash(path, text) == recorded || hash(text) == recorded;
        let base = (self.tools.earlier)(path, &is_base);
        if path.ends_with(layout::MANIFEST)
            && let Some(merged) = manifest::merged(base.as_deref(), text, new)
        {
            self.changes.push(rewrite(path, merged));
            return;
        }
        let Some(base) = base else {
            let new = self.with_lines_of(path, new, text);
            let beside = format!("{path}{UPDATE_BESIDE}");
            self.warnings.push(format!(
                "`{path}` was edited, and git does not have the text that kbr rendered: copy what is new from `{beside}`, then delete it"
            ));
            self.changes.push(create(beside, new, true));
            return;
        };
        let new = self.with_lines_of(path, new, &base);
        let mut options = diffy::MergeOptions::new();
        options.set_conflict_style(diffy::ConflictStyle::Merge);
        match options.merge(&base, text, &new) {
            Ok(merged) if path.ends_with(".rs") => {
                let merged = (self.tools.format)(text, merged);
                self.changes.push(rewrite(path, merged));
            }
            Ok(merged) => self.changes.push(rewrite(path, merged)),
            Err(conflicting) => {
                self.conflicts.push(path.to_owned());
                self.changes.push(rewrite(path, conflicting));
            }
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
            match self.tree.text(path) {
                Some(text) if *recorded == self.hash(path, text) => {
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
                self.project
                    .files
                    .insert(lock::PATH.to_owned(), hash(&new));
            }
            Err(error) => self.warnings.push(format!(
                "`{}` is unchanged ({error}): type `cargo update --workspace`, then `kbr update` again",
                lock::PATH
            )),
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
