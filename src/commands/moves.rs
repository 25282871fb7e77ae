//! The modules of a project that move when its model changes, and what names them.
//!
//! The scaffold of the models before and after says where each module has to be; [`crate::modules`] moves
//! it there. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Error, Result};
use crate::layout::{self, Part as Folder, Place};
use crate::modules::{self, Crate, Move, Moved};
use crate::plan::Change;
use crate::project::{Admission, Project, Resource};
use crate::scaffold;
use crate::tree::Tree;

/// Formats what became of a Rust file, given what it was.
pub type Format<'a> = &'a dyn Fn(&str, String) -> String;

/// The Rust files that move or name what moves.
pub fn moved(before: &Project, after: &Project, files: &BTreeMap<&str, &str>) -> Result<Moved> {
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
    modules::rewrite(&crates, &moves(before, after), files).map_err(|error| Error::Move {
        reason: error.to_string(),
    })
}

/// The project's own Rust files, and what is beside them: without what is vendored or generated.
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

/// The modules of all resources, before and after. Both have the same resources and controllers, in the
/// same order.
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
        if old.is_own() && from.types_module() != to.types_module() {
            add(Folder::Api, from.types(), to.types());
        }
        for (name, now) in old.controllers.iter().zip(&new.controllers) {
            let (name, now) = (name.as_ref(), now.as_ref());
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
            if is_first && version.0 != version.1 {
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

/// Has the hash of each file that its owner deleted stand under the path that the file would have now.
pub fn deleted(places: &[(String, String)], tree: &Tree, hashes: &mut BTreeMap<String, String>) {
    let is_deleted = |(old, _): &&(String, String)| tree.text(old).is_none();
    for (old, new) in places.iter().filter(is_deleted) {
        if let Some(hash) = hashes.remove(old) {
            hashes.insert(new.clone(), hash);
        }
    }
}

/// A file of the user's in another place, formatted if it is Rust that was, and has changed.
pub fn moved_file(from: &str, path: &str, was: &str, text: String, format: Format<'_>) -> Change {
    let is_rust = path.ends_with(".rs") && text != was;
    Change::Rewrite {
        from: from.to_owned(),
        path: path.to_owned(),
        text: if is_rust { format(was, text) } else { text },
    }
}

/// A file of the user's with another text, where it is.
pub fn rewrite(path: &str, text: String) -> Change {
    Change::Rewrite {
        from: path.to_owned(),
        path: path.to_owned(),
        text,
    }
}
