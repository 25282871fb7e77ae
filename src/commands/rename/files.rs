//! What becomes of the files of a kind that gets another name.
//!
//! Each file of the scaffold is rendered with the old name and with the new one, and where its owner has
//! the lines in which they differ, they become the new ones. So a file as it was rendered becomes what
//! it would be had the kind always had that name, and in an edited one all else stays. Pure.

use std::collections::BTreeMap;

use similar::{DiffTag, TextDiff};

use crate::error::Result;
use crate::layout;
use crate::plan::{Change, hash, is_generated};
use crate::project::{PROJECT_FILE, Project};
use crate::scaffold::{self, Part};
use crate::tree::Tree;

use super::super::lines;
use super::super::moves::{self, Format};
use super::words::Words;

/// The files of a project with a kind under another name.
pub struct Renamed {
    /// Path and text to be, by the path that was.
    files: BTreeMap<String, (String, String)>,
    /// Old and new path of each file of the kind's, whether it is there or not.
    pub places: Vec<(String, String)>,
}

impl Renamed {
    /// The resources of both models are in the same order.
    pub fn of(before: &Project, after: &Project, words: &Words, tree: &Tree) -> Result<Self> {
        let pairs: Vec<(Part, Part)> = scaffold::of(before)
            .into_iter()
            .zip(scaffold::of(after))
            .collect();
        let is_ours = |path: &str, text: &str| {
            path != PROJECT_FILE && !path.starts_with(layout::VENDORED) && !is_generated(text)
        };
        let texts = tree.files().filter(|(path, text)| is_ours(path, text));
        let mut texts: BTreeMap<&str, String> =
            texts.map(|(path, text)| (path, text.to_owned())).collect();
        let mut places = Vec::new();
        for (old, new) in &pairs {
            let (Some(old_text), Some(new_text)) = (old.text(before), new.text(after)) else {
                continue;
            };
            if let Some(text) = texts.get_mut(&*old.path) {
                *text = with_lines(text, &old_text, &new_text);
            }
            if old.path != new.path {
                places.push((old.path.clone(), new.path.clone()));
            }
        }
        let sources = moves::sources(tree);
        let is_rust = |path: &str| path.ends_with(".rs") && sources.contains_key(path);
        for (_, text) in texts.iter_mut().filter(|(path, _)| is_rust(path)) {
            *text = words.in_code(text);
        }
        let rust = texts.iter().map(|(path, text)| (*path, text.as_str()));
        let rust = rust
            .filter(|(path, _)| sources.contains_key(path))
            .collect();
        let moved = moves::moved(before, after, &rust)?;
        let place = |path: &str| {
            let mut places = places.iter();
            let to = places.find(|(from, _)| from == path);
            to.map_or(path, |(_, to)| to).to_owned()
        };
        let mut files: BTreeMap<String, (String, String)> = texts
            .into_iter()
            .map(|(path, text)| (path.to_owned(), (place(path), text)))
            .collect();
        for file in moved.files {
            files.insert(file.from, (file.to, file.text));
        }
        let pairs = pairs.iter().map(|(old, new)| (old, new));
        for (path, lines) in lines::renamed(pairs) {
            if let (Some(was), Some((_, text))) = (tree.text(path), files.get_mut(path)) {
                *text = lines::in_order(path, was, text, &lines)?;
            }
        }
        Ok(Self { files, places })
    }

    /// The files that change, formatted where they were before.
    pub fn changes(&self, tree: &Tree, format: Format<'_>) -> Vec<Change> {
        let mut changes = Vec::new();
        for (from, (path, text)) in &self.files {
            let was = tree.text(from).unwrap_or_default();
            if from == path && text == was {
                continue;
            }
            changes.push(moves::moved_file(from, path, was, text.clone(), format));
        }
        changes
    }

    /// What its owner wrote and still has the old name.
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

/// `text` with the lines in which `old` and `new` differ as they are in `new`.
fn with_lines(text: &str, old: &str, new: &str) -> String {
    let blocks = blocks(old, new);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let bare = |line: &str| line.trim_end_matches(['\r', '\n']).to_owned();
    let mut result = String::with_capacity(text.len());
    let mut at = 0;
    while at < lines.len() {
        let stands_here = |old: &Vec<&str>| {
            let here = lines.get(at..at + old.len());
            here.is_some_and(|here| here.iter().zip(old).all(|(a, b)| bare(a) == *b))
        };
        let Some((old, new)) = blocks.iter().find(|(old, _)| stands_here(old)) else {
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

/// The lines in which two texts differ: in pairs, or all that stand together where one has more.
fn blocks<'a>(old: &'a str, new: &'a str) -> Vec<(Vec<&'a str>, Vec<&'a str>)> {
    let (olds, news): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let diff = TextDiff::from_slices(&olds, &news);
    let mut blocks = Vec::new();
    for op in diff.ops().iter().filter(|op| op.tag() == DiffTag::Replace) {
        let (old, new) = (&olds[op.old_range()], &news[op.new_range()]);
        if old.len() == new.len() {
            let pairs = old.iter().zip(new);
            blocks.extend(pairs.map(|(old, new)| (vec![*old], vec![*new])));
        } else {
            blocks.push((old.to_vec(), new.to_vec()));
        }
    }
    blocks
}
