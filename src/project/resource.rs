//! One entry under PROJECT's `resources`: a GVK, and what was scaffolded for it.

use std::fmt;
use std::num::NonZeroU16;

use serde::{Deserialize, Serialize};

use super::entry::ResourceEntry;
use super::{CoreType, Policies, Webhooks};
use crate::names::{
    CommandWord, ControllerName, CrateSpec, Domain, Group, GroupModule, ImageRef, Kind, NameError,
    Plural, TypePath, Version, group_module,
};

/// Group, version and kind: the identity of an API type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Gvk {
    /// Qualified with the domain; `core` for Kubernetes' nameless group.
    pub(crate) group: String,
    pub(crate) kind: Kind,
    pub(crate) version: Version,
}

impl fmt::Display for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} {}", self.group, self.version, self.kind)
    }
}

/// One version of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ResourceEntry", into = "ResourceEntry")]
pub(crate) struct Resource {
    pub(crate) origin: Origin,
    /// Its controllers, sorted; the one without a name of its own is named after the kind.
    pub(crate) controllers: Vec<Option<ControllerName>>,
    /// Absent when the domain itself is the API group.
    pub(crate) group: Option<Group>,
    pub(crate) kind: Kind,
    pub(crate) plural: Plural,
    pub(crate) policies: Policies,
    pub(crate) version: Version,
    pub(crate) webhooks: Option<Webhooks>,
}

/// Who defines the type of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The project itself, in a group below its domain, or in that of an imported CRD.
    Own { api: Api, domain: Domain },
    /// Kubernetes, in a group without a domain.
    Core(&'static CoreType),
    /// Another operator, and in Rust another crate.
    External(External),
}

/// A type that another operator defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct External {
    /// The domain after the group, if it was typed separately.
    pub(crate) domain: Option<Domain>,
    /// The path of the type in another crate; absent if kbr made it from its CRD, in the project's crate `api`.
    pub(crate) path: Option<TypePath>,
    /// The crate that kbr has added to the dependencies for the type.
    pub(crate) module: Option<CrateSpec>,
    pub(crate) is_cluster_scoped: bool,
}

/// The image that the objects of a type run, from the flags of `kbr create api --image`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Image {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) command: Vec<CommandWord>,
    /// The controller that keeps the Deployment; absent for the one that is named after the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) controller: Option<ControllerName>,
    pub(crate) image: ImageRef,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) port: Option<NonZeroU16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) run_as_user: Option<u32>,
}

/// How an API type of the project's own is served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Api {
    crd_version: String,
    /// The Rust module of its group, if it does not follow from the group; with `-` for `_`, it stands for the group in
    /// the names of files and objects too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) group_module: Option<GroupModule>,
    /// Whether its roles for users of the API have the group in their names, if the layout says otherwise: the project
    /// had another layout when they were created, and no name in a cluster changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) grouped_roles: Option<bool>,
    /// The image that its objects run, if the type was created for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) image: Option<Image>,
    /// Whether the type was imported from a CRD: its text follows from no template.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) imported: bool,
    pub(crate) namespaced: bool,
    /// Whether this version is the one that the API server stores.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) storage: bool,
    /// Every version of the kind in which objects may be stored, like `status.storedVersions` of a CRD; absent
    /// if that is only the stored version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) stored_versions: Vec<Version>,
}

impl Api {
    pub(crate) fn new(namespaced: bool, storage: bool) -> Self {
        Self {
            crd_version: "v1".to_owned(),
            group_module: None,
            grouped_roles: None,
            image: None,
            imported: false,
            namespaced,
            storage,
            stored_versions: Vec::new(),
        }
    }
}

impl Resource {
    /// A resource of Kubernetes' own type, without controllers and webhooks so far.
    pub(crate) fn core(core: &'static CoreType) -> Result<Self, NameError> {
        Ok(Self {
            origin: Origin::Core(core),
            controllers: Vec::new(),
            group: Some(core.group_name().parse()?),
            kind: core.kind.parse()?,
            plural: core.plural.parse()?,
            policies: Policies::default(),
            version: core.version.parse()?,
            webhooks: None,
        })
    }

    pub(crate) fn qualified_group(&self) -> String {
        let domain = match &self.origin {
            Origin::Own { domain, .. } => Some(domain.as_str()),
            Origin::External(external) => external.domain.as_ref().map(Domain::as_str),
            Origin::Core(_) => None,
        };
        let group = self.group.as_ref().map(Group::as_str);
        let parts: Vec<&str> = group.into_iter().chain(domain).collect();
        parts.join(".")
    }

    /// The group in the names of files and objects; none where the domain is the group.
    pub(crate) fn group_label(&self) -> Option<String> {
        match self.api().and_then(|api| api.group_module.as_ref()) {
            Some(module) => Some(module.as_str().replace('_', "-")),
            None => self.group.as_ref().map(Group::to_string),
        }
    }

    /// The same, or the domain where that is the group.
    pub(crate) fn group_name(&self) -> String {
        self.group_label().unwrap_or_else(|| self.qualified_group())
    }

    /// The group as it is typed: as a whole if another one begins with the same word.
    pub(crate) fn typed_group(&self) -> Option<Group> {
        match self.api().and_then(|api| api.group_module.as_ref()) {
            Some(_) => self.qualified_group().parse().ok(),
            None => self.group.clone(),
        }
    }

    pub(crate) fn gvk(&self) -> Gvk {
        Gvk {
            group: self.qualified_group(),
            kind: self.kind.clone(),
            version: self.version.clone(),
        }
    }

    pub(crate) fn api(&self) -> Option<&Api> {
        match &self.origin {
            Origin::Own { api, .. } => Some(api),
            Origin::Core(_) | Origin::External(_) => None,
        }
    }

    /// How the type is served, to be changed, if the project defines the type.
    pub(crate) fn api_mut(&mut self) -> Option<&mut Api> {
        match &mut self.origin {
            Origin::Own { api, .. } => Some(api),
            Origin::Core(_) | Origin::External(_) => None,
        }
    }

    pub(crate) fn is_own(&self) -> bool {
        self.api().is_some()
    }

    /// Whether its group was typed: as in PROJECT, or as a whole, or a group of Kubernetes without `.k8s.io`.
    pub(crate) fn has_group(&self, typed: Option<&Group>) -> bool {
        let is_other_spelling = |group: &Group| match &self.origin {
            Origin::Core(core) => core.is_meant_by(group.as_str()),
            Origin::Own { .. } | Origin::External(_) => group.as_str() == self.qualified_group(),
        };
        self.group.as_ref() == typed || typed.is_some_and(is_other_spelling)
    }

    /// The group and the domain of a type of the project's own.
    pub(crate) fn own_group(&self) -> Option<(Option<Group>, Domain)> {
        match &self.origin {
            Origin::Own { domain, .. } => Some((self.group.clone(), domain.clone())),
            Origin::Core(_) | Origin::External(_) => None,
        }
    }

    /// Whether the type was imported from a CRD.
    pub(crate) fn is_imported(&self) -> bool {
        self.api().is_some_and(|api| api.imported)
    }

    pub(crate) fn is_stored(&self) -> bool {
        self.api().is_some_and(|api| api.storage)
    }

    /// The image that its objects run, if the type was created for one.
    pub(crate) fn image(&self) -> Option<&Image> {
        self.api()?.image.as_ref()
    }

    /// Renames its controllers; `names` are in the order of the old names.
    pub(crate) fn rename_controllers(&mut self, names: Vec<Option<ControllerName>>) {
        let old = std::mem::replace(&mut self.controllers, names);
        let new = &self.controllers;
        if let Origin::Own { api, .. } = &mut self.origin
            && let Some(image) = &mut api.image
            && let Some(at) = old.iter().position(|name| *name == image.controller)
        {
            image.controller.clone_from(&new[at]);
        }
    }

    /// The versions in which objects of its kind may be stored, as listed in it.
    pub(crate) fn stored_versions(&self) -> &[Version] {
        self.api().map_or(&[], |api| &api.stored_versions)
    }

    /// Whether the operator needs permissions in the whole cluster for it. A policy alone needs none.
    pub(crate) fn needs_cluster(&self) -> bool {
        let is_used = self.is_own() || self.webhooks.is_some() || !self.controllers.is_empty();
        is_used && self.is_cluster_scoped()
    }

    /// Whether its objects are cluster-scoped.
    pub(crate) fn is_cluster_scoped(&self) -> bool {
        match &self.origin {
            Origin::Own { api, .. } => !api.namespaced,
            Origin::Core(core) => core.is_cluster_scoped,
            Origin::External(external) => external.is_cluster_scoped,
        }
    }

    /// Its webhooks; none for most types.
    pub(crate) fn webhooks(&self) -> Webhooks {
        self.webhooks.clone().unwrap_or_default()
    }

    /// The type of Kubernetes' own, if this is one.
    pub(crate) fn core_type(&self) -> Option<&'static CoreType> {
        match self.origin {
            Origin::Core(core) => Some(core),
            Origin::Own { .. } | Origin::External(_) => None,
        }
    }

    /// The type of another operator, if this is one.
    pub(crate) fn external(&self) -> Option<&External> {
        match &self.origin {
            Origin::External(external) => Some(external),
            Origin::Own { .. } | Origin::Core(_) => None,
        }
    }

    /// The path of a type that the project does not define, starting with its crate.
    pub(crate) fn foreign_path(&self) -> Option<String> {
        match &self.origin {
            Origin::Own { .. } => None,
            Origin::Core(core) => Some(format!("{}::{}", core.module, self.kind)),
            Origin::External(External {
                path: Some(path), ..
            }) => Some(path.to_string()),
            Origin::External(_) => Some(format!(
                "api::external::{}::{}::{}",
                self.external_module(),
                self.version.module(),
                self.kind.type_name()
            )),
        }
    }

    /// Whether this is a type of another operator that kbr made from its CRD.
    pub(crate) fn is_made_from_crd(&self) -> bool {
        self.external().is_some_and(|it| it.path.is_none())
    }

    /// The module of its group among the types of other operators, whether the project has one group or several.
    pub(crate) fn external_module(&self) -> String {
        group_module(&self.qualified_group(), "")
    }

    /// Whether PROJECT needs it: a type that the project does not define needs webhooks, policies or controllers.
    pub(crate) fn is_used(&self) -> bool {
        let has_any = self.webhooks.is_some() || !self.policies.is_empty();
        self.is_own() || has_any || !self.controllers.is_empty()
    }

    /// Whether both are the same kind, in any version.
    pub(crate) fn is_kind_of(&self, other: &Self) -> bool {
        self.kind == other.kind && self.is_in_group_of(other)
    }

    /// Whether both are of the same API group.
    pub(crate) fn is_in_group_of(&self, other: &Self) -> bool {
        self.qualified_group() == other.qualified_group()
    }

    /// Checks what depends on no other resource.
    pub(super) fn check(&self) -> Result<(), String> {
        let gvk = self.gvk();
        match &self.origin {
            Origin::Own { api, .. } if api.crd_version != "v1" => {
                Err(format!("`crdVersion` of `{gvk}` must be `v1`"))
            }
            Origin::Own { api, .. } if api.image.is_some() && !api.namespaced => Err(format!(
                "`{gvk}` is cluster-scoped, so it can have no `image`: a Deployment is in a namespace"
            )),
            Origin::Own { .. } => Ok(()),
            _ if self.webhooks().conversion => Err(format!(
                "`{gvk}` is not defined in this project, so it cannot be converted here"
            )),
            Origin::Core(core) if self.webhooks.is_some() && !core.has_webhooks => {
                Err(format!("`{gvk}` can have no `webhooks`"))
            }
            _ if self.is_used() => Ok(()),
            _ => Err(format!(
                "`{gvk}` has no `webhooks`, no `policies` and no `controller`"
            )),
        }?;
        let webhooks = self.webhooks.as_ref().map_or(Ok(()), Webhooks::check);
        webhooks.map_err(|why| format!("`webhooks` of `{gvk}` {why}"))
    }
}
