//! The fields that Kubernetes has added to its types. Pure.
//!
//! Source: the release notes, `CHANGELOG/CHANGELOG-1.NN.md` in kubernetes/kubernetes; since 1.33 also the differences
//! between the versions of k8s-openapi.

/// The fields of each type that Kubernetes 1.16 did not have, the first with v1 of CRDs; or 1.19, for what is newer.
///
/// A field that a CRD lacks and that is not listed was left out on purpose: its operator does not support it.
pub const LATER: &[(&str, &[&str])] = &[
    // 1.22, 1.23, 1.26.
    (
        "appsv1::StatefulSetSpec",
        &[
            "minReadySeconds",
            "ordinals",
            "persistentVolumeClaimRetentionPolicy",
        ],
    ),
    // 1.24.
    (
        "appsv1::RollingUpdateStatefulSetStrategy",
        &["maxUnavailable"],
    ),
    // 1.18.
    ("autoscalingv2::HorizontalPodAutoscalerSpec", &["behavior"]),
    // 1.33.
    ("autoscalingv2::HPAScalingRules", &["tolerance"]),
    // 1.20.
    ("autoscalingv2::MetricSpec", &["containerResource"]),
    // 1.24.
    ("batchv1::CronJobSpec", &["timeZone"]),
    // 1.21, 1.25, 1.28, 1.30, 1.37.
    (
        "batchv1::JobSpec",
        &[
            "backoffLimitPerIndex",
            "completionMode",
            "managedBy",
            "maxFailedIndexes",
            "podFailurePolicy",
            "podReplacementPolicy",
            "scheduling",
            "successPolicy",
            "suspend",
        ],
    ),
    // 1.37.
    ("corev1::ClusterTrustBundleProjection", &["user"]),
    ("corev1::ConfigMapVolumeSource", &["defaultUser"]),
    // 1.27, 1.28, 1.34.
    (
        "corev1::Container",
        &["resizePolicy", "restartPolicy", "restartPolicyRules"],
    ),
    // 1.37.
    ("corev1::DownwardAPIVolumeFile", &["user"]),
    ("corev1::DownwardAPIVolumeSource", &["defaultUser"]),
    ("corev1::EmptyDirVolumeSource", &["mode"]),
    // 1.34.
    ("corev1::EnvVarSource", &["fileKeyRef"]),
    // 1.27, 1.28, 1.34.
    (
        "corev1::EphemeralContainer",
        &["resizePolicy", "restartPolicy", "restartPolicyRules"],
    ),
    // 1.37.
    ("corev1::GRPCAction", &["mode"]),
    ("corev1::HTTPGetAction", &["protocol"]),
    ("corev1::KeyToPath", &["user"]),
    // 1.33.
    ("corev1::Lifecycle", &["stopSignal"]),
    // 1.29.
    ("corev1::LifecycleHandler", &["sleep"]),
    // 1.20, 1.29.
    ("corev1::LoadBalancerIngress", &["ipMode", "ports"]),
    // 1.22, 1.29.
    (
        "corev1::PersistentVolumeClaimSpec",
        &["dataSourceRef", "volumeAttributesClassName"],
    ),
    // 1.23, 1.28, 1.29, 1.37.
    (
        "corev1::PersistentVolumeClaimStatus",
        &[
            "allocatedResourceStatuses",
            "allocatedResources",
            "currentVolumeAttributesClassName",
            "healthStatus",
            "modifyVolumeStatus",
        ],
    ),
    // 1.21, 1.29.
    (
        "corev1::PodAffinityTerm",
        &["matchLabelKeys", "mismatchLabelKeys", "namespaceSelector"],
    ),
    // 1.37.
    (
        "corev1::PodCertificateProjection",
        &["user", "userAnnotations"],
    ),
    // 1.18, 1.19, 1.30, 1.31, 1.32.
    (
        "corev1::PodSecurityContext",
        &[
            "appArmorProfile",
            "fsGroupChangePolicy",
            "seLinuxChangePolicy",
            "seccompProfile",
            "supplementalGroupsPolicy",
        ],
    ),
    // 1.16, 1.19, 1.23, 1.25, 1.26, 1.32, 1.34, 1.36, 1.37.
    (
        "corev1::PodSpec",
        &[
            "ephemeralContainers",
            "evictionResponders",
            "hostUsers",
            "hostnameOverride",
            "os",
            "overhead",
            "resourceClaims",
            "resources",
            "schedulingGates",
            "schedulingGroup",
            "setHostnameAsFQDN",
            "topologySpreadConstraints",
        ],
    ),
    // 1.21, 1.23.
    ("corev1::Probe", &["grpc", "terminationGracePeriodSeconds"]),
    // 1.37.
    ("corev1::ProjectedVolumeSource", &["defaultUser"]),
    // 1.31.
    ("corev1::ResourceClaim", &["request"]),
    // 1.26.
    ("corev1::ResourceRequirements", &["claims"]),
    // 1.37.
    ("corev1::SecretVolumeSource", &["defaultUser"]),
    // 1.19, 1.30.
    (
        "corev1::SecurityContext",
        &["appArmorProfile", "seccompProfile"],
    ),
    // 1.37.
    ("corev1::ServiceAccountTokenProjection", &["user"]),
    // 1.18.
    ("corev1::ServicePort", &["appProtocol"]),
    // 1.20, 1.21, 1.30.
    (
        "corev1::ServiceSpec",
        &[
            "allocateLoadBalancerNodePorts",
            "clusterIPs",
            "internalTrafficPolicy",
            "ipFamilies",
            "ipFamilyPolicy",
            "loadBalancerClass",
            "trafficDistribution",
        ],
    ),
    // 1.24, 1.25.
    (
        "corev1::TopologySpreadConstraint",
        &[
            "matchLabelKeys",
            "minDomains",
            "nodeAffinityPolicy",
            "nodeTaintsPolicy",
        ],
    ),
    // 1.26; before that, the data source of a claim was a local reference.
    ("corev1::TypedObjectReference", &["namespace"]),
    // 1.19, 1.31.
    ("corev1::Volume", &["ephemeral", "image"]),
    // 1.30, 1.37.
    (
        "corev1::VolumeMount",
        &["bindMountOptions", "recursiveReadOnly"],
    ),
    // 1.29, 1.34.
    (
        "corev1::VolumeProjection",
        &["clusterTrustBundle", "podCertificate"],
    ),
    // 1.22.
    ("corev1::WindowsSecurityContextOptions", &["hostProcess"]),
    // 1.21.
    ("networkingv1::NetworkPolicyPort", &["endPort"]),
];
