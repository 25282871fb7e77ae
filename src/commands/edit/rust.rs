//! The Rust modules of a project in another shape: which of them move, and what is around them.
//!
//! Modules that hold something of the user's are moved by [`crate::modules`]; those that only hold other
//! modules, such as that of a group, come and go with the scaffold. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Error, Result};
use crate::layout::{self, Part as Folder, Place};
use crate::marker::ScaffoldMarker;
use crate::modules::{self, Crate, Declaration, Move, Moved};
use crate::plan::Change;
use crate::project::{Admission, Project, Resource};
use crate::scaffold::{self, Part, What};
use crate::tree::Tree;

use super::super::insert;
use super::rewrite;

/// The Rust files that move or name what moves.
pub fn moved(before: &Project, after: &Project, tree: &Tree) -> Result<Moved> {
    let crate_name = before.project_name.crate_name();
    let crates = [
        Crate {
            root: layout::API_LIB.to_owned(),
            names: vec!["api".to_owned(), format!("{crate_name}_api")],
        },
        Crate {
            root: layout::LIB.to_owned(),
            names: vec![crate_name],
        },
    ];
    let is_ours = |path: &str| {
        path != layout::CRDGEN
            && !path.starts_with(layout::VENDORED)
            && ["api/", "src/", "tests/", "examples/"]
                .iter()
                .any(|folder| path.starts_with(folder))
    };
    let files: BTreeMap<&str, &str> = tree.files().filter(|(path, _)| is_ours(path)).collect();
    modules::rewrite(&crates, &moves(before, after), &files).map_err(|error| Error::Move {
        reason: error.to_string(),
    })
}

/// The modules of all resources, in the one shape and in the other.
fn moves(before: &Project, after: &Project) -> Vec<Move> {
    let mut moves = Vec::new();
    let mut versions = BTreeSet::new();
    // A version's module with webhooks of several groups goes with the project's own.
    let own = before.resources.iter().zip(&after.resources);
    let mut resources: Vec<_> = own.collect();
    resources.sort_by_key(|(old, _)| !old.is_own());
    for (old, new) in resources {
        let (from, to) = (Place::of(before, old), Place::of(after, new));
        let mut add = |folder: Folder, from: String, to: String| {
            if let (Some(from), Some(to)) = (folder.module(&from), folder.module(&to)) {
                moves.push(Move {
                    root: folder.root().to_owned(),
                    from,
                    to,
                });
            }
        };
        if old.is_own() && versions.insert((Folder::Api, from.version_module())) {
            add(Folder::Api, from.version_module(), to.version_module());
        }
        // A controller keeps its name, if not its place among the others.
        for name in old.controllers.iter().map(Option::as_ref) {
            let mut now = new.controllers.iter().map(Option::as_ref);
            let Some(now) = now.find(|now| to.controller_name(*now) == from.controller_name(name))
            else {
                continue;
            };
            add(
                Folder::Controllers,
                from.controller(name),
                to.controller(now),
            );
            add(
                Folder::Tests,
                from.controller_test(name),
                to.controller_test(now),
            );
        }
        for (old, new, part) in webhooks(old, new) {
            let (from, to) = (Place::of(before, &old), Place::of(after, &new));
            let version = (from.webhook_version_module(), to.webhook_version_module());
            let is_first = versions.insert((Folder::Webhooks, version.0.clone()))
                && versions.insert((Folder::Webhooks, version.1.clone()));
            if is_first {
                add(Folder::Webhooks, version.0, version.1);
            } else {
                add(Folder::Webhooks, from.webhook(part), to.webhook(part));
            }
            add(
                Folder::Tests,
                from.webhook_test(part),
                to.webhook_test(part),
            );
        }
    }
    moves.retain(|moved| moved.from != moved.to);
    moves
}

/// Every webhook of a resource: in the version that it is in, before and after, and its part.
fn webhooks(old: &Resource, new: &Resource) -> Vec<(Resource, Resource, &'static str)> {
    let webhooks = old.webhooks();
    let admissions = Admission::ALL.into_iter().filter(|it| webhooks.has(*it));
    let mut all: Vec<_> = admissions
        .map(|admission| (old.clone(), new.clone(), scaffold::part(admission)))
        .collect();
    for spoke in &webhooks.spoke {
        let (mut old, mut new) = (old.clone(), new.clone());
        old.version = spoke.clone();
        new.version = spoke.clone();
        all.push((old, new, scaffold::CONVERTER));
    }
    all
}

/// What is around the moved modules: those of the groups, the lines that declare and register.
pub fn around(
    before: &Project,
    after: &Project,
    moved: &Moved,
    tree: &Tree,
) -> Result<Vec<Change>> {
    let (old, new) = (scaffold::of(before), scaffold::of(after));
    let mut changes = left_over(before, &scaffold::without(old.clone(), &new), moved, tree)?;
    let is_moved = |path: &str| {
        let mut files = moved.files.iter();
        files.any(|file| file.from != file.to && file.to == path)
    };
    let (mut files, mut lines) = (Vec::new(), Vec::new());
    for part in scaffold::without(new, &old) {
        let is_rust = part.path.ends_with(".rs");
        match &part.what {
            What::File { .. } if is_rust && !is_moved(&part.path) => {
                files.push(part.change(after, false));
            }
            What::Line { marker, fragment } if is_rust && *marker == ScaffoldMarker::Modules => {
                let mut declarations = moved.declarations.iter();
                let owners = declarations.find(|it| is_of(it, &part.path, fragment));
                if owners.is_some() || !is_moved(&part.path) {
                    let fragment = owners.map_or(fragment, |it| &it.text);
                    lines.push(insert(&part.path, *marker, fragment));
                }
            }
            _ => {}
        }
    }
    changes.extend(files);
    changes.extend(lines);
    Ok(changes)
}

/// Whether the declaration is what the scaffold has as that line of that file.
fn is_of(declaration: &Declaration, path: &str, line: &str) -> bool {
    let last = declaration.text.lines().last().unwrap_or_default();
    name(last) == name(line) && file_of(declaration) == path
}

/// The name of the module that a line declares.
fn name(line: &str) -> &str {
    let line = line.trim().trim_end_matches(';');
    line.rsplit(' ').next().unwrap_or_default()
}

/// The file that has to hold a declaration.
fn file_of(declaration: &Declaration) -> String {
    let root = &declaration.root;
    if declaration.parent.is_empty() {
        return root.clone();
    }
    let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
    format!("{folder}/{}.rs", declaration.parent.replace("::", "/"))
}

/// The modules of the old shape that nothing is in any more, and the lines that declare them; one in
/// which something is of the user's own is refused.
fn left_over(before: &Project, old: &[Part], moved: &Moved, tree: &Tree) -> Result<Vec<Change>> {
    let has_left = |path: &str| {
        let mut files = moved.files.iter();
        files.any(|file| file.from == path && file.to != path)
    };
    let mut texts: BTreeMap<&str, (&str, Option<String>)> = BTreeMap::new();
    for part in old.iter().filter(|part| part.path.ends_with(".rs")) {
        let Some(now) = tree.text(&part.path).filter(|_| !has_left(&part.path)) else {
            continue;
        };
        let rewritten = moved.files.iter().find(|file| file.to == part.path);
        let now = rewritten.map_or(now, |file| &file.text);
        let (_, scaffolded) = texts.entry(&part.path).or_insert((now, None));
        if let Some(text) = part.text(before) {
            *scaffolded = Some(text);
        }
    }
    let mut changes = Vec::new();
    for (path, (now, scaffolded)) in texts {
        let declared = old.iter().filter_map(|other| match &other.what {
            What::Line { marker, fragment }
                if other.path == path && *marker == ScaffoldMarker::Modules =>
            {
                Some(fragment)
            }
            _ => None,
        });
        let rest = declared.fold(now.to_owned(), |text, line| {
            let without = ScaffoldMarker::Modules.remove(&text, line);
            without.unwrap_or(text)
        });
        match scaffolded {
            Some(scaffolded) if rest == scaffolded => changes.push(Change::Remove {
                path: path.to_owned(),
            }),
            Some(_) => {
                return Err(Error::Move {
                    reason: format!("`{path}` holds something of its own"),
                });
            }
            None if rest != now => changes.push(rewrite(path, rest)),
            None => {}
        }
    }
    Ok(changes)
}
