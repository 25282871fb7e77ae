//! The fields that Kubernetes has added to its types. Pure.
//!
//! Source: the release notes, `CHANGELOG/CHANGELOG-1.NN.md` in kubernetes/kubernetes; since 1.33 also the differences
//! between the versions of k8s-openapi.

/// The fields of each type that Kubernetes 1.16 did not have, the first with v1 of CRDs; or 1.19, for what is newer.
///
/// A field that a CRD lacks and that is not listed was left out on purpose: its operator does not support it. Before 1.26, the
/// data source of a claim was a local reference.
pub(crate) fn later() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    LATER.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?, words.collect()))
    })
}

/// In each line: the versions that added the fields, the type, and the fields.
const LATER: &str = "\
    1.22,1.23,1.26 appsv1::StatefulSetSpec minReadySeconds ordinals persistentVolumeClaimRetentionPolicy\n\
    1.24 appsv1::RollingUpdateStatefulSetStrategy maxUnavailable\n\
    1.18 autoscalingv2::HorizontalPodAutoscalerSpec behavior\n\
    1.33 autoscalingv2::HPAScalingRules tolerance\n\
    1.20 autoscalingv2::MetricSpec containerResource\n\
    1.24 batchv1::CronJobSpec timeZone\n\
    1.21,1.25,1.28,1.30,1.37 batchv1::JobSpec backoffLimitPerIndex completionMode managedBy maxFailedIndexes \
        podFailurePolicy podReplacementPolicy scheduling successPolicy suspend\n\
    1.37 corev1::ClusterTrustBundleProjection user\n\
    1.37 corev1::ConfigMapVolumeSource defaultUser\n\
    1.27,1.28,1.34 corev1::Container resizePolicy restartPolicy restartPolicyRules\n\
    1.37 corev1::DownwardAPIVolumeFile user\n\
    1.37 corev1::DownwardAPIVolumeSource defaultUser\n\
    1.37 corev1::EmptyDirVolumeSource mode\n\
    1.34 corev1::EnvVarSource fileKeyRef\n\
    1.27,1.28,1.34 corev1::EphemeralContainer resizePolicy restartPolicy restartPolicyRules\n\
    1.37 corev1::GRPCAction mode\n\
    1.37 corev1::HTTPGetAction protocol\n\
    1.37 corev1::KeyToPath user\n\
    1.33 corev1::Lifecycle stopSignal\n\
    1.29 corev1::LifecycleHandler sleep\n\
    1.20,1.29 corev1::LoadBalancerIngress ipMode ports\n\
    1.22,1.29 corev1::PersistentVolumeClaimSpec dataSourceRef volumeAttributesClassName\n\
    1.23,1.28,1.29,1.37 corev1::PersistentVolumeClaimStatus allocatedResourceStatuses allocatedResources \
        currentVolumeAttributesClassName healthStatus modifyVolumeStatus\n\
    1.21,1.29 corev1::PodAffinityTerm matchLabelKeys mismatchLabelKeys namespaceSelector\n\
    1.37 corev1::PodCertificateProjection user userAnnotations\n\
    1.18,1.19,1.30,1.31,1.32 corev1::PodSecurityContext appArmorProfile fsGroupChangePolicy seLinuxChangePolicy \
        seccompProfile supplementalGroupsPolicy\n\
    1.16,1.19,1.23,1.25,1.26,1.32,1.34,1.36,1.37 corev1::PodSpec ephemeralContainers evictionResponders \
        hostUsers hostnameOverride os overhead resourceClaims resources schedulingGates schedulingGroup \
        setHostnameAsFQDN topologySpreadConstraints\n\
    1.21,1.23 corev1::Probe grpc terminationGracePeriodSeconds\n\
    1.37 corev1::ProjectedVolumeSource defaultUser\n\
    1.31 corev1::ResourceClaim request\n\
    1.26 corev1::ResourceRequirements claims\n\
    1.37 corev1::SecretVolumeSource defaultUser\n\
    1.19,1.30 corev1::SecurityContext appArmorProfile seccompProfile\n\
    1.37 corev1::ServiceAccountTokenProjection user\n\
    1.18 corev1::ServicePort appProtocol\n\
    1.20,1.21,1.30 corev1::ServiceSpec allocateLoadBalancerNodePorts clusterIPs internalTrafficPolicy ipFamilies \
        ipFamilyPolicy loadBalancerClass trafficDistribution\n\
    1.24,1.25 corev1::TopologySpreadConstraint matchLabelKeys minDomains nodeAffinityPolicy nodeTaintsPolicy\n\
    1.26 corev1::TypedObjectReference namespace\n\
    1.19,1.31 corev1::Volume ephemeral image\n\
    1.30,1.37 corev1::VolumeMount bindMountOptions recursiveReadOnly\n\
    1.29,1.34 corev1::VolumeProjection clusterTrustBundle podCertificate\n\
    1.22 corev1::WindowsSecurityContextOptions hostProcess\n\
    1.21 networkingv1::NetworkPolicyPort endPort\n\
";
