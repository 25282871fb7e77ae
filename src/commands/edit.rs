//! `kbr edit`: the project in another shape, with what its owner wrote moved along.
//!
//! The scaffold of the project model before and after says where each file has to be. Rust modules are
//! moved by [`crate::modules`], which rewrites the paths to them; other files get another name. No name
//! of an object in a cluster changes: a controller keeps its name as one of its own, and a role for
//! people the name in its file. Pure, but for the formatter that it is given.

use std::collections::{BTreeMap, BTreeSet};

use crate::cli::EditArgs;
use crate::error::{ApiError, Error, Result};
use crate::layout::{self, Part as Folder, Place};
use crate::marker::ScaffoldMarker;
use crate::modules::{self, Crate, Declaration, Move, Moved};
use crate::plan::Change;
use crate::project::{Admission, PROJECT_FILE, Project, Resource};
use crate::scaffold::{self, Part, What};
use crate::tree::Tree;

use super::{Wanted, insert};

/// Formats what became of a Rust file, given what it was.
pub type Format<'a> = &'a dyn Fn(&str, String) -> String;

/// The project in the shape that was typed, and what has to move for it.
pub fn plan(project: &Project, args: &EditArgs, tree: &Tree, format: Format<'_>) -> Result<Wanted> {
    let Some(multigroup) = args.multigroup else {
        return Err(Error::NothingToEdit);
    };
    let mut after = project.clone();
    if multigroup != project.multigroup {
        after.multigroup = multigroup;
        check(&after)?;
        keep_names(project, &mut after)?;
    }
    let moved = moved(project, &after, tree)?;
    let mut changes = Vec::new();
    changes.extend(rust(&moved, tree, format));
    changes.extend(registrations(project, &after, &moved, tree)?);
    changes.extend(roles(project, &after, tree)?);
    changes.extend(around(project, &after, &moved, tree)?);
    changes.push(scaffold::crdgen(&after));
    let warnings = warnings(&changes, tree);
    Ok(Wanted {
        changes,
        project: Some(after),
        warnings,
        next: "kbr manifests",
    })
}

/// Refuses a shape in which the kinds of the project cannot be.
fn check(after: &Project) -> Result<()> {
    let resources = &after.resources;
    for (at, resource) in resources.iter().enumerate() {
        for other in &resources[..at] {
            let are_own = resource.is_own() && other.is_own();
            if are_own && !after.multigroup && !resource.is_in_group_of(other) {
                return Err(Error::SeveralGroups {
                    groups: [other.qualified_group(), resource.qualified_group()],
                });
            }
            let clash = after.groups_clash(resource, other)
                || !resource.is_kind_of(other) && after.share_files(resource, other);
            if clash {
                return Err(ApiError::GroupClash {
                    wanted: resource.gvk().to_string(),
                    existing: other.gvk().to_string(),
                    module: after.group_module(resource),
                }
                .into());
            }
        }
    }
    Ok(())
}

/// Gives each controller the name that it has as one of its own, where the new shape would give it
/// another: it is the field manager of what it has applied.
fn keep_names(before: &Project, after: &mut Project) -> Result<()> {
    let renamed = after.clone();
    for resource in &mut after.resources {
        let (old, new) = (Place::of(before, resource), Place::of(&renamed, resource));
        let mut controllers = Vec::new();
        for name in &resource.controllers {
            let (had, gets) = (
                old.controller_name(name.as_ref()),
                new.controller_name(name.as_ref()),
            );
            controllers.push(match name {
                // The name that the new shape gives to a controller without one.
                Some(_) if had == new.controller_name(None) => None,
                None if had != gets => Some(had.parse().map_err(|source| Error::Name {
                    option: "--group",
                    source,
                })?),
                _ => name.clone(),
            });
        }
        controllers.sort();
        resource.controllers = controllers;
    }
    Ok(())
}

/// The Rust files that move or name what moves.
fn moved(before: &Project, after: &Project, tree: &Tree) -> Result<Moved> {
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

/// The moved files, formatted where they were before.
fn rust(moved: &Moved, tree: &Tree, format: Format<'_>) -> Vec<Change> {
    let files = moved.files.iter().map(|file| {
        let old = tree.text(&file.from).unwrap_or_default();
        let text = file.text.clone();
        let is_rust = file.to.ends_with(".rs") && text != old;
        Change::Rewrite {
            from: file.from.clone(),
            path: file.to.clone(),
            text: if is_rust { format(old, text) } else { text },
        }
    });
    files.collect()
}

/// The registrations in the order of the new shape, where they were in that of the old one.
fn registrations(
    before: &Project,
    after: &Project,
    moved: &Moved,
    tree: &Tree,
) -> Result<Option<Change>> {
    let old = tree.text(layout::LIB).unwrap_or_default();
    let Some(new) = moved.files.iter().find(|file| file.to == layout::LIB) else {
        return Ok(None);
    };
    if sorted(old, before)? != old {
        return Ok(None);
    }
    Ok(Some(rewrite(layout::LIB, sorted(&new.text, after)?)))
}

/// The text of the operator's library with the project's registrations taken out and put in again.
fn sorted(text: &str, project: &Project) -> Result<String> {
    let mut text = text.to_owned();
    let mut taken = Vec::new();
    for part in scaffold::of(project) {
        if let What::Line { marker, fragment } = part.what
            && part.path == layout::LIB
            && let Some(without) = without_line(&text, &fragment)
        {
            text = without;
            taken.push((marker, fragment));
        }
    }
    for (marker, fragment) in taken {
        text = marker
            .insert(layout::LIB, &text, &fragment)?
            .unwrap_or(text);
    }
    Ok(text)
}

/// The roles for people under their new file names, and the lines that name them.
fn roles(before: &Project, after: &Project, tree: &Tree) -> Result<Vec<Change>> {
    let path = layout::RBAC_KUSTOMIZATION;
    let mut kustomization = tree.text(path).unwrap_or_default().to_owned();
    let mut changes = BTreeMap::new();
    for (old, new) in before.apis().zip(after.apis()) {
        let (old, new) = (Place::of(before, old), Place::of(after, new));
        for who in scaffold::PEOPLE {
            let (from, to) = (old.role_file(who), new.role_file(who));
            let (old, new) = (format!("config/rbac/{from}"), format!("config/rbac/{to}"));
            let Some(text) = tree.text(&old).filter(|_| from != to) else {
                continue;
            };
            let (line, marker) = (format!("- {from}"), ScaffoldMarker::RbacResources);
            if let Some(without) = without_line(&kustomization, &line) {
                let with = marker.insert(path, &without, &format!("- {to}"))?;
                kustomization = with.unwrap_or(without);
            }
            let moved = Change::Rewrite {
                from: old,
                path: new,
                text: text.to_owned(),
            };
            changes.insert(to, moved);
        }
    }
    let mut changes: Vec<Change> = changes.into_values().collect();
    if !changes.is_empty() {
        changes.push(rewrite(path, kustomization));
    }
    Ok(changes)
}

/// What is around the moved modules: those of the groups, the lines that declare and register.
fn around(before: &Project, after: &Project, moved: &Moved, tree: &Tree) -> Result<Vec<Change>> {
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
            without_line(&text, line).unwrap_or(text)
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

fn rewrite(path: &str, text: String) -> Change {
    Change::Rewrite {
        from: path.to_owned(),
        path: path.to_owned(),
        text,
    }
}

/// The text without the line, or nothing where it is not there.
fn without_line(text: &str, line: &str) -> Option<String> {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let at = lines.iter().position(|there| there.trim() == line)?;
    lines.remove(at);
    Some(lines.concat())
}

/// What else in the project names a path that is no more, for its owner to look at.
fn warnings(changes: &[Change], tree: &Tree) -> Vec<String> {
    let gone: Vec<&str> = changes
        .iter()
        .filter_map(|change| match change {
            Change::Rewrite { from, path, .. } if from != path => Some(from.as_str()),
            _ => None,
        })
        .collect();
    let others = tree.files().filter(|(path, _)| {
        !path.ends_with(".rs") && *path != PROJECT_FILE && !path.starts_with(layout::VENDORED)
    });
    let others = others.filter(|(path, _)| *path != layout::RBAC_KUSTOMIZATION);
    others
        .filter_map(|(path, text)| {
            let old = gone.iter().find(|old| text.contains(**old))?;
            Some(format!("`{path}` still names `{old}`, which has moved"))
        })
        .collect()
}
