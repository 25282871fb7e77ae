// Copyright The memcached authors
// SPDX-License-Identifier: Apache-2.0

//! The Deployment and the Service of a Memcached.
//!
//! Only the fields that the operator sets are here. All others are left to Kubernetes and to other
//! clients.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{
    Capabilities, Container, ContainerPort, PodSecurityContext, PodSpec, PodTemplateSpec, Probe,
    SeccompProfile, SecurityContext, Service, ServicePort, ServiceSpec, TCPSocketAction,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::ResourceExt;
use kube::api::ObjectMeta;

use super::{NAME, Object};

/// Name of the container.
const CONTAINER: &str = "memcached";

/// The label with the name of the Memcached that an object belongs to.
pub const INSTANCE: &str = "app.kubernetes.io/instance";

/// Selects the pods of all Memcached objects.
pub const PODS: &str = "app.kubernetes.io/name=memcached,app.kubernetes.io/managed-by=memcached";

/// What the container runs instead of the image's entrypoint.
#[rustfmt::skip]
const COMMAND: &[&str] = &[
    "memcached",
    "--memory-limit=64",
    "-o",
    "modern",
    "-v",
];

/// The TCP port on which the container serves.
const PORT: i32 = 11211;

/// The user that the container runs as, whatever the image specifies.
const USER: i64 = 1001;

/// The Deployment that runs the image.
pub fn deployment(object: &Object) -> Deployment {
    Deployment {
        metadata: metadata(object),
        spec: DeploymentSpec {
            replicas: Some(object.spec.size),
            selector: LabelSelector {
                match_labels: Some(selector(object)),
                ..LabelSelector::default()
            },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels(object)),
                    ..ObjectMeta::default()
                }),
                spec: Some(PodSpec {
                    containers: vec![container(object)],
                    security_context: Some(pod_security()),
                    ..PodSpec::default()
                }),
            },
            ..DeploymentSpec::default()
        },
        status: None,
    }
}

/// The Service that clients connect to.
pub fn service(object: &Object) -> Service {
    let port = ServicePort {
        port: PORT,
        // The default of the API server, which merges ports by this field.
        protocol: Some("TCP".to_owned()),
        ..ServicePort::default()
    };
    Service {
        metadata: metadata(object),
        spec: Some(ServiceSpec {
            ports: Some(vec![port]),
            selector: Some(selector(object)),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}

fn metadata(object: &Object) -> ObjectMeta {
    ObjectMeta {
        name: Some(object.name_any()),
        namespace: object.namespace(),
        labels: Some(labels(object)),
        ..ObjectMeta::default()
    }
}

/// The labels that select the pods of `object`. The selector of a Deployment is immutable.
fn selector(object: &Object) -> BTreeMap<String, String> {
    let labels = [
        ("app.kubernetes.io/name", CONTAINER.to_owned()),
        (INSTANCE, object.name_any()),
    ];
    labels.map(|(key, value)| (key.to_owned(), value)).into()
}

fn labels(object: &Object) -> BTreeMap<String, String> {
    let mut labels = selector(object);
    let manager = "app.kubernetes.io/managed-by".to_owned();
    labels.insert(manager, NAME.to_owned());
    labels
}

fn container(object: &Object) -> Container {
    Container {
        name: CONTAINER.to_owned(),
        image: Some(object.spec.image.clone()),
        command: Some(COMMAND.iter().map(|&word| word.to_owned()).collect()),
        ports: Some(vec![ContainerPort {
            container_port: PORT,
            protocol: Some("TCP".to_owned()),
            ..ContainerPort::default()
        }]),
        readiness_probe: Some(Probe {
            tcp_socket: Some(TCPSocketAction {
                port: IntOrString::Int(PORT),
                ..TCPSocketAction::default()
            }),
            ..Probe::default()
        }),
        security_context: Some(container_security()),
        ..Container::default()
    }
}

/// With [`container_security`], what the Pod Security Standard "restricted" requires:
/// <https://kubernetes.io/docs/concepts/security/pod-security-standards/>.
fn pod_security() -> PodSecurityContext {
    PodSecurityContext {
        run_as_non_root: Some(true),
        run_as_user: Some(USER),
        seccomp_profile: Some(SeccompProfile {
            type_: "RuntimeDefault".to_owned(),
            ..SeccompProfile::default()
        }),
        ..PodSecurityContext::default()
    }
}

fn container_security() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(Capabilities {
            drop: Some(vec!["ALL".to_owned()]),
            ..Capabilities::default()
        }),
        ..SecurityContext::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object() -> Object {
        let mut object = super::super::tests::object(1);
        object.spec.size = 0;
        object.spec.image = "example.com/image:2".to_owned();
        object
    }

    #[test]
    fn the_deployment_has_size_and_image() {
        let deployment = json!(deployment(&object()));

        let spec = &deployment["spec"];
        assert_eq!(spec["replicas"], 0);
        let containers = spec["template"]["spec"]["containers"].as_array().unwrap();
        assert_eq!(containers.len(), 1);
        assert_eq!(containers[0]["image"], "example.com/image:2");
    }

    #[test]
    fn the_selectors_match_the_labels_of_the_pods() {
        let deployment = json!(deployment(&object()));
        let labels = &deployment["spec"]["template"]["metadata"]["labels"];
        let selected = &deployment["spec"]["selector"]["matchLabels"];

        let selected = selected.as_object().unwrap();
        assert_eq!(selected[INSTANCE], "sample");
        assert!(selected.iter().all(|(key, value)| labels[key] == *value));
        for label in PODS.split(',') {
            let (key, value) = label.split_once('=').unwrap();
            assert_eq!(labels[key], value);
        }
        let service = json!(service(&object()));
        assert_eq!(service["spec"]["selector"], json!(selected));
    }
}
