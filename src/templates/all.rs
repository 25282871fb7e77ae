//! The templates of `api/` and `webhook/`, each with the type of its context, and the variables in each context.
//!
//! A template that does not exist does not compile. Tests compare every file with this list, and the
//! variables and conditions in it with the fields of its context.

use std::marker::PhantomData;

use serde::Serialize;

use super::Template;

/// Declares a constant for each template: its context, its name, its path below `templates/`.
macro_rules! templates {
    ($($context:ident { $($name:ident = $path:literal;)* })*) => {
        $($(
            pub const $name: Template<$context> = Template {
                path: $path,
                source: include_str!(concat!("../../templates/", $path, ".hbs")),
                context: PhantomData,
            };
        )*)*

        /// The path and the schema of the context of each template.
        #[cfg(test)]
        pub(super) fn all() -> Vec<(&'static str, schemars::Schema)> {
            vec![$($(($path, schemars::schema_for!($context)),)*)*]
        }
    };
}

templates! {
    ResourceContext {
        ADMIN_ROLE = "api/admin_role.yaml";
        CRD_KUSTOMIZATION = "api/crd_kustomization.yaml";
        EDITOR_ROLE = "api/editor_role.yaml";
        IMAGE_SAMPLE = "api/image_sample.yaml";
        IMAGE_TYPES = "api/image_types.rs";
        SAMPLE = "api/sample.yaml";
        SAMPLES_KUSTOMIZATION = "api/samples_kustomization.yaml";
        SAMPLES_TEST = "api/samples_test.rs";
        TYPES = "api/types.rs";
        VERSION = "api/version.rs";
        VIEWER_ROLE = "api/viewer_role.yaml";
        CERTIFICATE = "webhook/config/certmanager/certificate-webhook.yaml";
        CERTMANAGER_KUSTOMIZATION = "webhook/config/certmanager/kustomization.yaml";
        ISSUER = "webhook/config/certmanager/issuer.yaml";
        MANAGER_WEBHOOK_PATCH = "webhook/config/default/manager_webhook_patch.yaml";
        WEBHOOK_KUSTOMIZATION = "webhook/config/webhook/kustomization.yaml";
        WEBHOOK_NETWORK_POLICY = "webhook/config/network-policy/allow-webhook-traffic.yaml";
        WEBHOOK_REPLACEMENTS = "webhook/config/default/webhook_replacements.yaml";
        WEBHOOK_SERVICE = "webhook/config/webhook/service.yaml";
        WEBHOOK_VERSION = "webhook/version.rs";
    }
    ControllerContext {
        CONTROLLER = "api/controller.rs";
        CONTROLLER_TEST = "api/controller_test.rs";
        FOREIGN_CONTROLLER = "api/foreign_controller.rs";
        FOREIGN_CONTROLLER_TEST = "api/foreign_controller_test.rs";
        IMAGE_CHILDREN = "api/image_children.rs";
        IMAGE_CONTROLLER = "api/image_controller.rs";
        IMAGE_CONTROLLER_TEST = "api/image_controller_test.rs";
        IMAGE_STATUS = "api/image_status.rs";
    }
    CrdgenContext {
        CRDGEN = "api/crdgen.rs";
    }
    GroupContext {
        GROUP = "api/group.rs";
    }
    AdmissionContext {
        DEFAULTER = "webhook/defaulter.rs";
        DEFAULTER_TEST = "webhook/defaulter_test.rs";
        VALIDATOR = "webhook/validator.rs";
        VALIDATOR_TEST = "webhook/validator_test.rs";
    }
    ConverterContext {
        CONVERTER = "webhook/converter.rs";
        CONVERTER_TEST = "webhook/converter_test.rs";
    }
}

/// The variables of the templates of `init/`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InitContext {
    pub domain: String,
    /// Whether the project is under the Apache License.
    pub license: bool,
    pub project: String,
    pub crate_name: String,
    /// Cargo's `repository`, if there is one.
    pub has_repo: bool,
    /// The minor version of Kubernetes that the project is compiled and tested against.
    pub kubernetes: String,
    /// Name of the Lease for the leader election of the managers.
    pub lease: String,
    /// Whether the operator watches namespaces, and not the whole cluster.
    pub namespaced: bool,
    pub repo: String,
}

/// The variables of the templates of `api/` and `webhook/`, about a resource and its project.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ResourceContext {
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
    pub has_port: bool,
    pub has_user: bool,
    /// The image that objects run, if the type was created for one.
    pub image: String,
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
    /// Path of the sample of a type that is not Kubernetes' own.
    pub sample: String,
    /// Name of the object in the sample.
    pub sample_name: String,
    /// The path of a type that the project does not define, starting with its crate.
    pub type_path: String,
    /// Numeric user that the image runs as.
    pub user: String,
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

/// The variables of `api/group.rs`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GroupContext {
    pub group: String,
    /// What the module contains.
    pub what: String,
}

/// The variables of the templates of `webhook/` for defaulters and validators.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AdmissionContext {
    #[serde(flatten)]
    pub resource: ResourceContext,
    /// Whether the webhook is not called in the operator's own namespace, which may need such objects first.
    pub bounds_namespaces: bool,
    /// Unique in the webhook configuration of the cluster that it becomes part of.
    pub name: String,
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

/// The variables of `api/crdgen.rs`.
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
    /// The path of its Rust module, without the name of the crate.
    pub module: String,
}
