//! The templates of `api/`, `policy/`, `scope/` and `webhook/`, each with the type of its context.
//!
//! A template that does not exist does not compile. Tests compare every file with this list, and the
//! variables and conditions in it with the fields of its context.

use super::Template;
use super::contexts::{
    AdmissionContext, ControllerContext, ConverterContext, CrdgenContext, GroupContext,
    ImportedContext, ImportedConverterContext, PolicyContext, ResourceContext, ScopeContext,
};

/// Declares a constant for each template: its context, its name, its path below `templates/`.
macro_rules! templates {
    ($($context:ident { $($name:ident = $path:literal;)* })*) => {
        $($(
            pub(crate) const $name: Template<$context> = Template::new(
                $path,
                include_str!(concat!("../../templates/", $path, ".hbs")),
            );
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
        EXTERNAL_TYPES = "api/external.rs";
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
    ScopeContext {
        NAMESPACE_REPLACEMENTS = "scope/namespace_replacements.yaml";
        ROLE_BINDING = "scope/role_binding.yaml";
    }
    ImportedContext {
        IMPORTED_CONTROLLER = "api/imported_controller.rs";
    }
    AdmissionContext {
        DEFAULTER = "webhook/defaulter.rs";
        DEFAULTER_TEST = "webhook/defaulter_test.rs";
        VALIDATOR = "webhook/validator.rs";
        VALIDATOR_TEST = "webhook/validator_test.rs";
    }
    PolicyContext {
        MUTATING_POLICY = "policy/mutating.yaml";
        MUTATING_POLICY_TEST = "policy/mutating_test.rs";
        POLICY_KUSTOMIZATION = "policy/kustomization.yaml";
        POLICY_NAMES = "policy/name_references.yaml";
        VALIDATING_POLICY = "policy/validating.yaml";
        VALIDATING_POLICY_TEST = "policy/validating_test.rs";
    }
    ConverterContext {
        CONVERTER = "webhook/converter.rs";
        CONVERTER_TEST = "webhook/converter_test.rs";
    }
    ImportedConverterContext {
        IMPORTED_CONVERTER = "webhook/imported_converter.rs";
    }
}
