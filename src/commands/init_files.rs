//! The files of a project without kinds: everything under `templates/init/`, the vendored crates, the lock
//! file, and an empty crdgen.
//!
//! crdgen belongs to kbr and says so in its first line. README, LICENSE and git's own files do not
//! overwrite those of a new repository. Except for the vendored crates, the rest belongs to the
//! user from the first day. Pure.

use std::collections::BTreeMap;

use crate::commands::desired::create;
use crate::envtest;
use crate::layout;
use crate::lock;
use crate::manifests::{self, Watched};
use crate::names::objects;
use crate::plan::Change;
use crate::project::{Certificates, License, Project};
use crate::scaffold::{self, crdgen, with_license};
use crate::templates::{self, InitContext};
use crate::vendored;

/// Files that a new repository may already have.
pub(crate) const KEPT: [&str; 4] = [".gitattributes", ".gitignore", LICENSE, "README.md"];

pub(crate) const LICENSE: &str = "LICENSE";

/// Path and text of each file that depends on the project's name, except for the lock and generated files.
pub(crate) fn texts(project: &Project) -> Vec<(String, String)> {
    let files = changes(project).into_iter();
    let texts = files.filter_map(|change| match change {
        Change::Create { path, text, .. } | Change::Keep { path, text } => Some((path, text)),
        _ => None,
    });
    texts
        .filter(|(path, _)| path != lock::PATH && !layout::is_vendored(path))
        .collect()
}

/// Path and text of each file of the scaffold that follows from the model, without lines above markers.
pub(crate) fn rendering(project: &Project) -> BTreeMap<String, String> {
    let parts = scaffold::of(project).into_iter();
    let parts = parts.filter_map(|part| Some((part.path.clone(), part.text(project)?)));
    texts(project).into_iter().chain(parts).collect()
}

/// Every file of a project without kinds.
pub(crate) fn changes(project: &Project) -> Vec<Change> {
    let context = InitContext {
        crate_name: project.project_name.crate_name(),
        domain: project.domain.to_string(),
        domain_pattern: project.domain.to_string().replace('.', "[.]"),
        has_repo: project.repo.is_some(),
        kubernetes: envtest::DEFAULT.to_string(),
        lease: match &project.leader_election_id {
            Some(name) => name.to_string(),
            None => objects::MANAGER.to_owned(),
        },
        license: project.license == License::Apache2,
        namespaced: project.namespaced,
        own_lease: project.leader_election_id.is_none(),
        project: project.project_name.to_string(),
        repo: project
            .repo
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        self_managed: project.certificates == Certificates::SelfManaged,
    };
    let mut changes: Vec<Change> = templates::render_init(&context)
        .into_iter()
        .filter(|(path, _)| path != LICENSE || context.license)
        .map(|(path, text)| file(project, path, text))
        .collect();
    changes.extend(scaffold::of_scope(project).change(project, false));
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
