//! `kbr init`: a project without kinds, in a folder that may already have files. Pure.

use crate::cli::InitArgs;
use crate::commands::desired::Desired;
use crate::commands::init_files::{LICENSE, changes};
use crate::names::{ProjectName, TypedRepo};
use crate::plan::Change;
use crate::project::Project;
use crate::tree::Tree;

pub(crate) fn plan(name: ProjectName, args: &InitArgs, tree: &Tree) -> Desired {
    let mut project = Project::new(name, args.domain.clone(), args.license);
    project.certificates = args.certificates;
    project.multigroup = args.multigroup;
    project.namespaced = args.namespaced;
    project.owner.clone_from(&args.owner);
    project.repo = args.repo.as_ref().map(|typed| typed.repo.clone());
    let changes = changes(&project);
    let mut warnings = warnings(&changes, tree);
    warnings.extend(args.repo.as_ref().and_then(of_module));
    Desired {
        // The API server refuses CRDs of a group without a dot.
        next: if args.domain.as_str().contains('.') {
            "kbr create api --kind KIND"
        } else {
            "kbr create api --group GROUP --kind KIND"
        },
        ..Desired::of(project, changes, warnings)
    }
}

/// What became of the path of a Go module.
fn of_module(typed: &TypedRepo) -> Option<String> {
    let module = typed.module.as_ref()?;
    Some(format!(
        "`{module}` is taken as the URL of the source repository, `{}`: a project in Rust has no module path",
        typed.repo
    ))
}

/// Warnings about what the project lacks because a file of the user is kept.
fn warnings(changes: &[Change], tree: &Tree) -> Vec<String> {
    let kept = changes.iter().filter_map(|change| {
        let Change::Keep { path, text } = change else {
            return None;
        };
        let theirs = tree.text(path).filter(|it| it != text)?;
        match path.as_str() {
            LICENSE => Some(
                "`LICENSE` is kept, but Cargo.toml, README.md and the headers say Apache-2.0: \
                 change them, or begin again with `--license none`",
            ),
            ".gitignore" if !theirs.lines().any(ignores_target) => Some(
                "`.gitignore` is kept, and does not ignore what cargo builds: add the line `/target`",
            ),
            _ => None,
        }
    });
    kept.map(str::to_owned).collect()
}

fn ignores_target(line: &str) -> bool {
    let pattern = line.trim().trim_start_matches("**/");
    pattern.trim_end_matches("/**").trim_matches('/') == "target"
}
