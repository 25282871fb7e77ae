// Copyright The foo authors
// SPDX-License-Identifier: Apache-2.0

//! The Deployment of a Foo.

use std::collections::BTreeMap;

use api::v1alpha1::Foo;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::ResourceExt;
use kube::api::ObjectMeta;

/// What runs in each pod.
const IMAGE: &str = "nginx:1.29";

/// The label of a pod with the name of its Foo.
pub const FOO: &str = "controller";

/// Selects the pods of all Foos.
pub const PODS: &str = "app=nginx,controller";

/// The desired Deployment of `foo`: only the fields that it manages. All others are left to Kubernetes,
/// and to whoever else writes them.
pub fn of(foo: &Foo) -> Deployment {
    let name = &foo.spec.deployment_name;
    let labels = [
        ("app".to_owned(), "nginx".to_owned()),
        (FOO.to_owned(), foo.name_any()),
    ];
    let labels = BTreeMap::from(labels);
    let container = Container {
        name: "nginx".to_owned(),
        image: Some(IMAGE.to_owned()),
        ..Container::default()
    };
    Deployment {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            labels: Some(labels.clone()),
            ..ObjectMeta::default()
        },
        spec: DeploymentSpec {
            replicas: foo.spec.replicas,
            selector: LabelSelector {
                match_labels: Some(labels.clone()),
                ..LabelSelector::default()
            },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels),
                    ..ObjectMeta::default()
                }),
                spec: Some(PodSpec {
                    containers: vec![container],
                    ..PodSpec::default()
                }),
            },
            ..DeploymentSpec::default()
        },
        status: None,
    }
}

#[cfg(test)]
mod tests {
    use api::v1alpha1::FooSpec;
    use serde_json::{Value, json};

    use super::*;

    fn deployment(replicas: Option<i32>) -> Value {
        let spec = FooSpec {
            deployment_name: "web".to_owned(),
            replicas,
        };
        json!(of(&Foo::new("sample", spec)))
    }

    #[test]
    fn it_has_the_name_and_the_size() {
        let deployment = deployment(Some(0));

        assert_eq!(deployment["metadata"]["name"], "web");
        assert_eq!(deployment["spec"]["replicas"], 0);
    }

    #[test]
    fn it_selects_its_pods() {
        let spec = &deployment(None)["spec"];

        let labels = &spec["template"]["metadata"]["labels"];
        assert_eq!(*labels, json!({ "app": "nginx", "controller": "sample" }));
        assert_eq!(spec["selector"]["matchLabels"], *labels);
    }

    #[test]
    fn it_does_not_set_what_the_spec_omits() {
        assert_eq!(deployment(None)["spec"].get("replicas"), None);
    }
}
