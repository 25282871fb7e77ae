//! `kbr update`: updates a project from an earlier kbr to the scaffold of this kbr.
//!
//! Every file is rendered from PROJECT. If the result has the hash that PROJECT records, the template has not
//! changed, and the file stays unchanged. An unedited file is replaced. Into an edited one, the changes are merged:
//! the base is the text with the recorded hash, from git's history. Pure, except for [`Tools`].

pub mod error;
mod fresh;
mod split;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::cargo_toml::Manifest;
use crate::commands::error::{Error, Result};
use crate::commands::initial;
use crate::commands::merge;
use crate::commands::moves::Format;
use crate::commands::wanted::{Wanted, create, insert, rewrite};
use crate::error::help_of;
use crate::layout::{self, UPDATE_BESIDE};
use crate::lock::{self, Lock};
use crate::plan::Change;
use crate::project::Project;
use crate::rendered::{Rendered, hash, normalized};
use crate::scaffold::{self, What};
use crate::tree::Tree;
use crate::vendored::{self, Difference};

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
    let files = files.filter(|path| tree.text(path).is_some_and(merge::has_conflict));
    files.cloned().collect()
}

/// The files that an update may change, and the folders of the vendored crates.
pub fn places(project: &Project, tree: &Tree) -> BTreeSet<String> {
    let fresh = fresh::files(project, tree).into_keys();
    let recorded = project.files.keys().cloned();
    let vendored = layout::VENDORED.map(str::to_owned);
    fresh.chain(recorded).chain(vendored).collect()
}

pub fn plan(project: &Project, tree: &Tree, tools: &Tools<'_>) -> Result<Updated> {
    let fresh = fresh::files(project, tree);
    let mut update = Update {
        rendered: scaffold::rendered(project),
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
    let left = split::left(&update.files());
    update.warnings.extend(left);
    update.project.renew();
    Ok(Updated {
        wanted: Wanted::of(update.project, update.changes, update.warnings),
        conflicts: update.conflicts,
    })
}

struct Update<'a> {
    rendered: Rendered,
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
    /// `new` with what kbr and cargo have added to the file. A project of kbr 0.1 had other lines above its markers:
    /// it gets all of them.
    fn with_additions(&self, path: &str, new: &str, text: &str) -> String {
        let all_lines = self.project.is_of_0_1();
        self.rendered.with_additions(path, new, text, all_lines)
    }

    /// Brings one file of the scaffold up to date.
    fn file(&mut self, path: &str, new: &str) {
        let new_hash = self.rendered.hash(path, new);
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
            (Some(_), Some(text))
                if self.rendered.is_unedited(path, text) && !self.lacks_inherited(path, new) =>
            {
                let text = self.with_additions(path, new, text);
                self.changes.push(create(path, text, true));
            }
            (Some(recorded), Some(text)) => {
                self.merge(path, &recorded, text, new);
                self.project.files.insert(path.to_owned(), new_hash);
            }
            // The owner had it before kbr.
            (None, Some(_)) if initial::KEPT.contains(&path) => {}
            (None, Some(text)) => {
                if new_hash != self.rendered.hash(path, text) {
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
        self.tree.text(path).map(normalized)
    }

    /// Gives a file of the owner another text.
    fn rewrite(&mut self, path: &str, text: String) {
        let old = self.tree.text(path).unwrap_or_default();
        let text = merge::with_line_ends_of(old, text);
        self.changes.push(rewrite(path, text));
    }

    /// Writes the new text of a file next to that of the owner.
    fn beside(&mut self, path: &str, new: &str, text: &str, why: &str) {
        let new = self.with_additions(path, new, text);
        let beside = format!("{path}{UPDATE_BESIDE}");
        self.warnings.push(format!(
            "`{path}` {why}: copy what is new from `{beside}`, then delete it"
        ));
        self.changes.push(create(beside, new, true));
    }

    /// Dependencies of the workspace that manifests inherit because their owner wrote so.
    fn inherited(&self) -> &BTreeSet<String> {
        self.inherited.get_or_init(|| {
            let manifests = self
                .tree
                .files()
                .filter(|(path, _)| path.ends_with(layout::MANIFEST) && !layout::is_vendored(path));
            let inherited = manifests.flat_map(|(path, text)| {
                let recorded = self.project.files.get(path);
                let base = recorded.and_then(|recorded| self.base(path, recorded, text));
                let inherited = |text: &str| Some(text.parse::<Manifest>().ok()?.inherited());
                let old = base.and_then(|base| inherited(&base));
                let mut names = inherited(text).unwrap_or_default();
                names.retain(|name| old.as_ref().is_none_or(|old| !old.contains(name)));
                names
            });
            inherited.collect()
        })
    }

    /// Whether the new text of the workspace's manifest lacks a dependency that is inherited.
    fn lacks_inherited(&self, path: &str, new: &str) -> bool {
        path == layout::MANIFEST && {
            let new = new.parse::<Manifest>();
            !new.is_ok_and(|new| self.inherited().is_subset(&new.shared_names()))
        }
    }

    /// The text that kbr rendered, by the hash in PROJECT.
    fn base(&self, path: &str, recorded: &str, text: &str) -> Option<String> {
        // kbr 0.1 hashed the lines above markers too.
        let is_base =
            |text: &str| self.rendered.hash(path, text) == recorded || hash(text) == recorded;
        match is_base(text) {
            true => Some(text.to_owned()),
            false => (self.tools.earlier)(path, &is_base),
        }
    }

    /// Adds a file that no earlier kbr has created.
    fn add(&mut self, path: &str, new: &str) {
        self.changes.push(create(path, new.to_owned(), false));
        for (marker, line) in self.rendered.lines(path) {
            self.changes.push(insert(path, marker, line));
        }
    }

    /// Merges the changes of the scaffold into an edited file.
    fn merge(&mut self, path: &str, recorded: &str, text: &str, new: &str) {
        let base = self.base(path, recorded, text);
        if path.ends_with(layout::MANIFEST)
            && let Some(merged) = self.manifest(path, base.as_deref(), text, new)
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
        let new = self.with_additions(path, new, text);
        match merge::merged(&base, text, &new) {
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

    fn manifest(&self, path: &str, base: Option<&str>, text: &str, new: &str) -> Option<String> {
        let mut manifest: Manifest = text.parse().ok()?;
        let base: Option<Manifest> = base.map(str::parse).transpose().ok()?;
        let new = self.with_additions(path, new, text);
        manifest.merge(base.as_ref(), new.parse().ok()?, self.inherited());
        if self.project.is_of_0_1() {
            manifest.remove_runtime();
        }
        if split::is_before(self.tree) {
            manifest.remove_feature(split::RUNTIME, split::FEATURE);
        }
        Some(manifest.to_string())
    }

    /// Removes what is no longer emitted.
    fn take_away(&mut self, fresh: &BTreeMap<String, String>) {
        let parts = scaffold::of(&self.project).into_iter();
        let given = parts.filter(|part| matches!(part.what, What::Given(_)));
        let given: BTreeSet<String> = given.map(|part| part.path).collect();
        // `kbr bundle` and `kbr chart` keep their files up to date.
        let is_emitted = |path: &str| {
            path == lock::PATH
                || path.starts_with(layout::CHART)
                || layout::is_of_bundle(path)
                || fresh.contains_key(path)
                || given.contains(path)
        };
        let files = self.project.files.clone();
        for path in files.keys().filter(|path| !is_emitted(path)) {
            match self.text(path) {
                Some(text) if self.rendered.is_unedited(path, &text) => {
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

    /// The crates `kbr-runtime` and `kbr-testing`, unless the project uses other copies of them.
    fn vendored(&mut self) {
        let is_new = self.project.is_of_0_1() || split::is_before(self.tree);
        for folder in layout::VENDORED {
            match vendored::recorded(self.tree, folder) {
                Some(old) => self.vendored_crate(folder, old),
                None if is_new => self.vendored_crate(folder, Vec::new()),
                None => {}
            }
        }
    }

    /// The crate in that folder, which had the files `old`.
    fn vendored_crate(&mut self, folder: &str, old: Vec<String>) {
        for difference in vendored::differences(self.tree, folder) {
            let outcome = match difference {
                Difference::Added(_) => "stays",
                Difference::Changed(_) | Difference::Missing(_) => "is restored",
            };
            self.warnings.push(format!("{difference}, and {outcome}"));
        }
        let new = vendored::files_of(folder);
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
        if self.rendered.is_unedited(lock::PATH, text) {
            self.changes.push(create(lock::PATH, new, true));
            return;
        }
        match self.locked(&new, text) {
            Ok(locked) => self.changes.push(rewrite(lock::PATH, locked)),
            Err(Error::Lock(error)) => {
                let help = help_of(&error).unwrap_or_default();
                self.warnings.push(format!("{error}: {help}"));
                return;
            }
            // For example a crate in a folder that kbr does not read.
            Err(error) => self.warnings.push(format!(
                "`{}` is unchanged ({error}): type `cargo update --workspace`",
                lock::PATH
            )),
        }
        self.project.files.insert(lock::PATH.to_owned(), hash(&new));
    }

    /// The lock file that cargo generates from kbr's lock file and the other packages of the project.
    fn locked(&self, new: &str, text: &str) -> Result<String> {
        let mut candidate: Lock = new.parse()?;
        candidate.add_missing(&text.parse()?);
        let candidate = candidate.to_string();
        let mut files = self.files();
        files.insert(lock::PATH, &candidate);
        (self.tools.locked)(&files)
    }

    /// The text files of the project, with the changes so far.
    fn files(&self) -> BTreeMap<&str, &str> {
        let mut files: BTreeMap<&str, &str> = self.tree.files().collect();
        for change in &self.changes {
            match change {
                Change::Create { path, text, .. } | Change::Edit { path, text } => {
                    files.insert(path, text);
                }
                Change::Remove { path } => {
                    files.remove(path.as_str());
                }
                _ => {}
            }
        }
        files
    }
}
