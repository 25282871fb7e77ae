//! Brings files that kbr renders up to date, with the edits of their owner. Pure.

mod moved;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::cargo_toml::Manifest;
use crate::commands::desired::{Desired, create, insert, rewrite};
use crate::commands::error::{Error, Result};
use crate::commands::init_files;
use crate::commands::module_moves::Format;
use crate::evolve::{self, carried, kept, with_line_ends_of};
use crate::layout::{self, UPDATE_BESIDE};
use crate::plan::Change;
use crate::project::{PROJECT_FILE, Project};
use crate::rendered::{Rendered, hash, normalized};
use crate::scaffold;
use crate::toolchain::GitError;
use crate::toolchain::git::History;
use crate::tree::Tree;

/// Why there is no base for a merge.
const NOT_IN_GIT: &str = "the text that kbr rendered is not in git's history";

/// A text that kbr rendered.
struct Found {
    /// The text that PROJECT has the hash of.
    rendered: String,
    /// The text in git from which it follows.
    committed: String,
}

/// The files of a project that are rendered again.
pub(super) struct Refresh<'a> {
    /// What they are a part of, such as the scaffold.
    whole: &'static str,
    rendered: Rendered,
    tree: &'a Tree,
    history: History<'a>,
    format: Format<'a>,
    /// See [`Refresh::inherited`]. Only a changed manifest needs it.
    inherited: OnceCell<BTreeSet<String>>,
    /// The new PROJECT.
    pub(crate) project: Project,
    pub(crate) changes: Vec<Change>,
    pub(crate) warnings: Vec<String>,
    pub(crate) conflicts: Vec<String>,
    /// Why the base of an edited file could not be looked for.
    refused: Vec<GitError>,
}

impl<'a> Refresh<'a> {
    /// `rendered` is what kbr has rendered for the project.
    pub(super) fn of(
        whole: &'static str,
        project: &Project,
        rendered: Rendered,
        tree: &'a Tree,
        history: History<'a>,
        format: Format<'a>,
    ) -> Self {
        Self {
            whole,
            rendered,
            tree,
            history,
            format,
            inherited: OnceCell::new(),
            project: project.clone(),
            changes: Vec::new(),
            warnings: Vec::new(),
            conflicts: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Brings up to date what is made from `config/` for others to install, a chart or a bundle: its files, with the edits of
    /// their owner. `is_part` says which files of the project belong to it. If its folder is gone, it is written again.
    pub(super) fn of_package(
        what: &'static str,
        project: &Project,
        tree: &'a Tree,
        history: History<'a>,
        files: &BTreeMap<String, String>,
        is_part: impl Fn(&str) -> bool,
    ) -> Self {
        let mut project = project.clone();
        let is_left = |path: &str| tree.entry(path).is_some();
        let mut recorded = project.files.keys();
        // The bundle's Dockerfile is beside its folder.
        let is_in_folder = |path: &str| is_part(path) && path != layout::BUNDLE_DOCKERFILE;
        if !recorded.any(|path| is_in_folder(path) && is_left(path)) {
            let files = &mut project.files;
            files.retain(|path, _| !is_part(path) || is_left(path));
        }
        let rendered = Rendered::new(&project, []);
        let mut refresh = Self::of(what, &project, rendered, tree, history, &|_, text| text);
        refresh.files(files, is_part);
        refresh
    }

    /// What the command wants; `next` is the next command to type.
    pub(super) fn desired(self, next: &'static str) -> Result<Desired> {
        Error::all(self.refused)?;
        Ok(Desired {
            changes: self.changes,
            project: Some(self.project),
            warnings: self.warnings,
            conflicts: self.conflicts,
            next,
        })
    }

    /// Brings these files up to date, by their paths, and takes away what is no longer among them; `is_part` says whether
    /// a recorded file belongs to them.
    pub(super) fn files(
        &mut self,
        files: &BTreeMap<String, String>,
        is_part: impl Fn(&str) -> bool,
    ) {
        let recorded = self.project.files.keys();
        let gone = recorded.filter(|path| is_part(path) && !files.contains_key(*path));
        let gone: Vec<String> = gone.cloned().collect();
        let moved = self.moved(&gone, files);
        for (path, text) in files.iter().filter(|(path, _)| !moved.contains(*path)) {
            self.file(path, text);
        }
        for path in gone.iter().filter(|path| !moved.contains(*path)) {
            self.take_away(path);
        }
    }

    /// Brings one file up to date.
    fn file(&mut self, path: &str, new: &str) {
        let new_hash = self.rendered.hash(path, new);
        let recorded = self.project.files.get(path).cloned();
        // It contains what an earlier release has stored, which never changes.
        if recorded.is_some() && path.starts_with(layout::STORED) {
            return;
        }
        let is_missing = self.tree.entry(path).is_none();
        let text = self.tree.text(path).map(normalized);
        match (recorded, text.as_deref()) {
            (Some(_), None) if is_missing => {
                self.warnings
                    .push(format!("`{path}` was deleted, and stays deleted"));
                return;
            }
            (Some(recorded), _) if recorded == new_hash => return,
            (None, None) if is_missing => self.add(path, new),
            (Some(_), Some(text))
                if self.rendered.is_unedited(path, text) && !self.lacks_inherited(path, new) =>
            {
                let new = self.rendered.with_additions(path, new, text);
                let old = self.tree.text(path).unwrap_or_default();
                self.changes
                    .push(create(path, with_line_ends_of(old, new), true));
            }
            (Some(recorded), Some(text)) => self.merge(path, &recorded, text, new),
            // The owner had it before kbr.
            (None, Some(_)) if init_files::KEPT.contains(&path) => return,
            (None, Some(text)) if new_hash == self.rendered.hash(path, text) => {}
            (None, Some(text)) => {
                let why = format!("is yours, and now part of the {}", self.whole);
                self.beside(path, self.rendered.with_additions(path, new, text), &why);
                self.keep(path, text, new);
            }
            (_, None) => {
                self.warnings
                    .push(format!("`{path}` is not a text file, and stays as it is"));
                return;
            }
        }
        self.project.files.insert(path.to_owned(), new_hash);
    }

    /// Gives a file of the owner another text.
    fn rewrite(&mut self, path: &str, text: String) {
        let old = self.tree.text(path).unwrap_or_default();
        self.changes
            .push(rewrite(path, with_line_ends_of(old, text)));
    }

    /// Remembers that the next base is `new`: the owner's text is what git has.
    fn keep(&mut self, path: &str, text: &str, new: &str) {
        let committed = self.rendered.without_additions(path, text);
        let it = kept(None, &committed, new);
        self.project.bases.insert(path.to_owned(), it);
    }

    /// Writes the new text of a file next to that of the owner.
    fn beside(&mut self, path: &str, new: String, why: &str) {
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
                let base = recorded.and_then(|recorded| self.base(path, recorded, text).ok()?);
                let inherited = |text: &str| Some(text.parse::<Manifest>().ok()?.inherited());
                let old = base.and_then(|base| inherited(&base.rendered));
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
    fn base(&self, path: &str, recorded: &str, text: &str) -> Result<Option<Found>, GitError> {
        let without = self.rendered.without_additions(path, text);
        if self.rendered.hash(path, text) == recorded {
            let rendered = without.into_owned();
            let committed = rendered.clone();
            return Ok(Some(Found {
                rendered,
                committed,
            }));
        }
        let kept = self.project.bases.get(path);
        let (from, wanted) = match kept {
            Some(base) => (base.path.as_deref().unwrap_or(path), base.hash.as_str()),
            None => (path, recorded),
        };
        let committed = (self.history)(from, &|text, other| {
            let text = normalized(text);
            if hash(&text) == wanted {
                return Some(text.into_owned());
            }
            // The lines above markers are those of the model then, or of today's if PROJECT was committed later.
            let then = || {
                Some(scaffold::rendered(
                    &Project::parse(&other(PROJECT_FILE)?).ok()?,
                ))
            };
            let is_it = |rendered: &Rendered| {
                let without = rendered.without_additions(from, &text).into_owned();
                (hash(&without) == wanted).then_some(without)
            };
            is_it(&self.rendered).or_else(|| is_it(&then()?))
        })?;
        let found = committed.and_then(|committed| {
            let rendered = match kept {
                Some(base) => evolve::rendered(base, &committed)?,
                None => committed.clone(),
            };
            (hash(&rendered) == recorded).then_some(Found {
                rendered,
                committed,
            })
        });
        Ok(found)
    }

    /// Adds a file that no earlier kbr has created.
    fn add(&mut self, path: &str, new: &str) {
        self.changes.push(create(path, new.to_owned(), false));
        for (marker, line) in self.rendered.lines(path) {
            self.changes.push(insert(path, marker, line));
        }
    }

    /// Merges the changes of what is rendered into an edited file.
    fn merge(&mut self, path: &str, recorded: &str, text: &str, new: &str) {
        let base = match self.base(path, recorded, text) {
            Ok(base) => base,
            Err(error) => return self.refused.push(error),
        };
        match &base {
            Some(found) => {
                let from = self.project.bases.get(path).and_then(|it| it.path.clone());
                let from = from.filter(|from| from != path);
                let it = kept(from, &found.committed, new);
                self.project.bases.insert(path.to_owned(), it);
            }
            None => self.keep(path, text, new),
        }
        let rendered = base.as_ref().map(|it| it.rendered.as_str());
        let new = self.rendered.with_additions(path, new, text);
        if path.ends_with(layout::MANIFEST)
            && let Some(merged) = evolve::manifest(rendered, text, &new, self.inherited())
        {
            if base.is_none() {
                self.warnings.push(format!(
                    "`{path}` was edited, and {NOT_IN_GIT}: what you have removed from it may be back"
                ));
            }
            self.rewrite(path, merged);
            return;
        }
        let Some(base) = rendered else {
            let why = format!("was edited, and {NOT_IN_GIT}");
            self.beside(path, new, &why);
            return;
        };
        let base = self.rendered.with_additions(path, base, text);
        match carried(path, [&base, text, &new], false) {
            Ok(merged) if path.ends_with(".rs") => {
                let merged = (self.format)(text, merged);
                self.rewrite(path, merged);
            }
            Ok(merged) => self.rewrite(path, merged),
            Err(conflicting) => {
                self.conflicts.push(path.to_owned());
                self.rewrite(path, conflicting);
            }
        }
    }

    /// Removes a file that is no longer rendered.
    fn take_away(&mut self, path: &str) {
        let text: Option<Cow<'_, str>> = self.tree.text(path).map(normalized);
        match text {
            Some(text) if self.rendered.is_unedited(path, &text) => {
                let path = path.to_owned();
                self.changes.push(Change::Remove { path });
            }
            Some(_) => self.warnings.push(format!(
                "`{path}` is no longer a part of the {}, and stays because it was edited",
                self.whole
            )),
            None => {}
        }
        self.project.files.remove(path);
    }
}
