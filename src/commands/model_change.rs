//! How the files of a project change with its model: something is renamed, or the layout is another.
//!
//! Each file of the scaffold is rendered from the old model and from the new one. Names are no difference: they are
//! rewritten in the user's file and in what kbr rendered, before [`crate::evolve`] carries the user's edits over.
//! [`mod@surroundings`] handles modules that leave others behind. Pure.

mod surroundings;

use std::collections::{BTreeMap, BTreeSet};

use crate::commands::carrier::Carrier;
use crate::commands::desired::Desired;
use crate::commands::error::Result;
use crate::commands::line_edits;
use crate::commands::module_moves::{self, Format};
use crate::commands::rename_map::RenameMap;
use crate::error::join;
use crate::evolve::{Rerendered, with_line_ends_of, with_lines_of};
use crate::layout::{self, Place};
use crate::modules::Moved;
use crate::plan::{Change, is_generated};
use crate::project::{PROJECT_FILE, Project, Resource};
use crate::rendered::{Rendered, hash, normalized};
use crate::scaffold::{self, Part, What};
use crate::tree::Tree;
use surroundings::Surroundings;

/// The new path and text of each file, by its old path.
type RenamedFiles = BTreeMap<String, (String, String)>;

/// The new path of each file of the scaffold, and how kbr renders it before and after, by its old path.
type Renderings = BTreeMap<String, (String, Rerendered)>;

/// A file of the scaffold: its path and text before and after.
type Pair = [(String, String); 2];

/// The resources whose types have another name, before and after. Both models have the same resources, in the same
/// order.
pub(super) fn changed<'a>(
    before: &'a Project,
    after: &'a Project,
) -> impl Iterator<Item = (&'a Resource, &'a Resource)> {
    let both = before.resources.iter().zip(&after.resources);
    both.filter(|(old, new)| old.gvk() != new.gvk())
}

/// The code of a file with the new names.
fn in_package(words: &RenameMap, path: &str, text: &str, has_type: bool) -> String {
    if module_moves::is_in_main(path) {
        words.in_code(text, has_type)
    } else {
        words.in_other_package(text)
    }
}

/// The files of a project whose model changes.
pub(super) struct ModelChange {
    files: RenamedFiles,
    /// Changes that add and remove modules and lines.
    around: Vec<Change>,
    renderings: Renderings,
    /// What is known about the files before and after.
    known: [Rendered; 2],
    conflicts: Vec<String>,
}

impl ModelChange {
    /// The resources of both models must be in the same order. `pairs` are the parts of the scaffold that both have,
    /// and `init` the files from `kbr init`, if they change.
    pub(super) fn of(
        before: &Project,
        after: &Project,
        words: &RenameMap,
        pairs: &[(Part, Part)],
        init: Vec<Pair>,
        tree: &Tree,
    ) -> Result<Self> {
        let sources = module_moves::sources(tree);
        let moved = module_moves::moved(before, after, &sources)?;
        let mut files = files_of(tree, &moved);
        let paths = changed(before, after).map(|(old, _)| Place::of(before, old).types());
        let types: BTreeSet<String> = paths.collect();
        let is_rust = |path: &str| path.ends_with(".rs") && sources.contains_key(path);
        for (path, (_, text)) in files.iter_mut().filter(|(path, _)| is_rust(path)) {
            *text = in_package(words, path, text, types.contains(path));
        }
        let olds = pairs.iter().map(|(old, _)| old);
        let given = olds.filter(|it| matches!(it.what, What::Given(_)));
        let are_given: BTreeSet<&str> = given.map(|it| it.path.as_str()).collect();
        let rendered = pairs.iter().filter_map(|(old, new)| {
            let old_text = old.modelled(before)?;
            Some([
                (old.path.clone(), old_text),
                (new.path.clone(), new.modelled(after)?),
            ])
        });
        let mut places = Vec::new();
        let (mut renderings, mut given) = (Renderings::new(), Vec::new());
        for [(old_path, old), (new_path, new)] in rendered.chain(init) {
            if let Some((path, text)) = files.get_mut(&old_path) {
                if !is_rust(&old_path) {
                    path.clone_from(&new_path);
                }
                if *path == new_path && tree.text(&old_path) == Some(&old) {
                    text.clone_from(&new);
                }
                if *path != new_path {
                    places.push((old_path, new_path));
                    continue;
                }
            }
            if old_path != new_path {
                places.push((old_path.clone(), new_path.clone()));
            }
            if are_given.contains(old_path.as_str()) {
                given.push((old_path, Rerendered { old, new }))
            } else {
                drop(renderings.insert(old_path, (new_path, Rerendered { old, new })))
            }
        }
        for (path, it) in given {
            if let Some((_, text)) = files.get_mut(&path) {
                let new = with_lines_of(&it.old, &normalized(text), &it.new);
                *text = with_line_ends_of(text, new);
            }
        }
        let surroundings = Surroundings::of(pairs, before, after, &files);
        for (path, lines) in &surroundings.renamed {
            if let (Some(was), Some((_, text))) = (tree.text(path), files.get_mut(path)) {
                *text = line_edits::in_order(path, was, text, lines)?;
            }
        }
        let names = NewNames {
            models: [before, after],
            known: [before, after].map(scaffold::rendered),
            words,
            types,
        };
        let conflicts = names.carry(&renderings, &sources, tree, &mut files)?;
        let around = surroundings.changes(before, after, &places, &moved, &mut files)?;
        Ok(Self {
            files,
            around,
            renderings,
            known: names.known,
            conflicts,
        })
    }

    /// What the command wants, after [`Self::changes`].
    pub(super) fn desired(
        self,
        after: Project,
        changes: Vec<Change>,
        warnings: Vec<String>,
    ) -> Desired {
        Desired {
            conflicts: self.conflicts,
            ..Desired::of(after, changes, warnings)
        }
    }

    /// The files that change. Rust files that were formatted are formatted again. In PROJECT, a file that its owner
    /// deleted has its new path.
    pub(super) fn changes(
        &mut self,
        after: &mut Project,
        tree: &Tree,
        format: Format<'_>,
    ) -> Vec<Change> {
        let mut changes = Vec::new();
        for (from, (path, text)) in &mut self.files {
            let was = tree.text(from).unwrap_or_default();
            if from == path && text == was {
                continue;
            }
            let rendered = self.renderings.get(from).map(|(_, it)| it);
            // What kbr renders is formatted, and stays what it is if its owner formats differently.
            let is_rendered = |it: &Rerendered| self.known[1].hash(path, text) == hash(&it.new);
            if path.ends_with(".rs") && text != was && !rendered.is_some_and(is_rendered) {
                *text = format(was, std::mem::take(text));
            }
            changes.push(Change::Rewrite {
                from: from.clone(),
                path: path.clone(),
                text: text.clone(),
                rendered: rendered.cloned(),
            });
        }
        changes.append(&mut self.around);
        for (old, (new, it)) in &self.renderings {
            if tree.text(old).is_none()
                && let Some(recorded) = after.files.remove(old)
            {
                let is_known = recorded == hash(&it.old);
                let recorded = if is_known { hash(&it.new) } else { recorded };
                after.files.insert(new.clone(), recorded);
            }
        }
        after.sort();
        changes.push(scaffold::crdgen(after));
        changes
    }

    /// Warnings about the owner's text that still has the old name; after [`Self::changes`], which may move lines.
    pub(super) fn left(&self, words: &RenameMap, tree: &Tree) -> Vec<String> {
        let is_unedited = |path: &str| {
            let text = tree.text(path).unwrap_or_default();
            self.known[0].is_unedited(path, text)
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

/// The files of the owner, with what moved at its new path.
fn files_of(tree: &Tree, moved: &Moved) -> RenamedFiles {
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
    files
}

/// How names change in code.
struct NewNames<'a> {
    /// Before and after.
    models: [&'a Project; 2],
    known: [Rendered; 2],
    words: &'a RenameMap,
    /// The files of the types that are renamed.
    types: BTreeSet<String>,
}

impl NewNames<'_> {
    /// Carries the edits of the owner over to what kbr renders now. `files` have the new names already, which what kbr
    /// rendered gets first. Returns the files with conflicts.
    fn carry(
        &self,
        renderings: &Renderings,
        sources: &BTreeMap<&str, &str>,
        tree: &Tree,
        files: &mut RenamedFiles,
    ) -> Result<Vec<String>> {
        let [before, after] = self.models;
        let [known, lines] = &self.known;
        let mut bases: BTreeMap<&str, String> = BTreeMap::new();
        for (path, (_, it)) in renderings {
            if let Some(text) = tree.text(path)
                && files.get(path).is_some_and(|(_, text)| *text != it.new)
            {
                bases.insert(path, known.with_additions(path, &it.old, text));
            }
        }
        let is_code = |path: &str| path.ends_with(".rs") && sources.contains_key(path);
        let mut rendered = sources.clone();
        let code = bases.iter().filter(|(path, _)| is_code(path));
        rendered.extend(code.map(|(path, text)| (*path, text.as_str())));
        let moved = module_moves::moved(before, after, &rendered)?;
        let mut carrier = Carrier::new(before, known, lines, tree);
        for (path, base) in &bases {
            let Some((to, text)) = files.get_mut(*path) else {
                continue;
            };
            let rewritten = moved.files.iter().find(|file| file.from == *path);
            let base = rewritten.map_or(base, |file| &file.text);
            let base = if is_code(path) {
                &self.words.in_code(base, self.types.contains(*path))
            } else {
                base
            };
            *text = carrier.renamed(path, to, &renderings[*path].1, base, text);
        }
        carrier.end()
    }
}
