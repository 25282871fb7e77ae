//! A resource as written in PROJECT, with kubebuilder's keys.

use serde::{Deserialize, Serialize};

use super::resource::{Api, External, Origin, Resource};
use super::{CoreType, Webhooks};
use crate::names::{ControllerName, CrateSpec, Domain, Group, Kind, Plural, TypePath, Version};

/// One entry under `resources`.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ResourceEntry {
    /// Present when the API type is this project's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    api: Option<Api>,
    /// Whether the objects of an external type are cluster-scoped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cluster_scoped: bool,
    /// Whether it has the controller that is named after the kind.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    controller: bool,
    /// The controllers with names of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    controllers: Vec<NamedController>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    core: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    domain: Option<Domain>,
    /// Whether another operator defines the type.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    external: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<Group>,
    kind: Kind,
    /// The crate that was added for an external type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    module: Option<CrateSpec>,
    /// The Rust path of an external type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<TypePath>,
    plural: Plural,
    version: Version,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    webhooks: Option<Webhooks>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedController {
    name: ControllerName,
}

impl From<Resource> for ResourceEntry {
    fn from(resource: Resource) -> Self {
        let is_external = resource.external().is_some();
        let (mut api, mut domain, mut path, mut module) = (None, None, None, None);
        let (mut core, mut cluster_scoped) = (false, false);
        match resource.origin {
            Origin::Own {
                api: own,
                domain: its,
            } => (api, domain) = (Some(own), Some(its)),
            Origin::Core(_) => core = true,
            Origin::External(external) => {
                (domain, path, module) = (external.domain, Some(external.path), external.module);
                cluster_scoped = external.is_cluster_scoped;
            }
        }
        let named = resource.controllers.iter().flatten();
        Self {
            api,
            cluster_scoped,
            controller: resource.controllers.contains(&None),
            controllers: named
                .cloned()
                .map(|name| NamedController { name })
                .collect(),
            core,
            domain,
            external: is_external,
            group: resource.group,
            kind: resource.kind,
            module,
            path,
            plural: resource.plural,
            version: resource.version,
            webhooks: resource.webhooks,
        }
    }
}

impl TryFrom<ResourceEntry> for Resource {
    type Error = String;

    fn try_from(entry: ResourceEntry) -> Result<Self, String> {
        let origin = origin(&entry)?;
        let after_kind = entry.controller.then_some(None);
        let named = entry.controllers.into_iter().map(|named| Some(named.name));
        let mut controllers: Vec<_> = after_kind.into_iter().chain(named).collect();
        controllers.sort();
        Ok(Self {
            origin,
            controllers,
            group: entry.group,
            kind: entry.kind,
            plural: entry.plural,
            version: entry.version,
            webhooks: entry.webhooks,
        })
    }
}

/// The origin of an entry's type.
fn origin(entry: &ResourceEntry) -> Result<Origin, String> {
    let (version, kind) = (&entry.version, &entry.kind);
    if entry.external {
        return external(entry).map(Origin::External);
    }
    if entry.path.is_some() || entry.module.is_some() || entry.cluster_scoped {
        return Err(format!(
            "`{version} {kind}` must have `external: true`, or none of `clusterScoped`, `module` and `path`"
        ));
    }
    match (&entry.api, &entry.domain, &entry.group) {
        (Some(api), Some(domain), _) if !entry.core => Ok(Origin::Own {
            api: api.clone(),
            domain: domain.clone(),
        }),
        (None, None, Some(group)) if entry.core => {
            let core = CoreType::find(group, version, kind);
            let core = core.ok_or_else(|| {
                format!(
                    "`{group}/{version} {kind}` has `core: true`, but kbr knows no such type of \
                     Kubernetes' own"
                )
            })?;
            if entry.plural.as_str() != core.plural {
                return Err(format!(
                    "the plural of `{group}/{version} {kind}` is `{}`",
                    core.plural
                ));
            }
            Ok(Origin::Core(core))
        }
        _ if entry.core => Err(format!(
            "`{version} {kind}` has `core: true`: it must have a `group`, and neither `api` nor \
             `domain`"
        )),
        _ => Err(format!(
            "`{version} {kind}` must have `api` and `domain`, or `core: true`, or `external: true`"
        )),
    }
}

fn external(entry: &ResourceEntry) -> Result<External, String> {
    match (&entry.path, &entry.group) {
        (Some(path), Some(_)) if entry.api.is_none() && !entry.core => Ok(External {
            domain: entry.domain.clone(),
            path: path.clone(),
            module: entry.module.clone(),
            is_cluster_scoped: entry.cluster_scoped,
        }),
        _ => Err(format!(
            "`{} {}` has `external: true`: it must have a `group` and a `path`, and neither `api` nor `core`",
            entry.version, entry.kind
        )),
    }
}
