//! `kbr init`: everything under `templates/init/`, the crate `kbr-runtime`, the lock file, and an
//! empty crdgen.
//!
//! crdgen belongs to kbr and says so in its first line. README, LICENSE and git's own files do not
//! overwrite those of a new repository. Except for the vendored crate, the rest belongs to the
//! user from the first day. Pure.

use crate::cli::InitArgs;
use crate::envtest;
use crate::layout;
use crate::lock;
use crate::manifests::{self, Watched};
use crate::names::ProjectName;
use crate::plan::Change;
use crate::project::{License, Project};
use crate::scaffold::{crdgen, with_license};
use crate::templates::{self, InitContext};
use crate::tree::Tree;
use crate::vendored;

use crate::commands::wanted::{Wanted, create};

/// Files that a new repository may already have.
pub(super) const KEPT: [&str; 4] = [".gitattributes", ".gitignore", LICENSE, "README.md"];

const LICENSE: &str = "LICENSE";

pub fn plan(name: ProjectName, args: &InitArgs, tree: &Tree) -> Wanted {
    let mut project = Project::new(name, args.domain.clone(), args.license);
    project.multigroup = args.multigroup;
    project.namespaced = args.namespaced;
    project.owner.clone_from(&args.owner);
    project.repo.clone_from(&args.repo);
    let changes = changes(&project);
    let warnings = warnings(&changes, tree);
    Wanted {
        changes,
        project: Some(project),
        warnings,
        next: "kbr create api --kind KIND",
    }
}

/// Path and text of each file that depends on the project's name, except for the lock and generated files.
pub(super) fn texts(project: &Project) -> Vec<(String, String)> {
    let files = changes(project).into_iter();
    let texts = files.filter_map(|change| match change {
        Change::Create { path, text, .. } | Change::Keep { path, text } => Some((path, text)),
        _ => None,
    });
    texts
        .filter(|(path, _)| path != lock::PATH && !path.starts_with(layout::VENDORED))
        .collect()
}

fn changes(project: &Project) -> Vec<Change> {
    let context = InitContext {
        crate_name: project.project_name.crate_name(),
        domain: project.domain.to_string(),
        has_repo: project.repo.is_some(),
        kubernetes: envtest::DEFAULT.to_string(),
        lease: project.leader_election_id.to_string(),
        license: project.license == License::Apache2,
        namespaced: project.namespaced,
        project: project.project_name.to_string(),
        repo: project
            .repo
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
    };
    let mut changes: Vec<Change> = templates::render_init(&context)
        .into_iter()
        .filter(|(path, _)| path != LICENSE || context.license)
        .filter(|(path, _)| is_wanted(project, path))
        .map(|(path, text)| file(project, path, text))
        .collect();
    let vendored = vendored::files().into_iter();
    changes.extend(vendored.map(|(path, text)| create(path, text, false)));
    changes.push(create(
        lock::PATH,
        lock::render(project.project_name.as_str()),
        false,
    ));
    changes.push(crdgen(project));
    let watched = project.namespaced.then(Watched::own);
    let roles = manifests::rbac::roles(&[], "", watched.as_ref()).unwrap_or_default();
    changes.push(Change::Generate {
        path: layout::MANAGER_ROLE.to_owned(),
        text: manifests::generated(&roles),
    });
    changes
}

/// Whether a file belongs in such a project.
fn is_wanted(project: &Project, path: &str) -> bool {
    match path {
        layout::NAMESPACE_REPLACEMENTS => project.namespaced,
        layout::ROLE_BINDING => !project.namespaced,
        _ => true,
    }
}

/// Warnings about files that are kept.
fn warnings(changes: &[Change], tree: &Tree) -> Vec<String> {
    let kept = changes.iter().filter_map(|change| match change {
        Change::Keep { path, text } => {
            let theirs = tree.text(path).filter(|theirs| theirs != text)?;
            kept_warning(path, theirs)
        }
        _ => None,
    });
    kept.collect()
}

/// A warning about what the project lacks because the user's file is kept.
fn kept_warning(path: &str, theirs: &str) -> Option<String> {
    match path {
        LICENSE => Some(
            "`LICENSE` is kept, but Cargo.toml, README.md and the headers say Apache-2.0: \
             change them, or begin again with `--license none`"
                .to_owned(),
        ),
        ".gitignore" if !theirs.lines().any(ignores_target) => Some(
            "`.gitignore` is kept, and does not ignore what cargo builds: add the line `/target`"
                .to_owned(),
        ),
        _ => None,
    }
}

fn ignores_target(line: &str) -> bool {
    let pattern = line.trim().trim_start_matches("**/");
    let pattern = pattern.trim_end_matches("/**").trim_matches('/');
    pattern == "target"
}

fn file(project: &Project, path: String, text: String) -> Change {
    if KEPT.contains(&path.as_str()) {
        return Change::Keep { path, text };
    }
    let text = if path.ends_with(".rs") {
        with_license(project, text)
    } else {
        text
    };
    create(path, text, false)
}
