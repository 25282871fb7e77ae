//! The variables of each template.

use serde::Serialize;

/// The variables of the templates of `init/`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InitContext {
    pub domain: String,
    /// The domain in a regular expression.
    pub domain_pattern: String,
    /// Whether the project is under the Apache License.
    pub license: bool,
    pub project: String,
    pub crate_name: String,
    /// Cargo's `repository`, if there is one.
    pub has_repo: bool,
    /// The minor version of Kubernetes that the project is compiled and tested against.
    pub kubernetes: String,
    /// Name of the Lease for the leader election of the managers, in manifests.
    pub lease: String,
    /// Whether the operator watches namespaces, and not the whole cluster.
    pub namespaced: bool,
    /// Whether the Lease is called like the Deployment.
    pub own_lease: bool,
    pub repo: String,
    /// Whether the manager makes the certificates of the webhooks itself.
    pub self_managed: bool,
}

/// The variables of the templates of `api/` and `webhook/`, about a resource and its project.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ResourceContext {
    /// The kind in the API, which may be no name of a type.
    pub api_kind: String,
    /// The version in the API, which may be no name of a module.
    pub api_version: String,
    /// Whether objects are cluster-scoped.
    pub cluster: bool,
    /// The words of the command in the image that objects run, as Rust literals, one on each line.
    pub command: String,
    /// Whether the type is Kubernetes' own.
    pub core: bool,
    /// The library crate of the operator.
    pub crate_name: String,
    /// What a valid object of a core type has apart from its metadata.
    pub example: String,
    /// Whether another operator defines the type.
    pub external: bool,
    /// As written in a marker: qualified with the domain, or two quotes for the nameless group.
    pub group: String,
    /// Module of the group followed by `::`, in a project with several groups.
    pub group_module: String,
    pub has_command: bool,
    /// Whether the kind in the API is no name of a type.
    pub has_root: bool,
    pub has_port: bool,
    pub has_user: bool,
    /// The image that objects run, if the type was created for one.
    pub image: String,
    /// The name of its type.
    pub kind: String,
    pub kind_lower: String,
    /// Whether the operator watches namespaces, and not the whole cluster.
    pub namespaced: bool,
    /// Whether the project defines the type.
    pub own: bool,
    pub plural: String,
    /// Port on which the image serves.
    pub port: String,
    pub project: String,
    /// The beginning of the names of the roles for users of the API.
    pub role: String,
    /// Whether the manager makes the certificates of the webhooks itself.
    pub self_managed: bool,
    /// Path of the sample of a type that is not Kubernetes' own.
    pub sample: String,
    /// Name of the object in the sample.
    pub sample_name: String,
    /// The path of a type that the project does not define, starting with its crate.
    pub type_path: String,
    /// Numeric user that the image runs as.
    pub user: String,
    /// The module of the version.
    pub version: String,
}

/// The variables of the templates of `api/` for controllers.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ControllerContext {
    #[serde(flatten)]
    pub resource: ResourceContext,
    /// Type of the condition that it writes.
    pub condition: String,
    /// The module of the controller.
    pub module: String,
    /// Name of the controller.
    pub name: String,
}

/// The variables of the templates of `api/` for controllers of a project in Go.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ImportedContext {
    #[serde(flatten)]
    pub controller: ControllerContext,
    /// The calls by which the reconciler in Go hears of other objects.
    pub calls: Vec<String>,
    /// The comment of the function in Go, by lines, each with a space before it unless it is empty.
    pub doc: Vec<String>,
    /// The function in Go.
    pub function: String,
    /// Whether `markers` has any.
    /// The markers of the function in Go, without slashes.
    pub markers: Vec<String>,
    /// The file of the function in Go.
    pub path: String,
}

/// The variables of `api/group.rs`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GroupContext {
    pub group: String,
    /// What the module contains.
    pub what: String,
}

/// The variables of the templates of `scope/`: what is different in a project that watches the whole cluster.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ScopeContext {
    pub project: String,
}

/// The variables of the templates of `webhook/` for defaulters and validators.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AdmissionContext {
    #[serde(flatten)]
    pub resource: ResourceContext,
    /// Whether the webhook is not called in the operator's own namespace, which may need such objects first.
    pub bounds_namespaces: bool,
    /// Whether the webhook is not called for what the cluster needs to start: for pods with a priority class of the system.
    pub spares_system: bool,
    /// Unique in the webhook configuration of the cluster that it becomes part of.
    pub name: String,
    pub path: String,
}

/// The variables of the templates of `policy/`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyContext {
    #[serde(flatten)]
    pub resource: ResourceContext,
    /// As in a manifest: empty for the nameless group.
    pub api_group: String,
    /// The prefix of the annotations of the examples.
    pub domain: String,
    /// Name of the policy and of its binding.
    pub name: String,
    /// Path of the policy.
    pub path: String,
}

/// The variables of the templates of `webhook/` for converters; the resource is the hub.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConverterContext {
    #[serde(flatten)]
    pub resource: ResourceContext,
    /// The same as `versions`, with rustfmt's line breaks.
    pub broken_versions: String,
    pub hub: String,
    /// The fields of the hub's spec, as kbr has scaffolded them.
    pub hub_fields: String,
    /// File name of the hub's sample.
    pub hub_sample: String,
    /// The module of the converter, in the spoke's module.
    pub module: String,
    pub spoke: String,
    /// The fields of the spoke's spec, as kbr has scaffolded them.
    pub spoke_fields: String,
    /// File name of the spoke's sample.
    pub spoke_sample: String,
    /// Hub and spoke in rustfmt's order, in braces.
    pub versions: String,
}

/// The variables of the converter of imported types.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ImportedConverterContext {
    #[serde(flatten)]
    pub converter: ConverterContext,
    /// What the schema of the hub requires, as JSON in a literal of Rust.
    pub hub_base: String,
    /// The same of the spoke.
    pub spoke_base: String,
}

/// The variables of `api/crdgen.rs`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CrdgenContext {
    /// The library crate of the API types.
    pub crate_name: String,
    /// Whether `kubernetes` has any.
    pub has_kubernetes: bool,
    pub has_types: bool,
    /// Kubernetes' own types that have policies.
    pub kubernetes: Vec<CrdgenType>,
    pub types: Vec<CrdgenType>,
}

/// One API type that crdgen prints.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CrdgenType {
    pub kind: String,
    /// The path of its Rust module, for a type of the project without the name of the crate.
    pub module: String,
}
