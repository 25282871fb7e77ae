//! Kubernetes' own cluster-scoped resources, which no Role can grant.
//!
//! The scope comes from the types themselves: a namespaced type does not compile here.

use k8s_openapi::{ClusterResourceScope, Resource};

use super::WordSet;

const fn of<K: Resource<Scope = ClusterResourceScope>>() -> (&'static str, &'static str) {
    (K::GROUP, K::URL_PATH_SEGMENT)
}

macro_rules! resources {
    ($($group:ident { $($kind:ident,)+ })+) => {
        &[$($(of::<k8s_openapi::api::$group::v1::$kind>()),+),+]
    };
}

/// Group and plural of each.
static RESOURCES: &[(&str, &str)] = resources! {
    admissionregistration {
        MutatingAdmissionPolicy,
        MutatingAdmissionPolicyBinding,
        MutatingWebhookConfiguration,
        ValidatingAdmissionPolicy,
        ValidatingAdmissionPolicyBinding,
        ValidatingWebhookConfiguration,
    }
    authentication { SelfSubjectReview, TokenReview, }
    authorization { SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview, }
    certificates { CertificateSigningRequest, }
    core { Namespace, Node, PersistentVolume, }
    flowcontrol { FlowSchema, PriorityLevelConfiguration, }
    networking { IPAddress, IngressClass, ServiceCIDR, }
    node { RuntimeClass, }
    rbac { ClusterRole, ClusterRoleBinding, }
    resource { DeviceClass, ResourceSlice, }
    scheduling { PriorityClass, }
    storage { CSIDriver, CSINode, StorageClass, VolumeAttachment, VolumeAttributesClass, }
};

/// Whether a Role cannot grant these verbs on that resource.
pub(super) fn is_out_of_reach(group: &str, resource: &str, verbs: &WordSet) -> bool {
    let (plural, _) = resource.split_once('/').unwrap_or((resource, ""));
    // A request for one namespace by its name is authorized in that namespace.
    let by_name = ["delete", "get", "patch", "update"];
    let is_itself = (group, plural) == ("", "namespaces");
    let is_allowed = is_itself && verbs.iter().all(|verb| by_name.contains(&verb.as_str()));
    RESOURCES.contains(&(group, plural)) && !is_allowed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(group: &str, resource: &str, verbs: &[&str]) -> bool {
        is_out_of_reach(
            group,
            resource,
            &verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        )
    }

    #[test]
    fn cluster_scoped_resources_are_out_of_reach() {
        assert!(is_refused("", "nodes", &["get"]));
        assert!(is_refused("", "nodes/status", &["get"]));
        assert!(is_refused("storage.k8s.io", "storageclasses", &["list"]));
        assert!(!is_refused("", "pods", &["list"]));
        assert!(!is_refused("example.com", "nodes", &["list"]));
    }

    #[test]
    fn a_single_namespace_is_in_reach_and_the_list_is_not() {
        assert!(!is_refused("", "namespaces", &["get", "patch"]));
        assert!(is_refused("", "namespaces", &["get", "list"]));
        assert!(is_refused("", "namespaces", &["*"]));
    }
}
