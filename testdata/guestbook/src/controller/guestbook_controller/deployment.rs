// Copyright The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! The Deployment of a Guestbook.

use std::collections::BTreeMap;

use api::v1::{EntryType, Guestbook};
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{
    ConfigMap, ConfigMapEnvSource, Container, EnvFromSource, EnvVar, PodSpec, PodTemplateSpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::ResourceExt;
use kube::api::ObjectMeta;

use super::{config_hash, pods};

/// What runs in each pod.
const IMAGE: &str = "nginx:1.29";

/// The annotation of a pod with the hash of the settings that it was started with.
///
/// The environment of a container is fixed when it starts. Kubernetes does not restart it when the
/// ConfigMap changes, but it replaces the pods when their template changes.
const CONFIG_HASH: &str = "webapp.my.domain/config-hash";

/// The variable with what guests leave. It takes precedence over a key of that name in the ConfigMap.
const TYPE: &str = "GUESTBOOK_TYPE";

/// The desired Deployment of `guestbook`: only the fields that it manages. All others are left to
/// Kubernetes, and to whoever else writes them.
pub fn of(guestbook: &Guestbook, config_map: &ConfigMap) -> Deployment {
    let labels = pods::labels(guestbook);
    Deployment {
        metadata: ObjectMeta {
            name: Some(guestbook.name_any()),
            labels: Some(labels.clone()),
            ..ObjectMeta::default()
        },
        spec: DeploymentSpec {
            replicas: Some(guestbook.spec.size),
            selector: LabelSelector {
                match_labels: Some(labels.clone()),
                ..LabelSelector::default()
            },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels),
                    annotations: Some(annotations(config_map)),
                    ..ObjectMeta::default()
                }),
                spec: Some(PodSpec {
                    containers: vec![container(guestbook)],
                    ..PodSpec::default()
                }),
            },
            ..DeploymentSpec::default()
        },
        status: None,
    }
}

fn annotations(config_map: &ConfigMap) -> BTreeMap<String, String> {
    [(CONFIG_HASH.to_owned(), config_hash::of(config_map))].into()
}

fn container(guestbook: &Guestbook) -> Container {
    let config_map = ConfigMapEnvSource {
        name: guestbook.spec.config_map_name.clone(),
        ..ConfigMapEnvSource::default()
    };
    let settings = EnvFromSource {
        config_map_ref: Some(config_map),
        ..EnvFromSource::default()
    };
    Container {
        name: "guestbook".to_owned(),
        image: Some(IMAGE.to_owned()),
        env_from: Some(vec![settings]),
        env: guestbook.spec.type_.map(|type_| vec![variable(type_)]),
        ..Container::default()
    }
}

fn variable(type_: EntryType) -> EnvVar {
    let value = match type_ {
        EntryType::Phone => "Phone",
        EntryType::Address => "Address",
        EntryType::Name => "Name",
    };
    EnvVar {
        name: TYPE.to_owned(),
        value: Some(value.to_owned()),
        ..EnvVar::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn deployment(spec: Value, config_map: &ConfigMap) -> Value {
        let mut guestbook = Guestbook::new("sample", serde_json::from_value(spec).unwrap());
        guestbook.metadata.uid = Some("7a1f".to_owned());
        json!(of(&guestbook, config_map))
    }

    fn spec() -> Value {
        json!({ "size": 3, "configMapName": "settings", "alias": "Phone" })
    }

    #[test]
    fn it_has_the_name_and_the_size() {
        let deployment = deployment(spec(), &ConfigMap::default());

        assert_eq!(deployment["metadata"]["name"], "sample");
        assert_eq!(deployment["spec"]["replicas"], 3);
    }

    #[test]
    fn it_selects_its_pods() {
        let spec = &deployment(spec(), &ConfigMap::default())["spec"];

        let labels = &spec["template"]["metadata"]["labels"];
        assert_eq!(spec["selector"]["matchLabels"], *labels);
        assert_eq!(labels["webapp.my.domain/guestbook-uid"], "7a1f");
    }

    #[test]
    fn the_pods_have_the_settings_and_the_type() {
        let deployment = deployment(spec(), &ConfigMap::default());

        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        let name = &container["envFrom"][0]["configMapRef"]["name"];
        assert_eq!(name, "settings");
        let type_ = json!([{ "name": "GUESTBOOK_TYPE", "value": "Phone" }]);
        assert_eq!(container["env"], type_);
    }

    #[test]
    fn an_omitted_type_sets_no_variable() {
        let spec = json!({ "size": 1, "configMapName": "settings" });
        let deployment = deployment(spec, &ConfigMap::default());

        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container.get("env"), None);
    }

    #[test]
    fn new_settings_change_the_template() {
        let mut settings = ConfigMap::default();
        let before = deployment(spec(), &settings);
        settings.data = Some([("GREETING".to_owned(), "Hello".to_owned())].into());
        let after = deployment(spec(), &settings);

        assert_ne!(before["spec"]["template"], after["spec"]["template"]);
        assert_eq!(before["spec"]["selector"], after["spec"]["selector"]);
    }
}
