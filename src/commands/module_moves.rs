//! The modules of a project that move when its model changes, and the paths to them.
//!
//! The scaffolds of the models before and after determine where each module must be; [`crate::modules`] moves
//! it there. Pure.

use std::collections::BTreeMap;

use crate::cargo_toml::packages;
use crate::layout::{self, Folder, Place};
use crate::modules::{self, Crate, Move, MoveError, Moved, MovedDeclaration};
use crate::project::Project;
use crate::scaffold;
use crate::tree::Tree;

/// Formats the new text of a Rust file, given the old text.
pub(super) type Format<'a> = &'a dyn Fn(&str, String) -> String;

/// The folders of the two packages that every project has.
const IN_MAIN: [&str; 4] = ["api/", "src/", "tests/", "examples/"];

const FOLDERS: [Folder; 4] = [
    Folder::Api,
    Folder::Controllers,
    Folder::Tests,
    Folder::Webhooks,
];

/// The Rust files that move, or that refer to a module that moves.
pub(super) fn moved(
    before: &Project,
    after: &Project,
    files: &BTreeMap<&str, &str>,
) -> Result<Moved, MoveError> {
    let roots = [layout::API_LIB, layout::LIB].into_iter();
    let crates = roots.zip(crate_names(before)).zip(crate_names(after));
    let crates = crates.map(|((root, old), new)| Crate {
        root: root.to_owned(),
        names: old
            .into_iter()
            .zip(new)
            .map(|(old, new)| [old, new])
            .collect(),
    });
    modules::rewrite(&crates.collect::<Vec<_>>(), &moves(before, after), files)
}

/// The names in paths of the project's crates, of the API and of the operator.
pub(super) fn crate_names(project: &Project) -> [Vec<String>; 2] {
    let own = project.project_name.crate_name();
    [vec!["api".to_owned(), format!("{own}_api")], vec![own]]
}

/// Whether the package with this manifest uses the project's crates.
pub(super) fn uses(project: &Project, manifest: &str) -> bool {
    packages::uses(manifest, project.project_name.as_str())
}

/// Whether a file is of the two packages that every project has.
pub(super) fn is_in_main(path: &str) -> bool {
    IN_MAIN.iter().any(|folder| path.starts_with(folder))
}

/// The project's own Rust files and the files beside them, also those of other packages, without vendored or generated
/// files.
pub(super) fn sources(tree: &Tree) -> BTreeMap<&str, &str> {
    let is_source = |path: &str| {
        path != layout::CRDGEN
            && !layout::is_vendored(path)
            && (path.ends_with(".rs") || is_in_main(path))
    };
    tree.files().filter(|(path, _)| is_source(path)).collect()
}

/// What a module contains.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Group,
    Version,
    /// Code of one resource.
    Own,
}

/// The moves of all resources. Both models have the same resources and controllers, in the same order.
fn moves(before: &Project, after: &Project) -> Vec<Move> {
    let mut moves: Vec<Move> = Vec::new();
    let all = modules_of(before, after);
    for level in [Level::Group, Level::Version, Level::Own] {
        let of_level = || all.iter().filter(|(of, _)| *of == level).map(|(_, it)| it);
        for it in of_level() {
            // A module that contains others moves as a whole, with its owner's code, if nothing stays in it and
            // its new place is free.
            let is_in_the_way = |other: &Move| {
                let stays = other.from == it.from && other.to == it.from;
                other.root == it.root && (stays || other.from == it.to)
            };
            let is_taken = |moved: &Move| {
                moved.root == it.root && (moved.from == it.from || moved.to == it.to)
            };
            let is_whole = || !of_level().any(is_in_the_way) && !moves.iter().any(is_taken);
            let may_move = level == Level::Own || is_whole();
            // It may already move along with another module.
            if may_move && modules::after(&moves, &it.root, &it.from) != it.to {
                moves.push(it.clone());
            }
        }
    }
    moves
}

/// The module in these files, before and after, if both models have it.
fn module(folder: Folder, files: [Option<String>; 2]) -> Option<Move> {
    let [from, to] = files.map(|file| folder.module(&file?));
    Some(Move {
        root: folder.root().to_owned(),
        from: from?,
        to: to?,
        makes: Vec::new(),
    })
}

/// Every module that contains code of a resource; modules of versions and groups appear once for
/// each file in them.
fn modules_of(before: &Project, after: &Project) -> Vec<(Level, Move)> {
    // A version's module with webhooks of several groups moves with the project's own group.
    let mut resources: Vec<_> = before.resources.iter().zip(&after.resources).collect();
    resources.sort_by_key(|(old, _)| !old.is_own());
    let mut all = Vec::new();
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
            all.extend(module(folder, group).map(|it| (Level::Group, it)));
            if matches!(folder, Folder::Api | Folder::Webhooks) {
                let version = files.each_ref().map(|file| {
                    let (version, _) = file.rsplit_once('/')?;
                    Some(format!("{version}.rs"))
                });
                all.extend(module(folder, version).map(|it| (Level::Version, it)));
            }
            let own = module(folder, files.map(Some)).map(|it| Move {
                // A macro generates the kind there.
                makes: match folder {
                    Folder::Api => vec![old.kind.type_name()],
                    _ => Vec::new(),
                },
                ..it
            });
            all.extend(own.map(|it| (Level::Own, it)));
        }
    }
    all
}

/// The text of a moved declaration as its owner wrote it, if it corresponds to that line of the scaffold in
/// that file.
pub(super) fn declaration<'a>(moved: &'a Moved, path: &str, line: &str) -> Option<&'a str> {
    let mut declarations = moved.declarations.iter();
    let found = declarations.find(|it| {
        let last = it.text.lines().last().unwrap_or_default();
        name(last) == name(line) && file_of(it) == path
    });
    found.map(|it| it.text.as_str())
}

/// The name of the module that a line declares.
fn name(line: &str) -> &str {
    let declaration = line.trim().trim_end_matches(';');
    declaration.rsplit(' ').next().unwrap_or_default()
}

/// The file that must contain a declaration.
fn file_of(declaration: &MovedDeclaration) -> String {
    let root = &declaration.root;
    if declaration.parent.is_empty() {
        return root.clone();
    }
    let folder = root.rsplit_once('/').map_or("", |(above, _)| above);
    format!("{folder}/{}.rs", declaration.parent.replace("::", "/"))
}
