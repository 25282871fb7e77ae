//! How the files of a project change with its model: something is renamed, or the layout is another.
//!
//! Each file of the scaffold is rendered from the old model and from the new one. Where the user's file has
//! the old version of lines that differ, they are replaced with the new version. So an unedited file becomes what it
//! would be if it had always been so, and in an edited one everything else stays. Paths to modules are
//! rewritten before that; [`mod@around`] handles modules that leave others behind. Pure.

mod around;

use std::collections::{BTreeMap, BTreeSet};

use crate::commands::error::Result;
use crate::commands::lines;
use crate::commands::moves::{self, Format};
use crate::commands::words::Words;
use crate::error::join;
use crate::layout::{self, Place};
use crate::plan::{Change, is_generated};
use crate::project::{PROJECT_FILE, Project, Resource};
use crate::scaffold::{self, Part};
use crate::tree::Tree;
use around::Surroundings;

/// The new path and text of each file, by its old path.
type RenamedFiles = BTreeMap<String, (String, String)>;

/// A file of the scaffold: its path and text before and after.
type Pair = [(String, String); 2];

/// The resources whose types have another name, before and after. Both models have the same resources, in the same
/// order.
pub fn changed<'a>(
    before: &'a Project,
    after: &'a Project,
) -> impl Iterator<Item = (&'a Resource, &'a Resource)> {
    let both = before.resources.iter().zip(&after.resources);
    both.filter(|(old, new)| old.gvk() != new.gvk())
}

/// The files of a project whose model changes.
pub struct Renamed {
    files: RenamedFiles,
    /// Old and new path of each file of the scaffold that moves, whether it exists or not.
    places: Vec<(String, String)>,
    /// Changes that add and remove modules and lines.
    around: Vec<Change>,
}

impl Renamed {
    /// The resources of both models must be in the same order. `pairs` are the parts of the scaffold that both have,
    /// and `init` the files from `kbr init`, if they change.
    pub fn of(
        before: &Project,
        after: &Project,
        words: &Words,
        pairs: &[(Part, Part)],
        init: Vec<Pair>,
        tree: &Tree,
    ) -> Result<Self> {
        let sources = moves::sources(tree);
        let moved = moves::moved(before, after, &sources)?;
        let is_ours = |path: &str, text: &str| {
            path != PROJECT_FILE && !layout::is_vendored(path) && !is_generated(text)
        };
        let texts = tree.files().filter(|(path, text)| is_ours(path, text));
        let mut files: RenamedFiles = texts
            .map(|(path, text)| (path.to_owned(), (path.to_owned(), text.to_owned())))
            .collect();
        for file in &moved.files {
            files.insert(file.from.clone(), (file.to.clone(), file.text.clone()));
        }
        let paths = changed(before, after).map(|(old, _)| Place::of(before, old).types());
        let types: BTreeSet<String> = paths.collect();
        let is_rust = |path: &str| path.ends_with(".rs") && sources.contains_key(path);
        for (path, (_, text)) in files.iter_mut().filter(|(path, _)| is_rust(path)) {
            *text = words.in_code(text, types.contains(path));
        }
        let rendered = pairs.iter().filter_map(|(old, new)| {
            let old_text = old.modelled(before)?;
            Some([
                (old.path.clone(), old_text),
                (new.path.clone(), new.modelled(after)?),
            ])
        });
        let mut places = Vec::new();
        for [(old_path, old_text), (new_path, new_text)] in rendered.chain(init) {
            if let Some((path, text)) = files.get_mut(&old_path) {
                if !is_rust(&old_path) {
                    path.clone_from(&new_path);
                }
                if *path == new_path && tree.text(&old_path) == Some(&old_text) {
                    *text = new_text;
                } else if *path == new_path {
                    *text = lines::with_changes(text, &old_text, &new_text, false);
                }
            }
            if old_path != new_path {
                places.push((old_path, new_path));
            }
        }
        let surroundings = Surroundings::of(pairs, before, after, &files);
        for (path, lines) in &surroundings.renamed {
            if let (Some(was), Some((_, text))) = (tree.text(path), files.get_mut(path)) {
                *text = lines::in_order(path, was, text, lines)?;
            }
        }
        let around = surroundings.changes((before, after), &places, &moved, &mut files)?;
        Ok(Self {
            files,
            places,
            around,
        })
    }

    /// The files that change. Rust files that were formatted are formatted again. In PROJECT, a file that its owner
    /// deleted has its new path.
    pub fn changes(&mut self, after: &mut Project, tree: &Tree, format: Format<'_>) -> Vec<Change> {
        let mut changes = Vec::new();
        for (from, (path, text)) in &mut self.files {
            let was = tree.text(from).unwrap_or_default();
            if from == path && text == was {
                continue;
            }
            if path.ends_with(".rs") && text != was {
                *text = format(was, std::mem::take(text));
            }
            changes.push(Change::Rewrite {
                from: from.clone(),
                path: path.clone(),
                text: text.clone(),
            });
        }
        changes.append(&mut self.around);
        for (old, new) in &self.places {
            if tree.text(old).is_none()
                && let Some(hash) = after.files.remove(old)
            {
                after.files.insert(new.clone(), hash);
            }
        }
        after.sort();
        changes.push(scaffold::crdgen(after));
        changes
    }

    /// Warnings about the owner's text that still has the old name; after [`Self::changes`], which may move lines.
    pub fn left(&self, before: &Project, words: &Words, tree: &Tree) -> Vec<String> {
        let rendered = scaffold::rendered(before);
        let is_unedited = |path: &str| {
            let text = tree.text(path).unwrap_or_default();
            rendered.is_unedited(path, text)
        };
        let files = self.files.iter().filter(|(from, _)| !is_unedited(from));
        let left = files.flat_map(|(_, (path, text))| {
            let names = words.left_in(text).into_iter();
            names.map(move |(name, lines)| {
                let word = if lines.len() == 1 { "line" } else { "lines" };
                let numbers = join(&lines, ", ", usize::to_string);
                format!("`{path}` still has the name `{name}` in {word} {numbers}")
            })
        });
        left.collect()
    }
}
