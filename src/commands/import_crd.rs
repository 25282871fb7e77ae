//! `kbr import crd`: types of the project from CRDs that somebody else wrote.
//!
//! [`crate::import::types`] makes the text of the types; this module adds their kinds to the project. Pure.

pub(crate) mod error;

use serde_json::Value;

use crate::cli::ImportCrdArgs;
use crate::commands::clashes::{check_group, check_names, recorded_module, with_module_option};
use crate::commands::create_api::error::ApiError;
use crate::commands::desired::{Desired, added, create};
use crate::commands::error::{Error, Result};
use crate::commands::target::halves;
use crate::import::documents::{CrdDocument, Documents};
use crate::import::hints::Hints;
use crate::import::types::{self, Imported};
use crate::layout::Place;
use crate::manifests::json::text_of;
use crate::names::{NameError, TypedModule};
use crate::project::{Api, Origin, Policies, Project, Resource};
use crate::{scaffold, yaml};
use error::{ImportError, OneCrdError};

/// The project with the kinds of the CRDs, and the changes to its files.
pub(crate) fn plan(
    mut project: Project,
    args: &ImportCrdArgs,
    mut documents: Documents,
) -> Result<Desired> {
    for name in &args.except {
        if !documents.crds.iter().any(|it| it.name() == name) {
            let names = documents.crds.iter().map(|it| it.name().to_owned());
            return Err(ImportError::ExceptUnknown {
                name: name.clone(),
                names: names.collect(),
            }
            .into());
        }
    }
    let is_of_crd = |it: &&TypedModule| {
        let group = |crd: &CrdDocument| text_of(&crd.crd, "/spec/group") == it.group.as_str();
        documents.crds.iter().any(group)
    };
    if let Some(unknown) = args.group_module.iter().find(|it| !is_of_crd(it)) {
        let group = unknown.group.to_string();
        return Err(ImportError::NoGroup { group }.into());
    }
    let is_left_out = |it: &CrdDocument| args.except.iter().any(|name| it.name() == name);
    documents.crds.retain(|it| !is_left_out(it));
    let refusals = documents.crds.iter().flat_map(CrdDocument::refused);
    Error::all(refusals.map(|refusal| with_except(refusal.into())))?;
    let crds: Vec<_> = documents
        .crds
        .iter()
        .map(|document| &document.crd)
        .collect();
    let import = types::types(&crds, &Hints::new());
    let before = scaffold::of(&project);
    let mut groups = import.kinds.iter().map(|kind| &kind.group);
    let first = groups.next();
    if project.apis().next().is_none() && groups.any(|group| Some(group) != first) {
        // There is nothing yet that `kbr edit --multigroup` would have to move.
        project.multigroup = true;
    }
    let mut files = Vec::new();
    let mut rewritten = Vec::new();
    for imported in &import.kinds {
        let resource = resource(&project, imported, args).map_err(|error| {
            let crd = format!("{}.{}", imported.plural, imported.group);
            refused(crd, error)
        })?;
        rewritten.extend(scaffold::type_files(&project, &resource));
        project.upsert(resource);
    }
    for imported in &import.kinds {
        let mut own = project.apis();
        let resource = own.find(|it| is_that(it, imported));
        files.extend(
            resource
                .into_iter()
                .flat_map(|it| files_of(&project, it, imported, args.force)),
        );
    }
    let mut changes = added(&project, &before, &rewritten, args.force);
    changes.extend(files);
    changes.push(scaffold::crdgen(&project));
    let mut warnings = documents.notes;
    warnings.extend(import.warnings);
    for crd in documents.crds.iter().map(|it| &it.crd) {
        let (group, kind) = (
            text_of(crd, "/spec/group"),
            text_of(crd, "/spec/names/kind"),
        );
        let options = types::conversion(crd).filter(|_| project.hub(group, kind).is_none());
        warnings.extend(options.map(|options| converted(&project, crd, &options)));
    }
    Ok(Desired::of(project, changes, warnings))
}

/// The same error, which says how to leave out the CRD that it is about.
pub(crate) fn with_except(error: Error) -> Error {
    match error {
        Error::Several { errors } => Error::Several {
            errors: errors.into_iter().map(with_except).collect(),
        },
        Error::Crd(refusal) => match refusal.crd.clone() {
            Some(crd) => refused(crd, refusal.into()),
            None => refusal.into(),
        },
        error => error,
    }
}

fn refused(crd: String, error: Error) -> Error {
    match error {
        // These say it themselves.
        Error::Import(error) => error.into(),
        error => {
            let error = Box::new(error);
            OneCrdError { crd, error }.into()
        }
    }
}

/// How to get the webhook that converts the versions of a kind.
fn converted(project: &Project, crd: &Value, options: &str) -> String {
    let kind = text_of(crd, "/spec/names/kind");
    let group = text_of(crd, "/spec/group");
    let option = match halves(project, group) {
        Ok((Some(group), _)) => format!(" --group {group}"),
        _ => String::new(),
    };
    format!(
        "a webhook converts the versions of {group} {kind}: `kbr create webhook{option} {options}` scaffolds it"
    )
}

fn is_that(resource: &Resource, imported: &Imported) -> bool {
    resource.qualified_group() == imported.group
        && resource.version.as_str() == imported.version
        && resource.kind.as_str() == imported.kind
}

fn files_of(
    project: &Project,
    resource: &Resource,
    imported: &Imported,
    force: bool,
) -> [crate::plan::Change; 3] {
    let place = Place::of(project, resource);
    let sample = yaml::write(&imported.sample);
    [
        create(
            place.types(),
            scaffold::with_license(project, imported.types.clone()),
            force,
        ),
        create(place.sample(), sample.clone(), force),
        create(place.stored_sample(), sample, force),
    ]
}

/// The kind of the CRD in PROJECT, or why the project cannot have it.
fn resource(project: &Project, imported: &Imported, args: &ImportCrdArgs) -> Result<Resource> {
    let mut new = own_type(project, imported, |_, source| {
        let crd = format!("{}.{}", imported.plural, imported.group);
        ImportError::Name { crd, source }.into()
    })?;
    let existing = project.apis().find(|it| it.gvk() == new.gvk());
    if let Some(existing) = existing {
        if !args.force {
            return Err(ImportError::Exists { gvk: new.gvk() }.into());
        }
        new.controllers.clone_from(&existing.controllers);
        new.policies.clone_from(&existing.policies);
        new.webhooks.clone_from(&existing.webhooks);
    }
    let mut typed = args.group_module.iter();
    let typed = typed.find(|it| it.group.as_str() == imported.group);
    let module = recorded_module(project, &new, typed.map(|it| &it.module))?;
    if let Some(api) = new.api_mut() {
        api.group_module = module;
    }
    check(project, imported, &new).map_err(|error| {
        with_module_option(error, &format!("--group-module {}=", imported.group))
    })?;
    Ok(new)
}

/// The type as one of the project's own. `bad` makes the error of a name that kbr cannot use, and gets what it names.
pub(crate) fn own_type(
    project: &Project,
    imported: &Imported,
    bad: impl Fn(&'static str, NameError) -> Error,
) -> Result<Resource> {
    let bad = |what| {
        let bad = &bad;
        move |error| bad(what, error)
    };
    let (group, domain) = halves(project, &imported.group).map_err(bad("a group"))?;
    let mut api = Api::new(imported.is_namespaced, imported.is_stored);
    api.imported = true;
    Ok(Resource {
        origin: Origin::Own { api, domain },
        controllers: Vec::new(),
        group,
        kind: imported.kind.parse().map_err(bad("a kind"))?,
        plural: imported.plural.parse().map_err(bad("a plural"))?,
        policies: Policies::default(),
        version: imported.version.parse().map_err(bad("a version"))?,
        webhooks: None,
    })
}

/// Refuses a type that the project cannot have.
pub(crate) fn check(project: &Project, imported: &Imported, new: &Resource) -> Result<()> {
    if project.namespaced && new.is_cluster_scoped() {
        let kind = new.kind.clone();
        return Err(ApiError::ClusterScope { kind }.into());
    }
    match check_group(project, new) {
        Err(Error::Api(ApiError::ProtectedGroup { .. })) if imported.is_approved => {}
        checked => checked?,
    }
    check_names(project, new)
}

#[cfg(test)]
mod tests;
