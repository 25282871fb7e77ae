//! Types that are not the project's own: `kbr create api` creates only controllers for them. Pure.

use super::{Parts, check_typed, nothing_wanted};
use crate::cli::ApiArgs;
use crate::commands::beside::check_beside;
use crate::commands::create_api::error::ApiError;
use crate::commands::error::{Error, Result};
use crate::commands::external::error::ExternalError;
use crate::commands::typed::group;
use crate::project::{CoreType, Project, Resource};

/// The requested type of Kubernetes' own, from PROJECT or as a new one; `None` if Kubernetes has no such
/// kind.
pub fn core(project: &Project, args: &ApiArgs) -> Result<Option<Resource>> {
    let known = group(&args.group).and_then(|group| CoreType::of_kind(group, &args.kind));
    let Some(known) = known else {
        return Ok(None);
    };
    if known.version != args.version.as_str() {
        return Err(ApiError::CoreVersion {
            group: known.group_name(),
            version: args.version.clone(),
            kind: args.kind.clone(),
            known: known.version,
        }
        .into());
    }
    let core = Resource::core(known).map_err(Error::name("--group"))?;
    check_typed(args, &core, "Kubernetes")?;
    if project.namespaced && core.is_cluster_scoped() {
        let kind = args.kind.clone();
        return Err(ApiError::CoreScope { kind }.into());
    }
    let existing = project.resources.iter().find(|it| it.gvk() == core.gvk());
    let resource = existing.cloned().unwrap_or(core);
    check_beside(project, &resource)?;
    Ok(Some(resource))
}

/// Another operator's type with the requested controller, or why it cannot have that controller.
pub fn with_controller(
    project: &Project,
    external: Resource,
    args: &ApiArgs,
    parts: Parts,
) -> Result<Resource> {
    if parts.resource {
        return Err(ExternalError::Resource.into());
    }
    if !parts.controller {
        return Err(nothing_wanted(args).into());
    }
    check_typed(args, &external, "its CRD")?;
    super::with_controller(project, external, args)
}
