//! The modules of a project that move when its model changes, and the paths to them.
//!
//! The scaffolds of the models before and after determine where each module must be; [`crate::modules`] moves
//! it there. Pure.

use std::collections::BTreeMap;

use crate::layout::{self, Folder, Place};
use crate::modules::{self, Crate, Declaration, Move, MoveError, Moved};
use crate::project::Project;
use crate::scaffold;
use crate::tree::Tree;

/// Formats the new text of a Rust file, given the old text.
pub type Format<'a> = &'a dyn Fn(&str, String) -> String;

const FOLDERS: [Folder; 4] = [
    Folder::Api,
    Folder::Controllers,
    Folder::Tests,
    Folder::Webhooks,
];

/// The Rust files that move, or that refer to a module that moves.
pub fn moved(
    before: &Project,
    after: &Project,
    files: &BTreeMap<&str, &str>,
) -> Result<Moved, MoveError> {
    let names = |project: &Project| {
        let own = project.project_name.crate_name();
        [vec!["api".to_owned(), format!("{own}_api")], vec![own]]
    };
    let roots = [layout::API_LIB, layout::LIB].into_iter();
    let crates = roots.zip(names(before)).zip(names(after));
    let crates = crates.map(|((root, names), new_names)| Crate {
        root: root.to_owned(),
        names,
        new_names,
    });
    modules::rewrite(&crates.collect::<Vec<_>>(), &moves(before, after), files)
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
            let Move { root, from, to, .. } = &it.module;
            let is_in_the_way = others.any(|Moving { folder, module, .. }| {
                let stays = module.from == *from && module.to == *from;
                *folder == it.folder && (stays || module.from == *to)
            });
            let mut taken = moves.iter();
            let is_taken = taken.any(|moved: &Move| {
                moved.root == *root && (moved.from == *from || moved.to == *to)
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
    module: Move,
}

impl Moving {
    /// The module in these files, if both models have it.
    fn of(level: Level, folder: Folder, files: [Option<String>; 2]) -> Option<Self> {
        let [from, to] = files.map(|file| folder.module(&file?));
        let module = Move {
            root: folder.root().to_owned(),
            from: from?,
            to: to?,
            makes: Vec::new(),
        };
        Some(Self {
            level,
            folder,
            module,
        })
    }

    /// Adds its move, unless it already moves along with another module.
    fn add(&self, moves: &mut Vec<Move>) {
        let Move { root, from, to, .. } = &self.module;
        if modules::after(moves, root, from) != *to {
            moves.push(self.module.clone());
        }
    }
}

/// Every module that contains code of a resource; modules of versions and groups appear once for
/// each file in them.
fn modules_of(before: &Project, after: &Project) -> Vec<Moving> {
    // A version's module with webhooks of several groups moves with the project's own group.
    let mut resources: Vec<_> = before.resources.iter().zip(&after.resources).collect();
    resources.sort_by_key(|(old, _)| !old.is_own());
    let mut all: Vec<Moving> = Vec::new();
    for (old, new) in resources {
        let places = [Place::of(before, old), Place::of(after, new)];
        let files = scaffold::files_of(before, old).into_iter();
        for (was, now) in files.zip(scaffold::files_of(after, new)) {
            let files = [was.path, now.path];
            let mut folders = FOLDERS.into_iter();
            let Some(folder) = folders.find(|it| it.module(&files[0]).is_some()) else {
                continue;
            };
            let group = places.each_ref().map(|place| place.group_file(folder));
            all.extend(Moving::of(Level::Group, folder, group));
            if matches!(folder, Folder::Api | Folder::Webhooks) {
                let version = files.each_ref().map(|file| {
                    let (version, _) = file.rsplit_once('/')?;
                    Some(format!("{version}.rs"))
                });
                all.extend(Moving::of(Level::Version, folder, version));
            }
            let mut own = Moving::of(Level::Own, folder, files.map(Some));
            // A macro generates the kind there.
            if let (Some(types), Folder::Api) = (&mut own, folder) {
                types.module.makes.push(old.kind.to_string());
            }
            all.extend(own);
        }
    }
    all
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
