//! One entry under PROJECT's `resources`: a GVK, and what was scaffolded for it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{CoreType, Webhooks};
use crate::names::{ControllerName, Domain, Group, Kind, NameError, Plural, Version};

/// Group, version and kind: the identity of an API type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gvk {
    /// Qualified with the domain; `core` for Kubernetes' nameless group.
    pub group: String,
    pub kind: Kind,
    pub version: Version,
}

impl fmt::Display for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} {}", self.group, self.version, self.kind)
    }
}

/// One version of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Entry", into = "Entry")]
pub struct Resource {
    pub origin: Origin,
    /// Its controllers, sorted; the one without a name of its own is named after the kind.
    pub controllers: Vec<Option<ControllerName>>,
    /// Absent when the domain itself is the API group.
    pub group: Option<Group>,
    pub kind: Kind,
    pub plural: Plural,
    pub version: Version,
    pub webhooks: Option<Webhooks>,
}

/// Whose type a resource is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The project's own, in a group below its domain.
    Own { api: Api, domain: Domain },
    /// Kubernetes', whose group stands alone.
    Core(&'static CoreType),
}

/// How an API type of the project's own is served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Api {
    crd_version: String,
    namespaced: bool,
    /// Whether this version is the one that the API server stores.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    storage: bool,
}

impl Api {
    pub fn new(namespaced: bool, storage: bool) -> Self {
        Self {
            crd_version: "v1".to_owned(),
            namespaced,
            storage,
        }
    }
}

impl Resource {
    /// Kubernetes' own type, with nothing for it yet.
    pub fn core(
        core: &'static CoreType,
        version: &Version,
        kind: &Kind,
    ) -> Result<Self, NameError> {
        Ok(Self {
            origin: Origin::Core(core),
            controllers: Vec::new(),
            group: Some(core.group_name().parse()?),
            kind: kind.clone(),
            plural: core.plural.parse()?,
            version: version.clone(),
            webhooks: None,
        })
    }

    pub fn qualified_group(&self) -> String {
        let domain = match &self.origin {
            Origin::Own { domain, .. } => Some(domain.as_str()),
            Origin::Core(_) => None,
        };
        let parts = [self.group.as_ref().map(Group::as_str), domain];
        let parts: Vec<&str> = parts.into_iter().flatten().collect();
        parts.join(".")
    }

    /// The group without the domain, or the domain where that is the group.
    pub fn group_name(&self) -> String {
        match &self.group {
            Some(group) => group.to_string(),
            None => self.qualified_group(),
        }
    }

    pub fn gvk(&self) -> Gvk {
        Gvk {
            group: self.qualified_group(),
            kind: self.kind.clone(),
            version: self.version.clone(),
        }
    }

    fn api(&self) -> Option<&Api> {
        match &self.origin {
            Origin::Own { api, .. } => Some(api),
            Origin::Core(_) => None,
        }
    }

    pub fn is_own(&self) -> bool {
        self.api().is_some()
    }

    pub fn is_stored(&self) -> bool {
        self.api().is_some_and(|api| api.storage)
    }

    /// Whether its objects are in no namespace.
    pub fn is_cluster_scoped(&self) -> bool {
        match &self.origin {
            Origin::Own { api, .. } => !api.namespaced,
            Origin::Core(core) => core.is_cluster_scoped,
        }
    }

    /// The webhooks that it has: none for most types.
    pub fn webhooks(&self) -> Webhooks {
        self.webhooks.clone().unwrap_or_default()
    }

    /// The type of Kubernetes' own that this is.
    pub fn core_type(&self) -> Option<&'static CoreType> {
        match self.origin {
            Origin::Core(core) => Some(core),
            Origin::Own { .. } => None,
        }
    }

    /// Whether both are the same kind, in whatever version.
    pub fn is_kind_of(&self, other: &Self) -> bool {
        self.kind == other.kind && self.is_in_group_of(other)
    }

    /// Whether both are of the same API group.
    pub fn is_in_group_of(&self, other: &Self) -> bool {
        self.qualified_group() == other.qualified_group()
    }

    /// What speaks against it in a project with that domain.
    pub(super) fn check(&self, project_domain: &Domain) -> Result<(), String> {
        match &self.origin {
            Origin::Own { domain, .. } if domain != project_domain => Err(format!(
                "`{}` is not of the project's domain `{project_domain}`",
                self.gvk()
            )),
            Origin::Own { api, .. } if api.crd_version != "v1" => {
                Err(format!("`crdVersion` of `{}` must be `v1`", self.gvk()))
            }
            Origin::Core(core) => self.check_core(core),
            Origin::Own { .. } => Ok(()),
        }?;
        match &self.webhooks {
            Some(webhooks) => webhooks
                .check()
                .map_err(|why| format!("`webhooks` of `{}` {why}", self.gvk())),
            None => Ok(()),
        }
    }

    fn check_core(&self, core: &CoreType) -> Result<(), String> {
        if self.webhooks().conversion {
            return Err(format!("Kubernetes itself converts `{}`", self.gvk()));
        }
        if self.webhooks.is_some() && !core.has_webhooks {
            return Err(format!("`{}` can have no `webhooks`", self.gvk()));
        }
        if self.webhooks.is_none() && self.controllers.is_empty() {
            return Err(format!(
                "`{}` has neither `webhooks` nor a `controller`",
                self.gvk()
            ));
        }
        Ok(())
    }
}

/// A resource as it stands in PROJECT, with kubebuilder's keys.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Entry {
    /// Present when the API type is this project's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    api: Option<Api>,
    /// Whether there is the controller that is named after the kind.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    controller: bool,
    /// The controllers with names of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    controllers: Vec<NamedController>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    core: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    domain: Option<Domain>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<Group>,
    kind: Kind,
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

impl From<Resource> for Entry {
    fn from(resource: Resource) -> Self {
        let (api, domain, core) = match resource.origin {
            Origin::Own { api, domain } => (Some(api), Some(domain), false),
            Origin::Core(_) => (None, None, true),
        };
        let named = resource.controllers.iter().flatten();
        Self {
            api,
            controller: resource.controllers.contains(&None),
            controllers: named
                .cloned()
                .map(|name| NamedController { name })
                .collect(),
            core,
            domain,
            group: resource.group,
            kind: resource.kind,
            plural: resource.plural,
            version: resource.version,
            webhooks: resource.webhooks,
        }
    }
}

impl TryFrom<Entry> for Resource {
    type Error = String;

    fn try_from(entry: Entry) -> Result<Self, String> {
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

/// Whose type an entry says it is.
fn origin(entry: &Entry) -> Result<Origin, String> {
    let (version, kind) = (&entry.version, &entry.kind);
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
            "`{version} {kind}` must have `api` and `domain`, or `core: true`"
        )),
    }
}
