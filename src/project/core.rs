//! Kubernetes' own types that can have a controller or a webhook.
//!
//! Names come from the types themselves. Some types can only have controllers: a webhook can exclude the
//! operator's namespace, but not the node that the operator runs on, nor the roles and endpoints that
//! the API server itself writes.

use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope, Resource, ResourceScope};

use crate::names::{Group, Kind, Version};

/// One type, with what the emitted code needs to know about it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CoreType {
    /// Empty for the nameless group.
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    /// Path of the Rust module that the type is in.
    pub(crate) module: &'static str,
    /// What a valid object needs apart from its metadata: a member of a JSON object.
    pub(crate) example: &'static str,
    /// Whether its objects are cluster-scoped.
    pub(crate) is_cluster_scoped: bool,
    /// Whether it can have a webhook, and not only controllers.
    pub(crate) has_webhooks: bool,
}

impl CoreType {
    /// The type `K`, whose scope is `S`.
    const fn of<K: Resource<Scope = S>, S: ResourceScope>(
        module: &'static str,
        example: &'static str,
        is_cluster_scoped: bool,
        has_webhooks: bool,
    ) -> Self {
        Self {
            group: K::GROUP,
            version: K::VERSION,
            kind: K::KIND,
            plural: K::URL_PATH_SEGMENT,
            module,
            example,
            is_cluster_scoped,
            has_webhooks,
        }
    }

    pub(crate) fn find(group: &Group, version: &Version, kind: &Kind) -> Option<&'static Self> {
        let mut types = Self::all_of_kind(kind);
        types.find(|t| t.group_name() == group.as_str() && t.version == version.as_str())
    }

    /// All types of the typed group in that version.
    pub(crate) fn of_version(
        typed: &Group,
        version: &Version,
    ) -> impl Iterator<Item = &'static Self> {
        ALL.iter()
            .filter(|t| t.is_meant_by(typed.as_str()) && t.version == version.as_str())
    }

    /// The type of that kind in the typed group.
    pub(crate) fn of_kind(typed: &Group, kind: &Kind) -> Option<&'static Self> {
        Self::all_of_kind(kind).find(|t| t.is_meant_by(typed.as_str()))
    }

    /// Whether the typed group means this one: kubebuilder's users type `networking` for
    /// `networking.k8s.io`.
    pub(crate) fn is_meant_by(&self, typed: &str) -> bool {
        let name = self.group_name();
        name == typed || name.strip_suffix(".k8s.io") == Some(typed)
    }

    /// The types of that kind in any group.
    pub(crate) fn all_of_kind(kind: &Kind) -> impl Iterator<Item = &'static Self> {
        ALL.iter().filter(|t| t.kind == kind.as_str())
    }

    /// The options for its group and version.
    pub(crate) fn options(&self) -> String {
        format!("--group {} --version {}", self.group_name(), self.version)
    }

    /// The group on the command line, in PROJECT and in names.
    pub(crate) fn group_name(&self) -> &'static str {
        match self.group {
            "" => "core",
            group => group,
        }
    }
}

macro_rules! core_types {
    ($([$scope:ident, is_cluster_scoped: $is_cluster_scoped:literal, has_webhooks: $has_webhooks:literal]
     $($group:ident::$version:ident { $($kind:ident: $example:expr,)+ })+)+) => {
        &[$($($(CoreType::of::<k8s_openapi::api::$group::$version::$kind, $scope>(
            concat!("k8s_openapi::api::", stringify!($group), "::", stringify!($version)),
            $example,
            $is_cluster_scoped,
            $has_webhooks,
        )),+),+),+]
    };
}

/// Each part is sorted by group, version and kind.
static ALL: &[CoreType] = core_types! {
    [NamespaceResourceScope, is_cluster_scoped: false, has_webhooks: true]
    apps::v1 {
        DaemonSet: PODS_OF_A_SELECTOR,
        Deployment: PODS_OF_A_SELECTOR,
        ReplicaSet: PODS_OF_A_SELECTOR,
        StatefulSet: PODS_OF_A_SELECTOR,
    }
    autoscaling::v2 {
        HorizontalPodAutoscaler: r#""spec": {
            "maxReplicas": 1,
            "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "main" },
        }"#,
    }
    batch::v1 {
        CronJob: r#""spec": {
            "schedule": "0 0 * * *",
            "jobTemplate": {
                "spec": {
                    "template": {
                        "spec": {
                            "containers": [{ "name": "main", "image": "main" }],
                            "restartPolicy": "Never",
                        },
                    },
                },
            },
        }"#,
        Job: r#""spec": {
            "template": {
                "spec": {
                    "containers": [{ "name": "main", "image": "main" }],
                    "restartPolicy": "Never",
                },
            },
        }"#,
    }
    core::v1 {
        ConfigMap: r#""data": { "key": "value" }"#,
        PersistentVolumeClaim: r#""spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": { "requests": { "storage": "1Gi" } },
        }"#,
        Pod: r#""spec": { "containers": [{ "name": "main", "image": "main" }] }"#,
        Secret: r#""stringData": { "key": "value" }"#,
        Service: r#""spec": { "ports": [{ "port": 80 }] }"#,
        ServiceAccount: r#""automountServiceAccountToken": false"#,
    }
    networking::v1 {
        Ingress: r#""spec": {
            "defaultBackend": { "service": { "name": "main", "port": { "number": 80 } } },
        }"#,
        NetworkPolicy: r#""spec": { "podSelector": {} }"#,
    }
    policy::v1 {
        PodDisruptionBudget: r#""spec": { "maxUnavailable": 1 }"#,
    }

    [NamespaceResourceScope, is_cluster_scoped: false, has_webhooks: false]
    core::v1 {
        LimitRange: r#""spec": { "limits": [] }"#,
        ReplicationController: r#""spec": {
            "selector": { "app": "main" },
            "template": {
                "metadata": { "labels": { "app": "main" } },
                "spec": { "containers": [{ "name": "main", "image": "main" }] },
            },
        }"#,
        ResourceQuota: r#""spec": { "hard": { "pods": "1" } }"#,
    }
    discovery::v1 {
        EndpointSlice: r#""addressType": "IPv4", "endpoints": []"#,
    }
    rbac::v1 {
        Role: r#""rules": []"#,
        RoleBinding: r#""roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "Role",
            "name": "main",
        }"#,
    }

    [ClusterResourceScope, is_cluster_scoped: true, has_webhooks: false]
    admissionregistration::v1 {
        MutatingWebhookConfiguration: r#""webhooks": []"#,
        ValidatingWebhookConfiguration: r#""webhooks": []"#,
    }
    core::v1 {
        Namespace: r#""spec": {}"#,
        Node: r#""spec": { "unschedulable": true }"#,
        PersistentVolume: r#""spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": { "storage": "1Gi" },
            "hostPath": { "path": "/tmp" },
        }"#,
    }
    networking::v1 {
        IngressClass: r#""spec": { "controller": "example.com/main" }"#,
    }
    node::v1 {
        RuntimeClass: r#""handler": "main""#,
    }
    rbac::v1 {
        ClusterRole: r#""rules": []"#,
        ClusterRoleBinding: r#""roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "main",
        }"#,
    }
    scheduling::v1 {
        PriorityClass: r#""value": 1"#,
    }
    storage::v1 {
        StorageClass: r#""provisioner": "example.com/main""#,
    }
};

const PODS_OF_A_SELECTOR: &str = r#""spec": {
            "selector": { "matchLabels": { "app": "main" } },
            "template": {
                "metadata": { "labels": { "app": "main" } },
                "spec": { "containers": [{ "name": "main", "image": "main" }] },
            },
        }"#;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_type_can_be_typed_and_no_two_share_files() {
        for (at, core_type) in ALL.iter().enumerate() {
            let group = core_type.group_name().parse().expect("a group");
            let version = core_type.version.parse().expect("a version");
            let kind = core_type.kind.parse().expect("a kind");
            assert_eq!(CoreType::find(&group, &version, &kind), Some(core_type));
            let shares = |t: &CoreType| (t.version, t.kind) == (core_type.version, core_type.kind);
            assert!(!ALL.iter().take(at).any(shares), "{core_type:?}");
        }
    }

    #[test]
    fn the_guide_lists_every_type() {
        let mut rows = BTreeMap::<_, [Vec<&str>; 2]>::new();
        for core in ALL.iter() {
            let row = rows.entry((core.group_name(), core.version)).or_default();
            row[usize::from(!core.has_webhooks)].push(core.kind);
        }
        let chapter = include_str!("../guide/external-types.md");
        for ((group, version), kinds) in rows {
            let [both, alone] = kinds.map(|mut kinds| {
                kinds.sort_unstable();
                kinds.join(", ")
            });
            let row = format!("| `{group}/{version}` | {both} | {alone} |").replace("  ", " ");
            assert!(chapter.contains(&row), "no {row}");
        }
    }

    #[test]
    fn names_are_kubernetes_own() {
        let (group, version) = (
            "core".parse().expect("a group"),
            "v1".parse().expect("a version"),
        );
        let pod = CoreType::find(&group, &version, &"Pod".parse().expect("a kind"));
        let pod = pod.expect("a Pod");
        assert_eq!((pod.group, pod.plural), ("", "pods"));
        assert_eq!(pod.module, "k8s_openapi::api::core::v1");
    }
}
