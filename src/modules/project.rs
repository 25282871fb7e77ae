//! The Rust files of a project, as modules. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::edit::{Edit, apply, respell, respell_use};
use super::names::{Module, Names};
use super::places::{folder, relative, stem};
use super::source::{Declaration as Declared, Path, Source};
use super::{Crate, Declaration, Move};

/// A file that is a module.
pub struct File {
    source: Source,
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
        let mut open: Vec<(String, Module)> = vec![(it.root.clone(), (number, Vec::new()))];
        while let Some((path, module)) = open.pop() {
            // A file of several crates counts as a module of the first.
            let Some(text) = files
                .get(path.as_str())
                .filter(|_| !read.contains_key(&path))
            else {
                continue;
            };
            let source = Source::read(text);
            let scope = names.add(&module, &source);
            for declaration in &source.declarations {
                let child = names.child(scope + declaration.scope, &declaration.name.text);
                let stem = stem(&it.root, &child.1);
                open.push((format!("{stem}/mod.rs"), child.clone()));
                open.push((format!("{stem}.rs"), child));
            }
            read.insert(path, File { source, scope });
        }
    }
    read
}

/// The files that are modules of a crate, except those that only its tests have.
pub fn reached(files: &BTreeMap<&str, &str>) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    for it in all_crates(&[], &[], files) {
        let mut open = vec![(it.root.clone(), Vec::new())];
        while let Some((path, module)) = open.pop() {
            let Some(text) = files.get(path.as_str()) else {
                continue;
            };
            if !reached.insert(path) {
                continue;
            }
            let source = Source::read(text);
            for declaration in &source.declarations {
                if text[declaration.range.clone()].contains("#[cfg(test)]") {
                    continue;
                }
                let mut child: Vec<String> = module.clone();
                child.extend(source.scopes[declaration.scope].module.iter().cloned());
                child.push(declaration.name.text.clone());
                let stem = stem(&it.root, &child);
                open.push((format!("{stem}/mod.rs"), child.clone()));
                open.push((format!("{stem}.rs"), child));
            }
        }
    }
    reached
}

/// Makes imports follow the items that are reached through them, if these are all in one module.
pub fn carry_imports(files: &BTreeMap<String, File>, names: &mut Names<'_>) {
    let mut uses = Vec::new();
    for file in files.values() {
        for path in &file.source.paths {
            let segments: Vec<&str> = path.segments.iter().map(|it| it.text.as_str()).collect();
            uses.extend(names.uses(file.scope + path.scope, &segments, path.is_global, None));
        }
        for item in &file.source.uses {
            let scope = file.scope + item.scope;
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
    pub fn edits(&self, names: &Names<'_>) -> Vec<Edit> {
        let mut edits = Vec::new();
        for path in &self.source.paths {
            let scope = self.scope + path.scope;
            edits.extend(if path.is_visibility {
                visibility(names, scope, path)
            } else {
                respell(&path.segments, &respelled(names, scope, path))
            });
        }
        for item in &self.source.uses {
            let scope = self.scope + item.scope;
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
    ) -> Vec<Edit> {
        let literals = self.source.files.iter();
        literals
            .filter_map(|range| {
                Some(Edit {
                    range: range.clone(),
                    text: relative(&text[range.clone()], from, to, places)?,
                })
            })
            .collect()
    }

    /// Returns the declarations that the file no longer has; adds the edits that remove or rename
    /// declarations to `edits`.
    pub fn declarations(
        &self,
        names: &Names<'_>,
        crates: &[Crate],
        text: &str,
        edits: &mut Vec<Edit>,
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
                edits.push(Edit {
                    range: declared.name.range.clone(),
                    text: name.clone(),
                });
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
fn visibility(names: &Names<'_>, scope: usize, path: &Path) -> Option<Edit> {
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
fn remove(text: &str, declared: &Declared, edits: &[Edit]) -> (String, Edit) {
    let range = declared.range.clone();
    let mut own = apply(text, range.clone(), edits);
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
    let text = String::new();
    (own, Edit { range, text })
}
