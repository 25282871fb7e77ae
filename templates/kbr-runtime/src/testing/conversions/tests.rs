// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! A project of two versions that Kubernetes has anyway, with schemas that are made up.

use k8s_openapi::api::autoscaling::{v1, v2};
use serde_json::json;

use super::super::folder::Folder;
use super::*;
use crate::webhook::{Converter, copy_fields};

struct Autoscalers;

impl Converter for Autoscalers {
    type Hub = v2::HorizontalPodAutoscaler;
    type Spoke = v1::HorizontalPodAutoscaler;

    fn to_hub(&self, spoke: Self::Spoke) -> Self::Hub {
        let mut hub = Self::Hub::default();
        copy_fields(&spoke, &mut hub);
        hub
    }

    fn to_spoke(&self, hub: Self::Hub) -> Self::Spoke {
        let mut spoke = Self::Spoke::default();
        copy_fields(&hub, &mut spoke);
        spoke
    }
}

fn register(manager: &mut Manager) {
    manager.webhooks().convert(Autoscalers);
}

/// A schema that has these fields in its spec, a number of replicas among them.
fn version(name: &str, mut fields: Value) -> Value {
    fields["maxReplicas"] = json!({"type": "integer", "format": "int32"});
    let target = json!({"kind": {"type": "string"}, "name": {"type": "string"}});
    fields["scaleTargetRef"] =
        json!({"type": "object", "properties": target, "required": ["kind", "name"]});
    let required = ["maxReplicas", "scaleTargetRef"];
    let spec = json!({"type": "object", "properties": fields, "required": required});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    json!({"name": name, "schema": {"openAPIV3Schema": schema}})
}

/// Proves it for a project whose CRD has these versions.
fn prove(versions: &[Value]) {
    let project = Folder::create().unwrap();
    let folder = project.path().join(CRDS);
    fs::create_dir_all(&folder).unwrap();
    let spec = json!({
        "group": "autoscaling",
        "names": {"kind": "HorizontalPodAutoscaler"},
        "versions": versions,
    });
    let crd = json!({"kind": "CustomResourceDefinition", "spec": spec});
    fs::write(folder.join("crd.yaml"), crd.to_string()).unwrap();
    conversions_lose_nothing(project.path(), register);
}

#[test]
fn what_comes_back_is_proved() {
    let least = json!({"type": "integer", "format": "int32", "nullable": true});
    let metric = json!({
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"type": "string"}, "unknown": {"type": "boolean"}},
    });
    prove(&[
        version("v1", json!({"targetCPUUtilizationPercentage": least})),
        version(
            "v2",
            json!({"metrics": {"type": "array", "items": metric}, "minReplicas": least}),
        ),
    ]);
}

#[test]
#[should_panic(expected = "autoscaling/v2 could not be converted: invalid type: string")]
fn what_no_type_can_read_is_none() {
    prove(&[
        version("v1", json!({})),
        version("v2", json!({"minReplicas": {"type": "string"}})),
    ]);
}

#[test]
#[should_panic(
    expected = "has no HorizontalPodAutoscaler in version v2 of autoscaling; run `kbr manifests`"
)]
fn a_version_without_a_schema_is_named() {
    prove(&[version("v1", json!({}))]);
}

#[test]
#[should_panic(expected = "no converter is registered")]
fn without_a_converter_nothing_is_proved() {
    conversions_lose_nothing("/nowhere", |_| {});
}

#[test]
#[should_panic(expected = "run `kbr manifests`")]
fn a_project_without_crds_is_told_what_to_do() {
    conversions_lose_nothing("/nowhere", register);
}
