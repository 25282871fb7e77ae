//! A type of Kubernetes' own, for which `kbr create api` makes controllers alone. Pure.

use crate::cli::ApiArgs;
use crate::error::{ApiError, Error, Result};
use crate::project::{CoreType, Project, Resource};

use super::check_beside;

/// Kubernetes' own type that was typed, as PROJECT has it or as if it were new; nothing where
/// Kubernetes has no such kind.
pub fn resource(project: &Project, args: &ApiArgs) -> Result<Option<Resource>> {
    let Some(group) = args.group.clone().and_then(|group| group.0) else {
        return Ok(None);
    };
    let Some(known) = CoreType::of_kind(&group, &args.kind) else {
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
    let core = Resource::core(known, &args.version, &args.kind).map_err(|source| Error::Name {
        option: "--group",
        source,
    })?;
    check_core(project, args, &core)?;
    let there = project.resources.iter().find(|it| it.gvk() == core.gvk());
    let core = there.cloned().unwrap_or(core);
    check_beside(project, &core)?;
    Ok(Some(core))
}

/// Refuses what was typed of Kubernetes' own type and is not so.
fn check_core(project: &Project, args: &ApiArgs, core: &Resource) -> Result<()> {
    let is_namespaced = !core.is_cluster_scoped();
    if args.namespaced.is_some_and(|typed| typed != is_namespaced) {
        return Err(ApiError::OtherScope {
            kind: args.kind.clone(),
            existing: is_namespaced,
        }
        .into());
    }
    if args
        .plural
        .as_ref()
        .is_some_and(|typed| *typed != core.plural)
    {
        return Err(ApiError::OtherPlural {
            kind: args.kind.to_string(),
            existing: core.plural.to_string(),
            place: "Kubernetes",
        }
        .into());
    }
    if project.namespaced && !is_namespaced {
        return Err(ApiError::CoreScope {
            kind: args.kind.clone(),
        }
        .into());
    }
    Ok(())
}

/// What else may be meant.
pub fn unknown_type(args: &ApiArgs, new: &Resource) -> ApiError {
    let meant = CoreType::all_of_kind(&args.kind).next();
    let meant = meant.filter(|_| new.group.is_none());
    let core = new.group.iter();
    let core = core.flat_map(|group| CoreType::of_version(group, &args.version));
    ApiError::UnknownType {
        gvk: new.gvk(),
        core: core.map(|core| core.kind).collect(),
        core_options: meant.map(CoreType::options),
    }
}
