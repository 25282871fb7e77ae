//! `kbr update`: updates a project from an earlier kbr to the scaffold of this kbr.
//!
//! Every file is rendered from PROJECT, and brought up to date as [`crate::evolve`] does it. Pure, except for [`Tools`].

pub(crate) mod error;

use std::collections::{BTreeMap, BTreeSet};

use crate::commands::desired::{Desired, create, rewrite};
use crate::commands::error::{Error, Result};
use crate::commands::init_files::rendering;
use crate::commands::module_moves::Format;
use crate::commands::refresh::Refresh;
use crate::error::help_of;
use crate::layout;
use crate::lock::{self, Lock};
use crate::plan::Change;
use crate::project::Project;
use crate::rendered::{hash, normalized};
use crate::scaffold::{self, What};
use crate::toolchain::git::History;
use crate::tree::Tree;
use crate::vendored::{self, Difference};

/// What the plan needs from other programs.
pub(crate) struct Tools<'a> {
    pub(crate) history: History<'a>,
    /// The lock file that cargo generates from these manifests and the existing lock file.
    pub(crate) locked: &'a dyn Fn(&BTreeMap<&str, &str>) -> Result<String>,
    pub(crate) format: Format<'a>,
}

/// The files that an update may change, and the folders of the vendored crates.
pub(crate) fn places(project: &Project) -> BTreeSet<String> {
    let fresh = rendering(project).into_keys();
    let recorded = project.files.keys().cloned();
    let vendored = layout::VENDORED.map(str::to_owned);
    fresh.chain(recorded).chain(vendored).collect()
}

/// The project as this kbr would have scaffolded it, with the edits of its owner.
pub(crate) fn plan(project: &Project, tree: &Tree, tools: &Tools<'_>) -> Result<Desired> {
    let parts = scaffold::of(project).into_iter();
    let given = parts.filter(|part| matches!(part.what, What::Given(_)));
    let given: BTreeSet<String> = given.map(|part| part.path).collect();
    // The lock is brought up to date below; `kbr bundle` and `kbr chart` keep their files up to date.
    let is_part = |path: &str| {
        let is_packaged = path.starts_with(layout::CHART) || layout::is_of_bundle(path);
        path != lock::PATH && !is_packaged && !given.contains(path)
    };
    let rendered = scaffold::rendered(project);
    let mut scaffold = Refresh::of(
        "scaffold",
        project,
        rendered,
        tree,
        tools.history,
        tools.format,
    );
    scaffold.files(&rendering(project), is_part);
    let mut update = Update {
        scaffold,
        tree,
        tools,
    };
    update.vendored();
    update.scaffold.changes.push(scaffold::crdgen(project));
    update.lock();
    update.scaffold.project.renew();
    update.scaffold.desired("kbr manifests")
}

struct Update<'a> {
    scaffold: Refresh<'a>,
    tree: &'a Tree,
    tools: &'a Tools<'a>,
}

impl Update<'_> {
    /// The crates `kbr-runtime` and `kbr-testing`, unless the project uses other copies of them.
    fn vendored(&mut self) {
        for folder in layout::VENDORED {
            if let Some(old) = vendored::recorded(self.tree, folder) {
                self.vendored_crate(folder, old);
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
            self.scaffold
                .warnings
                .push(format!("{difference}, and {outcome}"));
        }
        let new = vendored::files_of(folder);
        let is_new = |path: &String| new.iter().any(|(new, _)| new == path);
        let gone = old.into_iter().filter(|path| !is_new(path));
        let gone = gone.filter(|path| self.tree.text(path).is_some());
        self.scaffold
            .changes
            .extend(gone.map(|path| Change::Remove { path }));
        let changed = new
            .iter()
            .filter(|(path, text)| self.tree.text(path).map(normalized).as_deref() != Some(text));
        self.scaffold
            .changes
            .extend(changed.map(|(path, text)| create(path, text.clone(), true)));
    }

    /// Updates the lock file: replaces it with kbr's if it is unedited; otherwise cargo merges kbr's with the
    /// project's other dependencies.
    fn lock(&mut self) {
        let new = lock::render(self.scaffold.project.project_name.as_str());
        let recorded = self.scaffold.project.files.get(lock::PATH).cloned();
        let (Some(recorded), Some(text)) = (recorded, self.tree.text(lock::PATH)) else {
            return;
        };
        if recorded == hash(&new) {
            return;
        }
        if scaffold::rendered(&self.scaffold.project).is_unedited(lock::PATH, text) {
            self.scaffold.changes.push(create(lock::PATH, new, true));
            return;
        }
        match self.locked(&new, text) {
            Ok(locked) => self.scaffold.changes.push(rewrite(lock::PATH, locked)),
            Err(Error::Lock(error)) => {
                let help = help_of(&error).unwrap_or_default();
                self.scaffold.warnings.push(format!("{error}: {help}"));
                return;
            }
            // For example a crate in a folder that kbr does not read.
            Err(error) => self.scaffold.warnings.push(format!(
                "`{}` is unchanged ({error}): type `cargo update --workspace`",
                lock::PATH
            )),
        }
        self.scaffold
            .project
            .files
            .insert(lock::PATH.to_owned(), hash(&new));
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
        for change in &self.scaffold.changes {
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
