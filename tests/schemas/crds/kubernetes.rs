//! Kubernetes' own types inside a user's type: objects merge like Kubernetes' own objects.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Project, install};
use crate::support::Run;
use crate::support::api_server::api_server;

#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(group = "crds.example.com", version = "v1", kind = "Fleet", namespaced)]
struct FleetSpec {
    template: PodTemplateSpec,
}

fn fleet(name: &str, pod: &Value) -> String {
    let object = json!({
        "apiVersion": "crds.example.com/v1",
        "kind": "Fleet",
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "template": { "spec": pod } },
    });
    object.to_string()
}

/// Applies an object server-side as that field manager.
fn apply(manager: &str, object: &str) -> Run {
    let line = format!("apply --server-side --field-manager={manager} -f -");
    api_server().kubectl(&line, object)
}

/// The pod spec in the template of a fleet.
fn pod(name: &str) -> Value {
    let fleet = api_server().kubectl(&format!("get fleet {name} -o json"), "");
    let mut fleet: Value = serde_json::from_str(&fleet.success().stdout).expect("JSON");
    fleet["spec"]["template"]["spec"].take()
}

#[test]
fn a_template_merges_as_that_of_a_deployment() {
    install::<Fleet>();
    containers_of_two_managers_stay();
    ports_that_differ_in_their_protocol_stay();
    omitted_names_are_empty();
    what_kubernetes_would_refuse_is_refused();
}

fn containers_of_two_managers_stay() {
    let app = json!({ "name": "app", "image": "i" });
    let sidecar = json!({ "name": "sidecar", "image": "i" });
    for (manager, container) in [("one", &app), ("two", &sidecar)] {
        let pod = json!({ "containers": [container] });
        apply(manager, &fleet("merged", &pod)).success();
    }
    assert_eq!(pod("merged")["containers"], json!([app, sidecar]));
    // A manager removes only its own container.
    let none = json!({ "containers": [] });
    apply("one", &fleet("merged", &none)).success();
    assert_eq!(pod("merged")["containers"], json!([sidecar]));
}

fn ports_that_differ_in_their_protocol_stay() {
    let pod_of = |ports: Value| {
        let container = json!({ "name": "dns", "image": "i", "ports": ports });
        json!({ "containers": [container] })
    };
    let udp = json!({ "containerPort": 53, "protocol": "UDP" });
    let tcp = json!({ "containerPort": 53, "protocol": "TCP" });
    let unsaid = json!({ "containerPort": 53 });
    for (manager, port) in [("one", &unsaid), ("two", &udp)] {
        apply(manager, &fleet("ports", &pod_of(json!([port])))).success();
    }
    assert_eq!(pod("ports")["containers"][0]["ports"], json!([tcp, udp]));
    let twice = fleet("twice", &pod_of(json!([unsaid, tcp])));
    let refused = api_server().kubectl("create -f -", &twice).failure();
    assert!(refused.stderr.contains("Duplicate value"), "{refused:?}");
}

fn omitted_names_are_empty() {
    let container = json!({ "name": "app", "image": "i", "envFrom": [{ "secretRef": {} }] });
    let without_names = json!({ "containers": [container], "imagePullSecrets": [{}] });
    let object = fleet("names", &without_names);
    api_server().kubectl("create -f -", &object).success();
    let filled = pod("names");
    assert_eq!(filled["imagePullSecrets"], json!([{ "name": "" }]));
    let secret = &filled["containers"][0]["envFrom"][0]["secretRef"];
    assert_eq!(*secret, json!({ "name": "" }));
}

fn what_kubernetes_would_refuse_is_refused() {
    let limits = json!({ "limits": { "cpu": "some apples" } });
    for (container, why) in [
        (
            json!({ "name": "app", "resources": limits }),
            "spec.template.spec.containers[0].resources.limits.cpu",
        ),
        (
            json!({ "image": "i" }),
            "spec.template.spec.containers[0].name: Required value",
        ),
    ] {
        let object = fleet("refused", &json!({ "containers": [container] }));
        let refused = api_server().kubectl("create -f -", &object).failure();
        assert!(refused.stderr.contains(why), "{refused:?}");
    }
}

/// `kubectl apply` keeps the whole applied object in an annotation of at most 262,144 bytes.
#[test]
fn three_versions_of_a_template_are_small_enough_for_kubectl_apply() {
    let crd: Value = serde_saphyr::from_str(&Project::of::<Fleet>().crd()).expect("YAML");
    let size = crd.to_string().len();
    assert!(size < 262_144 / 3, "{size} bytes");
}
