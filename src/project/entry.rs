//! A resource as written in PROJECT, with kubebuilder's keys.

use serde::{Deserialize, Serialize};

use super::resource::{Api, External, Origin, Resource};
use super::{CoreType, Policies, Webhooks};
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
    /// The Rust path of an external type; absent if kbr made the type from its CRD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<TypePath>,
    plural: Plural,
    #[serde(default, skip_serializing_if = "Policies::is_empty")]
    policies: Policies,
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
        let has_unnamed = resource.controllers.contains(&None);
        let named = resource.controllers.into_iter().flatten();
        let mut entry = Self {
            api: None,
            cluster_scoped: false,
            controller: has_unnamed,
            controllers: named.map(|name| NamedController { name }).collect(),
            core: false,
            domain: None,
            external: false,
            group: resource.group,
            kind: resource.kind,
            module: None,
            path: None,
            plural: resource.plural,
            policies: resource.policies,
            version: resource.version,
            webhooks: resource.webhooks,
        };
        match resource.origin {
            Origin::Own { api, domain } => (entry.api, entry.domain) = (Some(api), Some(domain)),
            Origin::Core(_) => entry.core = true,
            Origin::External(its) => {
                (entry.external, entry.cluster_scoped) = (true, its.is_cluster_scoped);
                (entry.domain, entry.path, entry.module) = (its.domain, its.path, its.module);
            }
        }
        entry
    }
}

impl TryFrom<ResourceEntry> for Resource {
    type Error = String;

    fn try_from(entry: ResourceEntry) -> Result<Self, String> {
        let origin = origin(&entry)?;
        let after_kind = entry.controller.then_some(None);
        let named = entry.controllers.into_iter().map(|it| Some(it.name));
        let mut controllers: Vec<_> = after_kind.into_iter().chain(named).collect();
        controllers.sort();
        Ok(Self {
            origin,
            controllers,
            group: entry.group,
            kind: entry.kind,
            plural: entry.plural,
            policies: entry.policies,
            version: entry.version,
            webhooks: entry.webhooks,
        })
    }
}

/// The origin of an entry's type.
fn origin(entry: &ResourceEntry) -> Result<Origin, String> {
    let (version, kind) = (&entry.version, &entry.kind);
    match (&entry.api, &entry.domain, &entry.group, &entry.path) {
        (None, domain, Some(_), path)
            if entry.external && !entry.core && (path.is_some() || entry.module.is_none()) =>
        {
            Ok(Origin::External(External {
                domain: domain.clone(),
                path: path.clone(),
                module: entry.module.clone(),
                is_cluster_scoped: entry.cluster_scoped,
            }))
        }
        _ if entry.external => Err(format!(
            "`{version} {kind}` has `external: true`: it must have a `group`, a `path` if it has a `module`, and neither `api` nor `core`"
        )),
        _ if entry.path.is_some() || entry.module.is_some() || entry.cluster_scoped => {
            Err(format!(
                "`{version} {kind}` must have `external: true`, or none of `clusterScoped`, `module` and `path`"
            ))
        }
        (Some(api), Some(domain), ..) if !entry.core => Ok(Origin::Own {
            api: api.clone(),
            domain: domain.clone(),
        }),
        (None, None, Some(group), _) if entry.core => match CoreType::find(group, version, kind) {
            Some(core) if entry.plural.as_str() == core.plural => Ok(Origin::Core(core)),
            Some(CoreType { plural, .. }) => Err(format!(
                "the plural of `{group}/{version} {kind}` is `{plural}`"
            )),
            None => Err(format!(
                "`{group}/{version} {kind}` has `core: true`, but kbr knows no such type of \
                 Kubernetes' own"
            )),
        },
        _ if entry.core => Err(format!(
            "`{version} {kind}` has `core: true`: it must have a `group`, and neither `api` nor \
             `domain`"
        )),
        _ => Err(format!(
            "`{version} {kind}` must have `api` and `domain`, or `core: true`, or `external: true`"
        )),
    }
}
