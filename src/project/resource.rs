//! One entry under PROJECT's `resources`: a GVK, and what was scaffolded for it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{CoreType, Webhooks};
use crate::names::{Domain, Group, Kind, Plural, Version};

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

/// One version of one kind, with kubebuilder's keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Resource {
    /// Present when the API type is this project's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<Api>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub controller: bool,
    /// Whether it is one of Kubernetes' own types.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub core: bool,
    /// Absent from Kubernetes' own types, whose group stands alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<Domain>,
    /// Absent when the domain itself is the API group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Group>,
    pub kind: Kind,
    pub plural: Plural,
    pub version: Version,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhooks: Option<Webhooks>,
}

/// How the API type is served.
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
    pub fn qualified_group(&self) -> String {
        let parts = [
            self.group.as_ref().map(Group::as_str),
            self.domain.as_ref().map(Domain::as_str),
        ];
        let parts: Vec<&str> = parts.into_iter().flatten().collect();
        parts.join(".")
    }

    pub fn gvk(&self) -> Gvk {
        Gvk {
            group: self.qualified_group(),
            kind: self.kind.clone(),
            version: self.version.clone(),
        }
    }

    pub fn is_stored(&self) -> bool {
        self.api.as_ref().is_some_and(|api| api.storage)
    }

    /// Whether its objects are in no namespace.
    pub fn is_cluster_scoped(&self) -> bool {
        self.api.as_ref().is_some_and(|api| !api.namespaced)
    }

    /// The webhooks that it has: none for most types.
    pub fn webhooks(&self) -> Webhooks {
        self.webhooks.clone().unwrap_or_default()
    }

    /// The type of Kubernetes' own that this is.
    pub fn core_type(&self) -> Option<&'static CoreType> {
        let group = self.group.as_ref().filter(|_| self.core)?;
        CoreType::find(group, &self.version, &self.kind)
    }

    /// Whether the webhooks of both would stand in the same files: a file's name has no group, and
    /// letter case is none to every disk.
    pub fn shares_files_with(&self, other: &Self) -> bool {
        self.version == other.version && self.kind.lower() == other.kind.lower()
    }

    /// What this kbr cannot do yet, or never could.
    pub(super) fn check(&self, project_domain: &Domain) -> Result<(), String> {
        if self.core {
            self.check_core()?;
        } else {
            self.check_own(project_domain)?;
        }
        match &self.webhooks {
            Some(webhooks) => webhooks
                .check()
                .map_err(|why| format!("`webhooks` of `{}` {why}", self.gvk())),
            None => Ok(()),
        }
    }

    fn check_own(&self, project_domain: &Domain) -> Result<(), String> {
        if self.domain.as_ref() != Some(project_domain) {
            return Err(format!(
                "`{}` is not of the project's domain `{project_domain}`",
                self.gvk()
            ));
        }
        let Some(api) = &self.api else {
            return Err(format!(
                "`{}` has no `api`: types of others are not supported yet",
                self.gvk()
            ));
        };
        if api.crd_version != "v1" {
            return Err(format!("`crdVersion` of `{}` must be `v1`", self.gvk()));
        }
        Ok(())
    }

    fn check_core(&self) -> Result<(), String> {
        let core_type = self.core_type().filter(|_| self.domain.is_none());
        let Some(core_type) = core_type else {
            return Err(format!(
                "`{}` has `core: true`, but kbr knows no such type of Kubernetes' own",
                self.gvk()
            ));
        };
        if self.plural.as_str() != core_type.plural {
            return Err(format!(
                "the plural of `{}` is `{}`",
                self.gvk(),
                core_type.plural
            ));
        }
        if self.api.is_some() || self.controller {
            return Err(format!(
                "`{}` has `core: true`: it can have webhooks, but no `api` and no `controller`",
                self.gvk()
            ));
        }
        match &self.webhooks {
            Some(webhooks) if !webhooks.conversion => Ok(()),
            Some(_) => Err(format!("Kubernetes itself converts `{}`", self.gvk())),
            None => Err(format!("`{}` has no `webhooks`", self.gvk())),
        }
    }
}
