//! The Rust files of a project, as modules. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use super::edit::{respell, respell_use};
use super::names::Names;
use super::places::{folder, join, relative};
use super::source::{Declaration as Declared, Path, Source};
use super::{Crate, Declaration, Move};
use crate::rust::{Replacement, replaced};

/// A file that is a module.
pub struct File {
    source: Rc<Source>,
    /// The number of its first scope among all scopes.
    scope: usize,
}

/// The crates with names, and those that cargo finds by the paths of their roots.
pub fn all_crates(crates: &[Crate], moves: &[Move], files: &BTreeMap<&str, &str>) -> Vec<Crate> {
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
                new_names: Vec::new(),
            });
        }
    }
    all
}

/// Reads the crates, following the declarations from file to file.
pub fn read(
    crates: &[Crate],
    files: &BTreeMap<&str, &str>,
    names: &mut Names<'_>,
) -> BTreeMap<String, File> {
    let mut read = BTreeMap::new();
    for (number, it) in crates.iter().enumerate() {
        // A file of several crates counts as a module of the first.
        walk(&it.root, files, &mut |place| {
            if read.contains_key(place.path) {
                return false;
            }
            if !place.is_included {
                let scope = names.add(&(number, place.module.clone()), &place.source);
                let source = Rc::clone(&place.source);
                read.insert(place.path.to_owned(), File { source, scope });
            }
            true
        });
    }
    read
}

/// The files in modules of these crates; unless `with_tests`, without those that only tests have.
pub fn reached<'a>(
    roots: impl Iterator<Item = &'a str>,
    files: &BTreeMap<&str, &str>,
    with_tests: bool,
) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    for root in roots {
        walk(root, files, &mut |place| {
            (with_tests || !place.is_for_tests) && reached.insert(place.path.to_owned())
        });
    }
    reached
}

/// A file of a crate.
struct Place<'a> {
    path: &'a str,
    module: Vec<String>,
    source: Rc<Source>,
    is_for_tests: bool,
    /// Whether the module is in another file, which has `include!`.
    is_included: bool,
}

/// Calls `each` for every file of a crate, which says whether to go on with the modules that the file declares.
fn walk(root: &str, files: &BTreeMap<&str, &str>, each: &mut dyn FnMut(&Place<'_>) -> bool) {
    // Path, folder of the files of its modules, module, whether it is for tests, whether it is included.
    let mut open = vec![(
        root.to_owned(),
        folder(root).to_owned(),
        Vec::new(),
        false,
        false,
    )];
    while let Some((path, below, module, is_for_tests, is_included)) = open.pop() {
        let Some(text) = files.get(path.as_str()) else {
            continue;
        };
        let source = Rc::new(Source::read(text));
        let place = Place {
            path: &path,
            module: module.clone(),
            source: Rc::clone(&source),
            is_for_tests,
            is_included,
        };
        if !each(&place) {
            continue;
        }
        for file in &source.included {
            let file = join(folder(&path), &file.text);
            open.push((file, below.clone(), module.clone(), is_for_tests, true));
        }
        for it in &source.declarations {
            let inline = &source.blocks[it.scope].module;
            let is_for_tests = is_for_tests || it.is_for_tests;
            let child = [&module[..], inline, std::slice::from_ref(&it.name.text)].concat();
            let around = inline
                .iter()
                .fold(below.clone(), |around, name| join(&around, name));
            if let Some(file) = &it.path {
                let from = if inline.is_empty() {
                    folder(&path)
                } else {
                    &around
                };
                let file = join(from, file);
                let below = folder(&file).to_owned();
                open.push((file, below, child, is_for_tests, false));
                continue;
            }
            let name = it.name.text.strip_prefix("r#").unwrap_or(&it.name.text);
            let stem = join(&around, name);
            for file in [format!("{stem}/mod.rs"), format!("{stem}.rs")] {
                open.push((file, stem.clone(), child.clone(), is_for_tests, false));
            }
        }
    }
}

/// Makes imports follow the items that are reached through them, if these are all in one module.
pub fn carry_imports(files: &BTreeMap<String, File>, names: &mut Names<'_>) {
    let mut uses = Vec::new();
    for file in files.values() {
        for path in &file.source.paths {
            let segments: Vec<&str> = path.segments.iter().map(|it| it.text.as_str()).collect();
            uses.extend(names.uses(file.scope + path.scope, &segments, path.is_global, None));
        }
        for (block, item) in &file.source.uses {
            let scope = file.scope + block;
            item.tree.leaves(&[], &mut |path, alias| {
                let import = names.import_of(scope, path, alias);
                uses.extend(names.uses(scope, path, item.is_global, import));
            });
        }
    }
    names.carry_imports(&uses);
}

impl File {
    /// The edits that correct its paths, except for declarations.
    pub fn edits(&self, names: &Names<'_>) -> Vec<Replacement> {
        let mut edits = Vec::new();
        for path in &self.source.paths {
            let scope = self.scope + path.scope;
            edits.extend(if path.is_visibility {
                visibility(names, scope, path)
            } else {
                respell(&path.segments, &respelled(names, scope, path))
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
    pub fn file_edits(
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
    pub fn declarations(
        &self,
        names: &Names<'_>,
        crates: &[Crate],
        text: &str,
        edits: &mut Vec<Replacement>,
    ) -> Vec<Declaration> {
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
            if names.moved(names.module_of(scope)).1 != parent {
                let (mut text, removal) = remove(text, declared, edits);
                let outer = old.1.len().saturating_sub(2);
                let (_, outer) = names.moved(&(number, old.1[..outer].to_vec()));
                let own = format!("mod {name};");
                if parent == outer {
                    text = text.replace(&format!("pub(super) {own}"), &own);
                }
                if !declared.is_public && names.is_seen_outside(&(number, new.clone())) {
                    let (_, old_parent) = names.moved(names.module_of(scope));
                    let is_below = parent.split_last().is_some_and(|it| it.1 == old_parent);
                    let visibility = if is_below { "super" } else { "crate" };
                    text = text.replace(&own, &format!("pub({visibility}) {own}"));
                }
                edits.push(removal);
                removed.push(Declaration {
                    root: crates[number].root.clone(),
                    parent: parent.join("::"),
                    text,
                });
            }
        }
        removed
    }
}

fn respelled(names: &Names<'_>, scope: usize, path: &Path) -> Vec<String> {
    let old: Vec<&str> = path.segments.iter().map(|it| it.text.as_str()).collect();
    names.respell(scope, &old, path.is_global)
}

/// `pub(super)` becomes `pub(in crate::a)` if that module still contains it.
fn visibility(names: &Names<'_>, scope: usize, path: &Path) -> Option<Replacement> {
    let new = respelled(names, scope, path);
    let (_, here) = names.moved(names.module_of(scope));
    let is_around = new.first().is_some_and(|head| head == "crate") && here.starts_with(&new[1..]);
    let mut edit = respell(&path.segments, &new).filter(|_| is_around)?;
    if new.len() > 1 {
        edit.text.insert_str(0, "in ");
    }
    Some(edit)
}

/// The text of a declaration after `edits`, and the edit that removes its lines.
fn remove(text: &str, declared: &Declared, edits: &[Replacement]) -> (String, Replacement) {
    let range = declared.range.clone();
    let mut own = replaced(text, range.clone(), edits);
    let line = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[range.end..].find('\n');
    let end = end.map_or(text.len(), |at| range.end + at + 1);
    let comment = text[range.end..end].trim();
    let is_alone = text[line..range.start].trim().is_empty()
        && (comment.is_empty() || comment.starts_with("//"));
    if is_alone && !comment.is_empty() {
        own = format!("{own} {comment}");
    }
    let range = if is_alone { line..end } else { range };
    (own, Replacement::new(range, ""))
}
