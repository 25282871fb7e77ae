//! The Rust files of a project, as modules. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use super::edit::{respell, respell_use};
use super::names::{Names, Reference};
use super::places::{folder, join, relative, stem};
use super::source::{Declaration, Path, Source};
use super::{Crate, Move, MovedDeclaration};
use crate::rust::{Replacement, path, replaced};

/// A file that is a module.
pub(super) struct SourceFile {
    source: Rc<Source>,
    /// The number of its first scope among all scopes.
    scope: usize,
}

/// The crates with names, and those that cargo finds by the paths of their roots.
pub(super) fn all_crates(
    crates: &[Crate],
    moves: &[Move],
    files: &BTreeMap<&str, &str>,
) -> Vec<Crate> {
    let mut all = crates.to_vec();
    // A file in a folder `tests` may also be a module of another crate, so such crates come first.
    let mains = files.keys().filter(|path| {
        let name = path.rsplit('/').next();
        name.is_some_and(|name| matches!(name, "lib.rs" | "main.rs" | "build.rs"))
    });
    let others = files.keys().filter(|path| {
        let parent = folder(path).rsplit('/').next().unwrap_or_default();
        path.ends_with(".rs") && matches!(parent, "benches" | "bin" | "examples" | "tests")
    });
    let moved = moves.iter().map(|it| it.root.as_str());
    for root in moved.chain(mains.chain(others).copied()) {
        if all.iter().all(|it| it.root != root) {
            all.push(Crate {
                root: root.to_owned(),
                names: Vec::new(),
            });
        }
    }
    all
}

/// Reads the crates, following the declarations from file to file.
pub(super) fn read(
    crates: &[Crate],
    files: &BTreeMap<&str, &str>,
    names: &mut Names<'_>,
) -> BTreeMap<String, SourceFile> {
    let mut read = BTreeMap::new();
    for (number, it) in crates.iter().enumerate() {
        // A file of several crates counts as a module of the first.
        walk(&it.root, files, &mut |place, source| {
            if read.contains_key(&place.path) {
                return false;
            }
            if !place.is_included {
                let scope = names.add(&(number, place.module.clone()), source);
                let source = Rc::clone(source);
                read.insert(place.path.clone(), SourceFile { source, scope });
            }
            true
        });
    }
    read
}

/// The files in modules of these crates; unless `with_tests`, without those that only tests have.
pub(crate) fn reached<'a>(
    roots: impl Iterator<Item = &'a str>,
    files: &BTreeMap<&str, &str>,
    with_tests: bool,
) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    for root in roots {
        walk(root, files, &mut |place, _| {
            (with_tests || !place.is_for_tests) && reached.insert(place.path.clone())
        });
    }
    reached
}

/// A file of a crate.
#[derive(Clone, Default)]
struct ModuleFile {
    path: String,
    /// The folder of the files of its modules.
    below: String,
    module: Vec<String>,
    is_for_tests: bool,
    /// Whether the module is in another file, which has `include!`.
    is_included: bool,
}

/// Calls `each` for every file of a crate, which says whether to go on with the modules that the file declares.
fn walk(
    root: &str,
    files: &BTreeMap<&str, &str>,
    each: &mut dyn FnMut(&ModuleFile, &Rc<Source>) -> bool,
) {
    let mut open = vec![ModuleFile {
        path: root.to_owned(),
        below: folder(root).to_owned(),
        ..ModuleFile::default()
    }];
    while let Some(place) = open.pop() {
        let Some(text) = files.get(place.path.as_str()) else {
            continue;
        };
        let source = Rc::new(Source::read(text));
        if !each(&place, &source) {
            continue;
        }
        let here = folder(&place.path);
        open.extend(source.included.iter().map(|file| ModuleFile {
            path: join(here, &file.text),
            is_included: true,
            ..place.clone()
        }));
        for it in &source.declarations {
            let inline = &source.blocks[it.scope].module;
            let around = inline
                .iter()
                .fold(place.below.clone(), |around, name| join(&around, name));
            let (files, below) = if let Some(path) = &it.path {
                let file = join(if inline.is_empty() { here } else { &around }, path);
                let below = folder(&file).to_owned();
                (vec![file], below)
            } else {
                let stem = stem(&around, &it.name.text);
                (vec![format!("{stem}/mod.rs"), format!("{stem}.rs")], stem)
            };
            let module = [&place.module, inline, std::slice::from_ref(&it.name.text)].concat();
            open.extend(files.into_iter().map(|path| ModuleFile {
                path,
                below: below.clone(),
                module: module.clone(),
                is_for_tests: place.is_for_tests || it.is_for_tests,
                is_included: false,
            }));
        }
    }
}

/// Makes imports follow the items that are reached through them, if these are all in one module.
pub(super) fn carry_imports(files: &BTreeMap<String, SourceFile>, names: &mut Names<'_>) {
    let mut uses = BTreeSet::new();
    for file in files.values() {
        for path in &file.source.paths {
            uses.extend(names.uses(&file.reference(path), None));
        }
        for (block, item) in &file.source.uses {
            let scope = file.scope + block;
            for leaf in item.tree.leaves() {
                let import = names.import_of(scope, &leaf);
                let from = Reference::new(scope, leaf.path, item.is_global);
                uses.extend(names.uses(&from, import));
            }
        }
    }
    names.carry_imports(&uses);
}

impl SourceFile {
    fn reference(&self, path: &Path) -> Reference {
        let names = path::names(&path.segments);
        Reference::new(self.scope + path.scope, names, path.is_global)
    }

    /// The edits that correct its paths, except for declarations.
    pub(super) fn edits(&self, names: &Names<'_>) -> Vec<Replacement> {
        let mut edits = Vec::new();
        for path in &self.source.paths {
            let from = self.reference(path);
            let new = names.respell(&from, false, None);
            edits.extend(if path.is_visibility {
                let (_, here) = names.moved(names.module_of(from.scope));
                visibility(&here, path, &new)
            } else {
                respell(&path.segments, &new)
            });
        }
        for (block, item) in &self.source.uses {
            let scope = self.scope + block;
            if !names.is_carried_export(scope, &item.tree) {
                edits.extend(respell_use(names, scope, item));
            }
        }
        edits
    }

    /// The edits of literals with paths of files, if the file moves from `from` to `to`.
    pub(super) fn file_edits(
        &self,
        text: &str,
        (from, to): (&str, &str),
        places: &BTreeMap<&str, String>,
    ) -> Vec<Replacement> {
        let literals = self.source.files.iter().cloned();
        let edit = |range: Range<usize>| {
            let new = relative(&text[range.clone()], from, to, places)?;
            Some(Replacement::new(range, new))
        };
        literals.filter_map(edit).collect()
    }

    /// Returns the declarations that the file no longer has; adds the edits that remove or rename
    /// declarations to `edits`.
    pub(super) fn declarations(
        &self,
        names: &Names<'_>,
        crates: &[Crate],
        text: &str,
        edits: &mut Vec<Replacement>,
    ) -> Vec<MovedDeclaration> {
        let mut removed = Vec::new();
        for declared in &self.source.declarations {
            let scope = self.scope + declared.scope;
            let old = names.child(scope, &declared.name.text);
            let (number, new) = names.moved(&old);
            let Some((name, parent)) = new.split_last() else {
                continue;
            };
            if *name != declared.name.text {
                edits.push(Replacement::new(declared.name.range.clone(), name));
            }
            let (_, old_parent) = names.moved(names.module_of(scope));
            if old_parent != parent {
                let (mut text, removal) = remove(text, declared, edits);
                let outer = old.1.len().saturating_sub(2);
                let (_, outer) = names.moved(&(number, old.1[..outer].to_vec()));
                let own = format!("mod {name};");
                if parent == outer {
                    text = text.replace(&format!("pub(super) {own}"), &own);
                }
                if !declared.is_public && names.is_seen_outside(&(number, new.clone())) {
                    let is_below = parent.split_last().is_some_and(|it| it.1 == old_parent);
                    let visibility = if is_below { "super" } else { "crate" };
                    text = text.replace(&own, &format!("pub({visibility}) {own}"));
                }
                edits.push(removal);
                removed.push(MovedDeclaration {
                    root: crates[number].root.clone(),
                    parent: parent.join("::"),
                    text,
                });
            }
        }
        removed
    }
}

/// `pub(super)` becomes `pub(in crate::a)` if that module still contains it; it is `here` after the move.
fn visibility(here: &[String], path: &Path, new: &[String]) -> Option<Replacement> {
    let is_around = new.first().is_some_and(|head| head == "crate") && here.starts_with(&new[1..]);
    let mut edit = respell(&path.segments, new).filter(|_| is_around)?;
    if new.len() > 1 {
        edit.text.insert_str(0, "in ");
    }
    Some(edit)
}

/// The text of a declaration after `edits`, and the edit that removes its lines.
fn remove(text: &str, declared: &Declaration, edits: &[Replacement]) -> (String, Replacement) {
    let range = declared.range.clone();
    let mut own = replaced(text, range.clone(), edits);
    let line = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[range.end..].find('\n');
    let end = line_end.map_or(text.len(), |at| range.end + at + 1);
    let comment = text[range.end..end].trim();
    let is_alone = text[line..range.start].trim().is_empty()
        && (comment.is_empty() || comment.starts_with("//"));
    if is_alone && !comment.is_empty() {
        own = format!("{own} {comment}");
    }
    let removed = if is_alone { line..end } else { range };
    (own, Replacement::new(removed, ""))
}
