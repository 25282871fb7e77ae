//! What each template may name.

use serde::Serialize;

/// What the templates of `init/` may name.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InitContext {
    pub domain: String,
    /// Whether the project stands under the Apache License.
    pub license: bool,
    pub project: String,
    pub crate_name: String,
    /// Cargo's `repository`, if there is one.
    pub has_repo: bool,
    /// The minor version of Kubernetes that the project is compiled and tested against.
    pub kubernetes: String,
    /// Name of the Lease that the managers elect a leader by.
    pub lease: String,
    /// Whether the operator watches namespaces, and not the cluster.
    pub namespaced: bool,
    pub repo: String,
}

/// What the templates of `api/` for types, samples and roles may name.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ApiContext {
    /// Whether objects are in no namespace.
    pub cluster: bool,
    /// Qualified with the domain.
    pub group: String,
    pub kind: String,
    pub kind_lower: String,
    /// Whether the operator watches namespaces, and not the cluster.
    pub namespaced: bool,
    pub plural: String,
    pub project: String,
    /// Name of the role for people.
    pub role: String,
    /// Name of the object in the sample.
    pub sample_name: String,
    pub version: String,
}

/// What the templates of `api/` for controllers may name.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ControllerContext {
    /// Whether objects are in no namespace.
    pub cluster: bool,
    /// Type of the condition that it writes.
    pub condition: String,
    /// Qualified with the domain.
    pub group: String,
    /// Module of the group with `::` behind it, in a project of several.
    pub group_module: String,
    pub kind: String,
    /// Name of the controller.
    pub name: String,
    /// Whether the operator watches namespaces, and not the cluster.
    pub namespaced: bool,
    pub plural: String,
    /// Path of the sample.
    pub sample: String,
    pub version: String,
}

/// What the templates of `api/` for a type that runs an image, and its controller, may name.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ImageContext {
    /// The words of the command as Rust has them, a line each.
    pub command: String,
    /// Qualified with the domain.
    pub group: String,
    /// Module of the group with `::` behind it, in a project of several.
    pub group_module: String,
    pub has_command: bool,
    pub has_port: bool,
    pub has_user: bool,
    pub image: String,
    pub kind: String,
    pub kind_lower: String,
    /// Name of the controller.
    pub name: String,
    /// Whether the operator watches namespaces, and not the cluster.
    pub namespaced: bool,
    pub plural: String,
    pub port: String,
    pub project: String,
    /// Path of the sample.
    pub sample: String,
    /// Name of the object in the sample.
    pub sample_name: String,
    pub user: String,
    pub version: String,
}

/// What the templates of `api/` for controllers of others' types may name.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ForeignControllerContext {
    /// Whether objects are in no namespace.
    pub cluster: bool,
    /// Whether the type is Kubernetes' own.
    pub core: bool,
    /// What a valid object of a core type has beside its metadata.
    pub example: String,
    /// As the marker has it: qualified with the domain, or two quotes.
    pub group: String,
    pub kind: String,
    /// Name of the controller.
    pub name: String,
    /// Whether the operator watches namespaces, and not the cluster.
    pub namespaced: bool,
    /// Whose the type is.
    pub owner: String,
    pub plural: String,
    /// Path of the sample of an external type.
    pub sample: String,
    /// The path of the type, from its crate on.
    pub type_path: String,
}

/// What `api/group.rs` may name.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GroupContext {
    pub group: String,
    /// What of the group is in the module.
    pub what: String,
}

/// What the templates of `webhook/config/` may name.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConfigContext {
    pub project: String,
}

/// What the templates of `webhook/` for defaulters and validators may name.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AdmissionContext {
    /// Whether no webhook is asked about a name of 64 characters.
    pub bounds_names: bool,
    /// Whether no webhook is asked in the operator's own namespace, which may need such objects first.
    pub bounds_namespaces: bool,
    /// Whether objects are in no namespace.
    pub cluster: bool,
    /// Whether the type is Kubernetes' own.
    pub core: bool,
    /// Suffix of the project's own annotations.
    pub domain: String,
    /// What a valid object of a core type has beside its metadata.
    pub example: String,
    /// Whether the type is another operator's.
    pub external: bool,
    /// As the marker has it: qualified with the domain, or two quotes.
    pub group: String,
    /// Module of the group with `::` behind it, in a project of several.
    pub group_module: String,
    pub kind: String,
    pub kind_lower: String,
    /// Unique in the cluster's configuration that it becomes a part of.
    pub name: String,
    /// Whether the type is the project's own.
    pub own: bool,
    pub path: String,
    pub plural: String,
    pub project: String,
    /// Path of the sample of a type that is not Kubernetes' own.
    pub sample: String,
    /// The path of a type that is not the project's own, from its crate on.
    pub type_path: String,
    pub version: String,
}

/// What `webhook/version.rs` may name.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VersionContext {
    pub version: String,
}

/// What the templates of `webhook/` for converters may name.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConverterContext {
    /// The same as `versions`, as rustfmt breaks it.
    pub broken_versions: String,
    /// Whether objects are in no namespace.
    pub cluster: bool,
    /// The library crate of the operator.
    pub crate_name: String,
    /// Module of the group with `::` behind it, in a project of several.
    pub group_module: String,
    pub hub: String,
    /// File name of the hub's sample.
    pub hub_sample: String,
    pub kind: String,
    /// The module of the converter, inside of the spoke's.
    pub module: String,
    pub spoke: String,
    /// File name of the spoke's sample.
    pub spoke_sample: String,
    /// Hub and spoke in rustfmt's order, in braces.
    pub versions: String,
}

/// What `api/crdgen.rs` may name.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CrdgenContext {
    /// The library crate of the API types.
    pub crate_name: String,
    pub has_types: bool,
    pub types: Vec<CrdgenType>,
}

/// One API type that crdgen prints.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CrdgenType {
    pub kind: String,
    /// The path of Rust modules to it, its crate's name aside.
    pub module: String,
}
