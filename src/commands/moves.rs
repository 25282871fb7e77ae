//! The modules of a project that move when its model changes, and the paths to them.
//!
//! The scaffolds of the models before and after determine where each module must be; [`crate::modules`] moves
//! it there. Pure.

use std::collections::BTreeMap;

use crate::layout::{self, Folder, Place};
use crate::modules::{self, Crate, Declaration, Move, MoveError, Moved};
use crate::names::Kind;
use crate::plan::Change;
use crate::project::{Admission, Project, Resource};
use crate::scaffold;
use crate::tree::Tree;

/// Formats the new text of a Rust file, given the old text.
pub type Format<'a> = &'a dyn Fn(&str, String) -> String;

/// The Rust files that move, or that refer to a module that moves.
pub fn moved(
    before: &Project,
    after: &Project,
    files: &BTreeMap<&str, &str>,
) -> Result<Moved, MoveError> {
    let of_api = |project: &Project| {
        let crate_name = project.project_name.crate_name();
        vec!["api".to_owned(), format!("{crate_name}_api")]
    };
    let of_operator = |project: &Project| vec![project.project_name.crate_name()];
    let crates = [
        Crate {
            root: layout::API_LIB.to_owned(),
            names: of_api(before),
            new_names: of_api(after),
        },
        Crate {
            root: layout::LIB.to_owned(),
            names: of_operator(before),
            new_names: of_operator(after),
        },
    ];
    modules::rewrite(&crates, &moves(before, after), files)
}

/// The project's own Rust files and the files beside them, without vendored or generated files.
pub fn sources(tree: &Tree) -> BTreeMap<&str, &str> {
    let is_source = |path: &str| {
        path != layout::CRDGEN
            && !path.starts_with(layout::VENDORED)
            && ["api/", "src/", "tests/", "examples/"]
                .iter()
                .any(|folder| path.starts_with(folder))
    };
    tree.files().filter(|(path, _)| is_source(path)).collect()
}

/// The moves of all resources. Both models have the same resources and controllers, in the same order.
fn moves(before: &Project, after: &Project) -> Vec<Move> {
    let mut moves = Vec::new();
    let all = modules_of(before, after);
    // A module that contains others moves as a whole, with its owner's code, if nothing stays in it and
    // its new place is free.
    for level in [Level::Group, Level::Version] {
        let is_of_level = |it: &&Moving| it.level == level;
        for it in all.iter().filter(is_of_level) {
            let mut others = all.iter().filter(is_of_level);
            let is_in_the_way = others.any(|other| {
                let stays = other.from == it.from && other.to == other.from;
                other.folder == it.folder && (stays || other.from == it.to)
            });
            let mut taken = moves.iter();
            let is_taken = taken.any(|moved: &Move| {
                moved.root == it.folder.root() && (moved.from == it.from || moved.to == it.to)
            });
            if !is_in_the_way && !is_taken {
                it.add(&mut moves);
            }
        }
    }
    for it in all.iter().filter(|it| it.level == Level::Own) {
        it.add(&mut moves);
    }
    moves
}

/// What a module contains.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Group,
    Version,
    /// Code of one resource.
    Own,
}

/// A module before and after.
struct Moving {
    level: Level,
    folder: Folder,
    from: String,
    to: String,
    makes: Vec<String>,
}

impl Moving {
    /// Adds its move, unless it already moves along with another module.
    fn add(&self, moves: &mut Vec<Move>) {
        let root = self.folder.root();
        if modules::after(moves, root, &self.from) != self.to {
            moves.push(Move {
                root: root.to_owned(),
                from: self.from.clone(),
                to: self.to.clone(),
                makes: self.makes.clone(),
            });
        }
    }
}

/// Every module that contains code of a resource; modules of versions and groups appear once for
/// each resource.
fn modules_of(before: &Project, after: &Project) -> Vec<Moving> {
    // A version's module with webhooks of several groups moves with the project's own group.
    let own = before.resources.iter().zip(&after.resources);
    let mut resources: Vec<_> = own.collect();
    resources.sort_by_key(|(old, _)| !old.is_own());
    let mut all = All::default();
    for (old, new) in resources {
        let (from, to) = (Place::of(before, old), Place::of(after, new));
        let group = |folder| (from.group_file(folder), to.group_file(folder));
        if old.is_own() {
            all.add_container(Level::Group, Folder::Api, group(Folder::Api));
            let version = (Some(from.version_module()), Some(to.version_module()));
            all.add_container(Level::Version, Folder::Api, version);
            all.add(Folder::Api, from.types(), to.types());
            all.makes(&old.kind);
        }
        for (name, now) in old.controllers.iter().zip(&new.controllers) {
            let (name, now) = (name.as_ref(), now.as_ref());
            all.add_container(
                Level::Group,
                Folder::Controllers,
                group(Folder::Controllers),
            );
            all.add(
                Folder::Controllers,
                from.controller(name),
                to.controller(now),
            );
            all.add_container(Level::Group, Folder::Tests, group(Folder::Tests));
            all.add(
                Folder::Tests,
                from.controller_test(name),
                to.controller_test(now),
            );
        }
        for (old, new, part) in webhooks(old, new) {
            let (from, to) = (Place::of(before, &old), Place::of(after, &new));
            all.add_container(Level::Group, Folder::Webhooks, group(Folder::Webhooks));
            let version = (from.webhook_version_module(), to.webhook_version_module());
            let version = (Some(version.0), Some(version.1));
            all.add_container(Level::Version, Folder::Webhooks, version);
            all.add(Folder::Webhooks, from.webhook(part), to.webhook(part));
            all.add_container(Level::Group, Folder::Tests, group(Folder::Tests));
            all.add(
                Folder::Tests,
                from.webhook_test(part),
                to.webhook_test(part),
            );
        }
    }
    all.0
}

/// All modules that contain something.
#[derive(Default)]
struct All(Vec<Moving>);

impl All {
    /// Adds a module that contains others, if both models have it.
    fn add_container(
        &mut self,
        level: Level,
        folder: Folder,
        files: (Option<String>, Option<String>),
    ) {
        if let (Some(from), Some(to)) = files {
            self.push(level, folder, &from, &to);
        }
    }

    fn add(&mut self, folder: Folder, from: String, to: String) {
        self.push(Level::Own, folder, &from, &to);
    }

    fn push(&mut self, level: Level, folder: Folder, from: &str, to: &str) {
        if let (Some(from), Some(to)) = (folder.module(from), folder.module(to)) {
            self.0.push(Moving {
                level,
                folder,
                from,
                to,
                makes: Vec::new(),
            });
        }
    }

    /// Records the kind that a macro generates in the last module.
    fn makes(&mut self, kind: &Kind) {
        if let Some(last) = self.0.last_mut() {
            last.makes.push(kind.to_string());
        }
    }
}

/// Every webhook of a resource: the resource in the version of the webhook, before and after, and the part.
fn webhooks(old: &Resource, new: &Resource) -> Vec<(Resource, Resource, &'static str)> {
    let webhooks = old.webhooks();
    let admissions = Admission::ALL.into_iter().filter(|it| webhooks.has(*it));
    let mut all: Vec<_> = admissions
        .map(|admission| (old.clone(), new.clone(), scaffold::part(admission)))
        .collect();
    for (spoke, now) in webhooks.spoke.iter().zip(new.webhooks().spoke) {
        let (mut old, mut new) = (old.clone(), new.clone());
        old.version = spoke.clone();
        new.version = now;
        all.push((old, new, scaffold::CONVERTER));
    }
    all
}

/// Moves the hash of each file that its owner deleted to the path that the file would have now.
pub fn deleted(places: &[(String, String)], tree: &Tree, hashes: &mut BTreeMap<String, String>) {
    let is_deleted = |(old, _): &&(String, String)| tree.text(old).is_none();
    for (old, new) in places.iter().filter(is_deleted) {
        if let Some(hash) = hashes.remove(old) {
            hashes.insert(new.clone(), hash);
        }
    }
}

/// The text of a moved declaration as its owner wrote it, if it corresponds to that line of the scaffold in
/// that file.
pub fn declaration<'a>(moved: &'a Moved, path: &str, line: &str) -> Option<&'a str> {
    let mut declarations = moved.declarations.iter();
    let found = declarations.find(|it| {
        let last = it.text.lines().last().unwrap_or_default();
        name(last) == name(line) && file_of(it) == path
    });
    found.map(|it| it.text.as_str())
}

/// The name of the module that a line declares.
fn name(line: &str) -> &str {
    let line = line.trim().trim_end_matches(';');
    line.rsplit(' ').next().unwrap_or_default()
}

/// The file that must contain a declaration.
fn file_of(declaration: &Declaration) -> String {
    let root = &declaration.root;
    if declaration.parent.is_empty() {
        return root.clone();
    }
    let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
    format!("{folder}/{}.rs", declaration.parent.replace("::", "/"))
}

/// Moves a file of the user. The new text is formatted if it is Rust, was formatted, and has changed.
pub fn moved_file(from: &str, path: &str, was: &str, text: String, format: Format<'_>) -> Change {
    let is_rust = path.ends_with(".rs") && text != was;
    Change::Rewrite {
        from: from.to_owned(),
        path: path.to_owned(),
        text: if is_rust { format(was, text) } else { text },
    }
}
