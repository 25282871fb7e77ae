//! `kbr create api`: a type, a controller, or both, and the lines that wire them in.
//!
//! This module checks the command against the project model; [`super::beside`] checks for conflicts with
//! what exists. The files and lines that the command needs are in [`crate::scaffold`]. Pure.

pub mod error;
mod foreign;

use crate::cli::ApiArgs;
use crate::commands::beside::{
    check_controller, check_group, check_names, check_typed_group, name_taken,
};
use crate::commands::error::Result;
use crate::commands::external::{self, Found};
use crate::commands::typed::{group, kubernetes_own, plural};
use crate::commands::wanted::{Wanted, added};
use crate::project::{Api, Image, Origin, Policies, Project, Resource};
use crate::scaffold;
use error::ApiError;

/// Which of the two parts to create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    pub resource: bool,
    pub controller: bool,
}

/// The project with the new resource, and the changes to its files.
///
/// `crd` is the text of the CRD file that was given for a type of another operator.
pub fn plan(
    mut project: Project,
    args: &ApiArgs,
    parts: Parts,
    crd: Option<&str>,
) -> Result<Wanted> {
    check_image(args, parts)?;
    let found = external(&project, args, parts, crd)?;
    let mut resource = match found.resource {
        Some(external) => foreign::with_controller(&project, external, args, parts)?,
        None => resource(&project, args, parts)?,
    };
    if let Some(image) = image(args) {
        if resource.is_cluster_scoped() {
            let kind = resource.kind.clone();
            return Err(ApiError::ImageScope { kind }.into());
        }
        if let Some(api) = resource.api_mut() {
            api.image = Some(image);
        }
    }
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
    changes.extend(found.changes);
    Ok(Wanted::of(project, changes, found.warnings))
}

/// The requested type, if it belongs to another operator.
fn external(project: &Project, args: &ApiArgs, parts: Parts, crd: Option<&str>) -> Result<Found> {
    if !args.external.is_given() && parts.resource {
        return Ok(Found::default());
    }
    let typed = (group(&args.group), &args.version, &args.kind);
    external::find(project, typed, &args.external, crd, args.force)
}

/// Whether another version of the kind has a controller, which serves all versions.
pub fn has_controller_elsewhere(project: &Project, args: &ApiArgs) -> bool {
    let mut versions = versions(project, args);
    versions.any(|api| api.version != args.version && !api.controllers.is_empty())
}

/// The versions in PROJECT of the requested kind.
fn versions<'a>(project: &'a Project, args: &'a ApiArgs) -> impl Iterator<Item = &'a Resource> {
    let group = group(&args.group);
    let apis = project.apis();
    apis.filter(move |api| api.kind == args.kind && api.has_group(group))
}

/// The resource as it will be in PROJECT, or why it is refused.
fn resource(project: &Project, args: &ApiArgs, parts: Parts) -> Result<Resource> {
    if !parts.resource && !parts.controller {
        return Err(nothing_wanted(args).into());
    }
    if let Some(name) = args.controller_name.clone().filter(|_| !parts.controller) {
        return Err(ApiError::ControllerNotWanted { name }.into());
    }
    let existing = project.api(group(&args.group), &args.version, &args.kind);
    if existing.is_none()
        && !parts.resource
        && versions(project, args).next().is_none()
        && let Some(core) = foreign::core(project, args)?
    {
        return with_controller(project, core, args);
    }
    let new = own(project, args)?;
    if existing.is_none() && !parts.resource {
        let group = group(&args.group);
        return Err(ApiError::UnknownType {
            gvk: new.gvk(),
            kubernetes_own: kubernetes_own(group, &args.version, &args.kind, |_| true),
        }
        .into());
    }
    check_typed_group(project, "--group", new.group.as_ref())?;
    check_group(project, &new)?;
    let resource = match existing {
        Some(it) if parts.resource && (!args.force || it.is_imported()) => {
            let mut versions = versions(project, args);
            return Err(ApiError::ApiExists {
                gvk: new.gvk(),
                has_controller: versions.any(|api| !api.controllers.is_empty()),
                is_imported: it.is_imported(),
            }
            .into());
        }
        Some(existing) => existing.clone(),
        None => new,
    };
    check_names(project, &resource)?;
    if parts.controller {
        with_controller(project, resource, args)
    } else {
        Ok(resource)
    }
}

/// The requested type as a new type of the project's own.
fn own(project: &Project, args: &ApiArgs) -> Result<Resource> {
    let known = versions(project, args).next();
    if let Some(known) = known {
        check_typed(args, known, "PROJECT")?;
    }
    let as_before = known.map(|api| !api.is_cluster_scoped());
    let is_namespaced = as_before.or(args.namespaced).unwrap_or(true);
    if project.namespaced && !is_namespaced {
        let kind = args.kind.clone();
        return Err(ApiError::ClusterScope { kind }.into());
    }
    let mut api = Api::new(is_namespaced, known.is_none());
    // All versions of a kind share the roles.
    api.grouped_roles = known.and_then(|it| it.api()?.grouped_roles);
    Ok(Resource {
        origin: Origin::Own {
            api,
            domain: match known.map(|api| &api.origin) {
                Some(Origin::Own { domain, .. }) => domain.clone(),
                _ => project.domain.clone(),
            },
        },
        controllers: Vec::new(),
        group: match known {
            Some(known) => known.group.clone(),
            None => group(&args.group).cloned(),
        },
        kind: args.kind.clone(),
        plural: match known {
            Some(known) => known.plural.clone(),
            None => plural(args.plural.as_ref(), &args.kind)?,
        },
        policies: Policies::default(),
        version: args.version.clone(),
        webhooks: None,
    })
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

/// Refuses options that contradict what `place` says about the type.
fn check_typed(args: &ApiArgs, known: &Resource, place: &'static str) -> Result<()> {
    let existing = !known.is_cluster_scoped();
    if args.namespaced.is_some_and(|typed| typed != existing) {
        let kind = args.kind.clone();
        return Err(ApiError::OtherScope { kind, existing }.into());
    }
    match &args.plural {
        Some(typed) if *typed != known.plural => Err(ApiError::OtherPlural {
            kind: args.kind.to_string(),
            existing: known.plural.to_string(),
            place,
        }
        .into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
