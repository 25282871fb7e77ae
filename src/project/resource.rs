//! One entry under PROJECT's `resources`: a GVK, and what was scaffolded for it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::names::{Domain, Group, Kind, Plural, Version};

/// Group, version and kind: the identity of an API type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gvk {
    /// Qualified with the domain.
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
    pub domain: Domain,
    /// Absent when the domain itself is the API group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Group>,
    pub kind: Kind,
    pub plural: Plural,
    pub version: Version,
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
    pub fn namespaced(storage: bool) -> Self {
        Self {
            crd_version: "v1".to_owned(),
            namespaced: true,
            storage,
        }
    }
}

impl Resource {
    pub fn qualified_group(&self) -> String {
        match &self.group {
            Some(group) => format!("{group}.{}", self.domain),
            None => self.domain.to_string(),
        }
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

    /// What this kbr can not do yet, or never could.
    pub(super) fn check(&self, project_domain: &Domain) -> Result<(), String> {
        if self.domain != *project_domain {
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
        if !api.namespaced {
            return Err(format!(
                "`{}` has `namespaced: false`: cluster scope is not supported yet",
                self.gvk()
            ));
        }
        Ok(())
    }
}
