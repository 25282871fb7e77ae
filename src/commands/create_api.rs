//! `kbr create api`: a type, a controller, or both, and the lines that wire them in.
//!
//! This module checks the command against the project model; [`super::clashes`] checks for conflicts with
//! what exists. The files and lines that the command needs are in [`crate::scaffold`]. Pure.

pub(crate) mod error;

use crate::cli::{ApiArgs, TypeArgs};
use crate::commands::clashes::{
    check_clashes, check_controller, check_group, check_names, check_typed_group, name_taken,
    recorded_module, with_module_option,
};
use crate::commands::desired::{Desired, added};
use crate::commands::error::Result;
use crate::commands::external::error::ExternalError;
use crate::commands::target::{Target, kubernetes_own, named, plural};
use crate::project::{Api, CoreType, Gvk, Image, Origin, Policies, Project, Resource};
use crate::scaffold;
use error::ApiError;

/// Which of the two parts to create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) resource: bool,
    pub(crate) controller: bool,
}

/// The project with the new resource, and the changes to its files.
///
/// `crd` is the text of the CRD file that was given for a type of another operator.
pub(crate) fn plan(
    mut project: Project,
    args: &ApiArgs,
    parts: Parts,
    crd: Option<&str>,
) -> Result<Desired> {
    check_image(args, parts)?;
    let target = Target::of(&project, &args.typed, &args.external, crd, args.force)?;
    let mut resource = resource(&project, args, parts, target.resource)?;
    if let Some(image) = image(args) {
        if resource.is_cluster_scoped() {
            let kind = resource.kind.clone();
            return Err(ApiError::ImageScope { kind }.into());
        }
        if let Some(api) = resource.api_mut() {
            api.image = Some(image);
        }
    }
    let mut warnings = target.warnings;
    warnings.extend(unusual(&project, &resource));
    let before = scaffold::of(&project);
    project.upsert(resource.clone());
    let mut rewritten = Vec::new();
    if args.force && parts.resource {
        rewritten.extend(scaffold::type_files(&project, &resource));
    }
    if args.force && parts.controller {
        let name = args.controller_name.as_ref();
        rewritten.extend(scaffold::controller_files(&project, &resource, name));
    }
    let mut changes = added(&project, &before, &rewritten, args.force);
    if parts.resource {
        changes.push(scaffold::crdgen(&project));
    }
    changes.extend(target.changes);
    Ok(Desired::of(project, changes, warnings))
}

/// Warnings about new names that Kubernetes accepts and its conventions do not have.
fn unusual(project: &Project, new: &Resource) -> Vec<String> {
    if !new.is_own() || project.apis().any(|api| api.gvk() == new.gvk()) {
        return Vec::new();
    }
    let is_new_kind = project.versions_of(new).next().is_none();
    let of_kind = new.kind.unusual().filter(|_| is_new_kind);
    let undo = format!("; `kbr delete api {}` undoes this", named(new));
    let all = of_kind.into_iter().chain(new.version.unusual());
    all.map(|warning| warning + &undo).collect()
}

/// Whether another version of the kind has a controller, which serves all versions.
pub(crate) fn has_controller_elsewhere(project: &Project, args: &ApiArgs) -> bool {
    let mut versions = versions(project, &args.typed);
    versions.any(|api| api.version != args.typed.version && !api.controllers.is_empty())
}

/// The versions in PROJECT of the requested kind.
fn versions<'a>(project: &'a Project, typed: &'a TypeArgs) -> impl Iterator<Item = &'a Resource> {
    let group = project.group(typed.group());
    let of_group = project
        .apis()
        .filter(move |api| api.own_group().as_ref() == Some(&group));
    of_group.filter(move |api| api.kind == typed.kind)
}

/// The resource as it will be in PROJECT, or why it is refused. `found` is the type that was typed, if it exists.
fn resource(
    project: &Project,
    args: &ApiArgs,
    parts: Parts,
    found: Option<Resource>,
) -> Result<Resource> {
    if args.external.is_given() && parts.resource {
        return Err(ExternalError::Resource.into());
    }
    if !parts.resource && !parts.controller {
        return Err(nothing_wanted(args).into());
    }
    if let Some(name) = args.controller_name.clone().filter(|_| !parts.controller) {
        return Err(ApiError::ControllerNotWanted { name }.into());
    }
    let resource = match found {
        Some(foreign) if !foreign.is_own() && !parts.resource => {
            check_typed(args, &foreign)?;
            if project.namespaced && foreign.is_cluster_scoped() {
                let kind = foreign.kind;
                return Err(ApiError::CoreScope { kind }.into());
            }
            check_clashes(project, &foreign)?;
            foreign
        }
        found => own(project, args, parts, found.filter(Resource::is_own))?,
    };
    if parts.controller {
        with_controller(project, resource, args)
    } else {
        Ok(resource)
    }
}

/// The requested type as one of the project's own: the `existing` one, or a new one.
fn own(
    project: &Project,
    args: &ApiArgs,
    parts: Parts,
    existing: Option<Resource>,
) -> Result<Resource> {
    let typed = &args.typed;
    let known = versions(project, typed).next();
    if !parts.resource && existing.is_none() {
        return Err(unknown_type(project, typed, known.is_none()).into());
    }
    if let Some(known) = known {
        check_typed(args, known)?;
    }
    match existing {
        Some(it) if parts.resource && (!args.force || it.is_imported()) => {
            return Err(ApiError::ApiExists {
                gvk: it.gvk(),
                has_controller: versions(project, typed).any(|api| !api.controllers.is_empty()),
                is_imported: it.is_imported(),
            }
            .into());
        }
        Some(existing) => return Ok(existing),
        None => {}
    }
    let as_before = known.map(|api| !api.is_cluster_scoped());
    let is_namespaced = as_before.or(args.namespaced).unwrap_or(true);
    if project.namespaced && !is_namespaced {
        let kind = typed.kind.clone();
        return Err(ApiError::ClusterScope { kind }.into());
    }
    let mut api = Api::new(is_namespaced, known.is_none());
    // All versions of a kind share the roles.
    api.grouped_roles = known.and_then(|it| it.api()?.grouped_roles);
    let (group, domain) = project.group(typed.group());
    check_typed_group(project, &domain, "--group", typed.group())?;
    let mut new = Resource {
        origin: Origin::Own { api, domain },
        controllers: Vec::new(),
        group,
        kind: typed.kind.clone(),
        plural: match known {
            Some(known) => known.plural.clone(),
            None => plural(args.plural.as_ref(), &typed.kind)?,
        },
        policies: Policies::default(),
        version: typed.version.clone(),
        webhooks: None,
    };
    let module = recorded_module(project, &new, args.group_module.as_ref())?;
    if let Some(api) = new.api_mut() {
        api.group_module = module;
    }
    check_group(project, &new).map_err(|error| with_module_option(error, "--group-module "))?;
    check_names(project, &new)?;
    Ok(new)
}

/// Why no type can get only a controller: there is none that was typed.
fn unknown_type(project: &Project, typed: &TypeArgs, is_new_kind: bool) -> ApiError {
    let core = typed
        .group()
        .and_then(|group| CoreType::of_kind(group, &typed.kind));
    if let Some(core) = core.filter(|_| is_new_kind) {
        return ApiError::CoreVersion {
            group: core.group_name(),
            version: typed.version.clone(),
            kind: typed.kind.clone(),
            known: core.version,
        };
    }
    ApiError::UnknownType {
        gvk: Gvk {
            group: project.qualified_group(typed.group()),
            kind: typed.kind.clone(),
            version: typed.version.clone(),
        },
        kubernetes_own: kubernetes_own(typed, |_| true),
    }
}

/// The resource with the requested controller, or why it cannot have that controller.
fn with_controller(project: &Project, mut resource: Resource, args: &ApiArgs) -> Result<Resource> {
    let name = args.controller_name.clone();
    let mut others = project.resources.iter();
    if name.is_none()
        && let Some(other) =
            others.find(|it| it.is_kind_of(&resource) && it.controllers.contains(&None))
        && !(args.force && other.version == resource.version)
    {
        return Err(ApiError::ControllerExists {
            kind: other.kind.clone(),
            version: other.version.clone(),
            same_version: other.version == resource.version,
        }
        .into());
    }
    if !resource.controllers.contains(&name) {
        check_controller(project, &resource, name.as_ref())?;
        resource.controllers.push(name);
    } else if !args.force {
        return Err(name_taken(project, &resource, name.as_ref(), &resource));
    }
    Ok(resource)
}

/// Refuses an image unless both the type and the controller are created.
fn check_image(args: &ApiArgs, parts: Parts) -> Result<()> {
    let (option, typed) = match parts {
        _ if args.image.image.is_none() => return Ok(()),
        Parts {
            resource: false, ..
        } => ("--resource=false", args.resource),
        Parts {
            controller: false, ..
        } => ("--controller=false", args.controller),
        _ => return Ok(()),
    };
    Err(ApiError::ImageParts {
        typed: typed.map(|_| option),
    }
    .into())
}

/// The image that the objects run, if one was requested.
fn image(args: &ApiArgs) -> Option<Image> {
    Some(Image {
        command: args.image.image_command.clone(),
        controller: args.controller_name.clone(),
        image: args.image.image.clone()?,
        port: args.image.image_port,
        run_as_user: args.image.run_as_user,
    })
}

/// The error if neither part is requested, with the options that excluded them; there are none if the user
/// answered questions.
fn nothing_wanted(args: &ApiArgs) -> ApiError {
    let options = [
        (args.resource, "`--resource=false`"),
        (args.controller, "`--controller=false`"),
    ];
    let typed = options.into_iter().filter(|(value, _)| value.is_some());
    ApiError::NothingWanted {
        typed: typed.map(|(_, option)| option).collect(),
    }
}

/// Refuses options that contradict what is known about the type.
fn check_typed(args: &ApiArgs, known: &Resource) -> Result<()> {
    let existing = !known.is_cluster_scoped();
    if args.namespaced.is_some_and(|typed| typed != existing) {
        let kind = known.kind.clone();
        return Err(ApiError::OtherScope { kind, existing }.into());
    }
    match &args.plural {
        Some(typed) if *typed != known.plural => Err(ApiError::OtherPlural {
            kind: known.kind.to_string(),
            existing: known.plural.to_string(),
            place: match known.origin {
                Origin::Own { .. } => "PROJECT",
                Origin::Core(_) => "Kubernetes",
                Origin::External(_) => "its CRD",
            },
        }
        .into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
