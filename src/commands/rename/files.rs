//! How the files of a renamed kind, version or group change.
//!
//! Each file of the scaffold is rendered with the old name and with the new one. Where the user's file has
//! the old version of lines that differ, they are replaced with the new version. So an unedited file becomes what it
//! would be if it had always had that name, and in an edited one everything else stays. Paths to modules are
//! rewritten before that; [`mod@around`] handles modules that leave others behind. Pure.

mod around;

use std::collections::{BTreeMap, BTreeSet};

use similar::{DiffTag, TextDiff};

use crate::commands::error::Result;
use crate::layout::{self, Place};
use crate::plan::{Change, hash, is_generated};
use crate::project::{PROJECT_FILE, Project};
use crate::scaffold;
use crate::tree::Tree;

use super::changed;
use super::words::Words;
use crate::commands::lines;
use crate::commands::moves::{self, Format};
use around::Lines;

/// The new path and text of each file, by its old path.
type Files = BTreeMap<String, (String, String)>;

/// A file of the scaffold: its path and text before and after.
type Pair = [(String, String); 2];

/// The files of a project in which something is renamed.
pub struct Renamed {
    files: Files,
    /// Old and new path of each file of the scaffold that moves, whether it exists or not.
    pub places: Vec<(String, String)>,
    /// Changes that add and remove modules and lines.
    around: Vec<Change>,
}

impl Renamed {
    /// The resources of both models must be in the same order. `init` contains the files from `kbr init`, if
    /// they change.
    pub fn of(
        before: &Project,
        after: &Project,
        words: &Words,
        init: Vec<Pair>,
        tree: &Tree,
    ) -> Result<Self> {
        let pairs = scaffold::pairs(before, after);
        let sources = moves::sources(tree);
        let moved = moves::moved(before, after, &sources)?;
        let is_ours = |path: &str, text: &str| {
            path != PROJECT_FILE && !path.starts_with(layout::VENDORED) && !is_generated(text)
        };
        let texts = tree.files().filter(|(path, text)| is_ours(path, text));
        let mut files: Files = texts
            .map(|(path, text)| (path.to_owned(), (path.to_owned(), text.to_owned())))
            .collect();
        for file in &moved.files {
            files.insert(file.from.clone(), (file.to.clone(), file.text.clone()));
        }
        let types = changed(before, after).map(|(old, _)| Place::of(before, old).types());
        let types: BTreeSet<String> = types.collect();
        let is_rust = |path: &str| path.ends_with(".rs") && sources.contains_key(path);
        for (path, (_, text)) in files.iter_mut().filter(|(path, _)| is_rust(path)) {
            *text = words.in_code(text, types.contains(path));
        }
        let rendered = pairs.iter().filter_map(|(old, new)| {
            let old_text = old.text(before)?;
            Some([
                (old.path.clone(), old_text),
                (new.path.clone(), new.text(after)?),
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
                    *text = with_lines(text, &old_text, &new_text, false);
                }
            }
            if old_path != new_path {
                places.push((old_path, new_path));
            }
        }
        let around = Lines::of(&pairs, before, after, &files);
        let renamed = around.renamed.iter().map(|(old, new)| (old, new));
        for (path, lines) in lines::renamed(renamed) {
            if let (Some(was), Some((_, text))) = (tree.text(path), files.get_mut(path)) {
                *text = lines::in_order(path, was, text, &lines)?;
            }
        }
        let around = around.changes(&pairs, (before, after), &moved, &mut files)?;
        Ok(Self {
            files,
            places,
            around,
        })
    }

    /// The files that change; those that were formatted are formatted again.
    pub fn changes(&self, tree: &Tree, format: Format<'_>) -> Vec<Change> {
        let mut changes = Vec::new();
        for (from, (path, text)) in &self.files {
            let was = tree.text(from).unwrap_or_default();
            if from == path && text == was {
                continue;
            }
            changes.push(moves::moved_file(from, path, was, text.clone(), format));
        }
        changes.extend(self.around.iter().cloned());
        changes
    }

    /// Warnings about the owner's text that still has the old name.
    pub fn left(&self, before: &Project, words: &Words, tree: &Tree) -> Vec<String> {
        let inserted = scaffold::inserted(before);
        let is_as_rendered = |path: &str| {
            let text = inserted.taken_out(path, tree.text(path).unwrap_or_default());
            before.files.get(path) == Some(&hash(&text))
        };
        let files = self.files.iter().filter(|(from, _)| !is_as_rendered(from));
        let left = files.filter_map(|(_, (path, text))| {
            let name = words.left_in(text)?;
            Some(format!("`{path}` still has the name `{name}`"))
        });
        left.collect()
    }
}

/// `text` with the lines in which `old` and `new` differ changed to those of `new`; imports only on request, because
/// they are paths, which a rename rewrites separately, in the form that their owner uses.
pub fn with_lines(text: &str, old: &str, new: &str, with_imports: bool) -> String {
    let blocks = blocks(old, new, with_imports);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let bare = |line: &str| line.trim_end_matches(['\r', '\n']).to_owned();
    let mut result = String::with_capacity(text.len());
    let mut at = 0;
    while at < lines.len() {
        let matches_here = |old: &Vec<&str>| {
            let here = lines.get(at..at + old.len());
            here.is_some_and(|here| here.iter().zip(old).all(|(a, b)| bare(a) == *b))
        };
        let Some((old, new)) = blocks.iter().find(|(old, _)| matches_here(old)) else {
            result.push_str(lines[at]);
            at += 1;
            continue;
        };
        let last = lines[at + old.len() - 1];
        let ending = &last[bare(last).len()..];
        result.push_str(&new.join(if ending.is_empty() { "\n" } else { ending }));
        result.push_str(ending);
        at += old.len();
    }
    result
}

/// The lines in which two texts differ: in pairs, or as whole blocks if one side has more lines.
fn blocks<'a>(old: &'a str, new: &'a str, with_imports: bool) -> Vec<(Vec<&'a str>, Vec<&'a str>)> {
    let (olds, news): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let diff = TextDiff::from_slices(&olds, &news);
    let mut blocks = Vec::new();
    let is_import = |line: &str| !with_imports && line.starts_with("use ");
    for op in diff.ops().iter().filter(|op| op.tag() == DiffTag::Replace) {
        let (old, new) = (&olds[op.old_range()], &news[op.new_range()]);
        if old.len() == new.len() {
            let pairs = old.iter().zip(new);
            let pairs = pairs.filter(|(old, _)| !is_import(old));
            blocks.extend(pairs.map(|(old, new)| (vec![*old], vec![*new])));
        } else if !old.iter().any(|line| is_import(line)) {
            blocks.push((old.to_vec(), new.to_vec()));
        }
    }
    blocks
}
