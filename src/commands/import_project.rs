//! `kbr import project`: a new project from one of kubebuilder or operator-sdk in Go.
//!
//! The result is what `kbr init`, `kbr create api` and `kbr create webhook` would have scaffolded, with the
//! markers, the samples and the names of the Go project. [`crate::import::go`] reads that project; here is what becomes of
//! it, and what remains to be done. Pure.

mod carried;
mod deployed;
mod differences;
mod model;
mod remaining;
mod role;
mod texts;
mod written;

use std::collections::BTreeMap;

use crate::cli::ImportProjectArgs;
use crate::commands::desired::{Desired, create, insert, rewrite};
use crate::commands::error::{Error, Result};
use crate::commands::init_files;
use crate::import::documents::Documents;
use crate::import::go::error::GoError;
use crate::import::go::{self, Files, GoProject, comments, reconcilers};
use crate::import::types;
use crate::layout;
use crate::marker::ScaffoldMarker;
use crate::names::ProjectName;
use crate::plan::Change;
use crate::project::{Certificates, Project};
use crate::scaffold;

use carried::Markers;
use deployed::Deployed;
use model::Model;
use remaining::{Remaining, Step};

/// The new project.
///
/// `dir` is the folder of the project in Go as it was typed, and `seen` as it is typed in the new project; `files` are its files and `documents` its CRDs; `folder` is the name of the new
/// project's folder, or why it cannot be the project's.
pub(crate) fn plan(
    args: &ImportProjectArgs,
    dir: &str,
    seen: &str,
    files: &Files,
    documents: Result<Documents>,
    folder: Result<ProjectName>,
) -> Result<Desired> {
    go::project_file(dir, files)?;
    let documents = documents?;
    let go = GoProject::read(dir, files, &documents).map_err(Error::several)?;
    let hints = go.hints();
    let crds = documents.crds.iter();
    let crds: Vec<_> = crds
        .map(|it| comments::described(&it.crd, &hints))
        .collect();
    let import = types::types(&crds.iter().collect::<Vec<_>>(), &hints);
    let mut remaining = Remaining::default();
    let deployed = Deployed::read(&go)?;
    let name = name(args, dir, &go, &deployed, folder)?;
    let mut project = Project::new(name, model::domain(dir, &go)?, args.license);
    project.owner.clone_from(&args.owner);
    project.multigroup = go.project.multigroup || model::has_groups(&go);
    project.namespaced = go.project.namespaced;
    project.certificates = deployed.certificates(&project);
    deployed.keep_lease(&go, &mut project, &mut remaining);
    for kind in go.without_crd(|_| true) {
        remaining.add(
            Step::Lost,
            format!("PROJECT lists `{kind}`, but there is no CRD for it. Unless it only describes a configuration file, run `make manifests` in the Go project and import again"),
        );
    }
    for warning in import.warnings {
        remaining.add(Step::Types, warning);
    }
    let reconcilers = reconcilers::find(&go);
    let mut model = Model::of(
        dir,
        project,
        &go,
        &import.kinds,
        &reconcilers,
        &mut remaining,
    )?;
    let markers = Markers::of(&go, &mut model, &reconcilers, &mut remaining)?;
    let texts = texts::all(
        &go,
        &model,
        &import.kinds,
        &markers,
        &reconcilers,
        &deployed,
        &mut remaining,
    )?;
    deployed.differences(&go, &model.project, &mut remaining)?;
    let project = model.project;
    let mut changes = changes(&project, texts);
    changes.extend(deployed.folders().map(|line| {
        insert(
            layout::DEFAULT_KUSTOMIZATION,
            ScaffoldMarker::DefaultResources,
            line,
        )
    }));
    let (list, mut warnings) = remaining.finish(&project, &deployed, seen);
    warnings.extend(documents.notes);
    changes.push(create(layout::IMPORT, list, false));
    Ok(Desired::of(project, changes, warnings))
}

/// The scaffold of the new project, with the texts that the Go project determines.
fn changes(project: &Project, mut texts: BTreeMap<String, String>) -> Vec<Change> {
    let mut scaffolded = init_files::changes(project);
    let is_new = |part: &scaffold::Part| part.path != scaffold::of_scope(project).path;
    for part in scaffold::of(project).into_iter().filter(is_new) {
        scaffolded.extend(part.change(project, false));
    }
    let mut changes = Vec::new();
    for change in scaffolded {
        let text = match &change {
            Change::Create { path, .. } => texts.remove(path).map(|text| (path.clone(), text)),
            _ => None,
        };
        changes.push(change);
        changes.extend(text.map(|(path, text)| rewrite(&path, text)));
    }
    // Those that no template scaffolds.
    let others = texts.into_iter();
    changes.extend(others.map(|(path, text)| create(path, text, false)));
    changes
}

/// The name of the new project: typed, or else the one with which objects keep their names in a cluster, or that of
/// PROJECT.
fn name(
    args: &ImportProjectArgs,
    dir: &str,
    go: &GoProject<'_>,
    deployed: &Deployed,
    folder: Result<ProjectName>,
) -> Result<ProjectName> {
    if let Some(name) = &args.project_name {
        return Ok(name.clone());
    }
    let names = [
        deployed.regular_name(),
        Some(go.project.project_name.as_str()),
    ];
    let Some(name) = names.into_iter().flatten().find(|name| !name.is_empty()) else {
        return folder;
    };
    name.parse::<ProjectName>().map_err(|error| {
        GoError::Name {
            dir: dir.to_owned(),
            what: "a name",
            reason: error.reason,
            remedy: error.remedy,
        }
        .into()
    })
}

/// Whether cert-manager makes the certificates of the webhooks in Go.
fn certificates(has_cert_manager: bool) -> Certificates {
    if has_cert_manager {
        Certificates::CertManager
    } else {
        Certificates::SelfManaged
    }
}
