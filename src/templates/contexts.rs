//! The variables of each template.

use serde::Serialize;

/// The variables of the templates of `init/`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct InitContext {
    pub(crate) domain: String,
    /// The domain in a regular expression.
    pub(crate) domain_pattern: String,
    /// Whether the project is under the Apache License.
    pub(crate) license: bool,
    pub(crate) project: String,
    pub(crate) crate_name: String,
    /// Cargo's `repository`, if there is one.
    pub(crate) has_repo: bool,
    /// The minor version of Kubernetes that the project is compiled and tested against.
    pub(crate) kubernetes: String,
    /// Name of the Lease for the leader election of the managers, in manifests.
    pub(crate) lease: String,
    /// Whether the operator watches namespaces, and not the whole cluster.
    pub(crate) namespaced: bool,
    /// Whether the Lease is called like the Deployment.
    pub(crate) own_lease: bool,
    pub(crate) repo: String,
    /// Whether the manager makes the certificates of the webhooks itself.
    pub(crate) self_managed: bool,
}

/// The variables of the templates of `api/` and `webhook/`, about a resource and its project.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ResourceContext {
    /// The kind in the API, which may be no name of a type.
    pub(crate) api_kind: String,
    /// The version in the API, which may be no name of a module.
    pub(crate) api_version: String,
    /// Whether objects are cluster-scoped.
    pub(crate) cluster: bool,
    /// The words of the command in the image that objects run, as Rust literals, one on each line.
    pub(crate) command: String,
    /// Whether the type is Kubernetes' own.
    pub(crate) core: bool,
    /// The library crate of the operator.
    pub(crate) crate_name: String,
    /// What a valid object of a core type has apart from its metadata.
    pub(crate) example: String,
    /// Whether another operator defines the type.
    pub(crate) external: bool,
    /// As written in a marker: qualified with the domain, or two quotes for the nameless group.
    pub(crate) group: String,
    /// Module of the group followed by `::`, in a project with several groups.
    pub(crate) group_module: String,
    pub(crate) has_command: bool,
    /// Whether the kind in the API is no name of a type.
    pub(crate) has_root: bool,
    pub(crate) has_port: bool,
    pub(crate) has_user: bool,
    /// The image that objects run, if the type was created for one.
    pub(crate) image: String,
    /// The name of its type.
    pub(crate) kind: String,
    pub(crate) kind_lower: String,
    /// Whether the operator watches namespaces, and not the whole cluster.
    pub(crate) namespaced: bool,
    /// Whether the project defines the type.
    pub(crate) own: bool,
    pub(crate) plural: String,
    /// Port on which the image serves.
    pub(crate) port: String,
    pub(crate) project: String,
    /// The beginning of the names of the roles for users of the API.
    pub(crate) role: String,
    /// Whether the manager makes the certificates of the webhooks itself.
    pub(crate) self_managed: bool,
    /// Path of the sample of a type that is not Kubernetes' own.
    pub(crate) sample: String,
    /// Name of the object in the sample.
    pub(crate) sample_name: String,
    /// The path of a type that the project does not define, starting with its crate.
    pub(crate) type_path: String,
    /// Numeric user that the image runs as.
    pub(crate) user: String,
    /// The module of the version.
    pub(crate) version: String,
}

/// The variables of the templates of `api/` for controllers.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ControllerContext {
    #[serde(flatten)]
    pub(crate) resource: ResourceContext,
    /// Type of the condition that it writes.
    pub(crate) condition: String,
    /// The module of the controller.
    pub(crate) module: String,
    /// Name of the controller.
    pub(crate) name: String,
}

/// The variables of the templates of `api/` for controllers of a project in Go.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ImportedContext {
    #[serde(flatten)]
    pub(crate) controller: ControllerContext,
    /// The calls by which the reconciler in Go hears of other objects.
    pub(crate) calls: Vec<String>,
    /// The comment of the function in Go, by lines, each with a space before it unless it is empty.
    pub(crate) doc: Vec<String>,
    /// The function in Go.
    pub(crate) function: String,
    /// Whether `markers` has any.
    /// The markers of the function in Go, without slashes.
    pub(crate) markers: Vec<String>,
    /// The file of the function in Go.
    pub(crate) path: String,
}

/// The variables of `api/group.rs`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GroupContext {
    pub(crate) group: String,
    /// What the module contains.
    pub(crate) what: String,
}

/// The variables of the templates of `scope/`: what is different in a project that watches the whole cluster.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ScopeContext {
    pub(crate) project: String,
}

/// The variables of the templates of `webhook/` for defaulters and validators.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AdmissionContext {
    #[serde(flatten)]
    pub(crate) resource: ResourceContext,
    /// Whether the webhook is not called in the operator's own namespace, which may need such objects first.
    pub(crate) bounds_namespaces: bool,
    /// Whether the webhook is not called for what the cluster needs to start: for pods with a priority class of the system.
    pub(crate) spares_system: bool,
    /// Unique in the webhook configuration of the cluster that it becomes part of.
    pub(crate) name: String,
    pub(crate) path: String,
}

/// The variables of the templates of `policy/`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PolicyContext {
    #[serde(flatten)]
    pub(crate) resource: ResourceContext,
    /// As in a manifest: empty for the nameless group.
    pub(crate) api_group: String,
    /// The prefix of the annotations of the examples.
    pub(crate) domain: String,
    /// Name of the policy and of its binding.
    pub(crate) name: String,
    /// Path of the policy.
    pub(crate) path: String,
}

/// The variables of the templates of `webhook/` for converters; the resource is the hub.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ConverterContext {
    #[serde(flatten)]
    pub(crate) resource: ResourceContext,
    /// The same as `versions`, with rustfmt's line breaks.
    pub(crate) broken_versions: String,
    pub(crate) hub: String,
    /// The fields of the hub's spec, as kbr has scaffolded them.
    pub(crate) hub_fields: String,
    /// File name of the hub's sample.
    pub(crate) hub_sample: String,
    /// The module of the converter, in the spoke's module.
    pub(crate) module: String,
    pub(crate) spoke: String,
    /// The fields of the spoke's spec, as kbr has scaffolded them.
    pub(crate) spoke_fields: String,
    /// File name of the spoke's sample.
    pub(crate) spoke_sample: String,
    /// Hub and spoke in rustfmt's order, in braces.
    pub(crate) versions: String,
}

/// The variables of the converter of imported types.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ImportedConverterContext {
    #[serde(flatten)]
    pub(crate) converter: ConverterContext,
    /// What the schema of the hub requires, as JSON in a literal of Rust.
    pub(crate) hub_base: String,
    /// The same of the spoke.
    pub(crate) spoke_base: String,
}

/// The variables of `api/crdgen.rs`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CrdgenContext {
    /// The library crate of the API types.
    pub(crate) crate_name: String,
    /// Whether `kubernetes` has any.
    pub(crate) has_kubernetes: bool,
    pub(crate) has_types: bool,
    /// Kubernetes' own types that have policies.
    pub(crate) kubernetes: Vec<CrdgenType>,
    pub(crate) types: Vec<CrdgenType>,
}

/// One API type that crdgen prints.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CrdgenType {
    pub(crate) kind: String,
    /// The path of its Rust module, for a type of the project without the name of the crate.
    pub(crate) module: String,
}
