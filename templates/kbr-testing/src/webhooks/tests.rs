// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::super::folder::Folder;
use super::super::install::Account;
use super::*;
use serde_json::json;

/// What a cluster needs, and a webhook of each kind.
fn manifests() -> Manifests {
    let service = |path: &str| json!({ "name": "webhooks", "namespace": "here", "path": path });
    let webhook = |path: &str| json!({ "clientConfig": { "service": service(path) } });
    let metadata = |name: &str| {
        json!({
            "name": name,
            "namespace": "here",
            "annotations": { INJECT: "here/serving-cert" },
            "labels": { "control-plane": "controller-manager" },
        })
    };
    let object = |kind: &str, name: &str| json!({ "kind": kind, "metadata": metadata(name) });
    let mut documents = [
        object("MutatingWebhookConfiguration", "mutating"),
        object("ValidatingWebhookConfiguration", "validating"),
        object("CustomResourceDefinition", "crd"),
        object("Service", "webhooks"),
        object("Certificate", "serving-cert"),
        object("Deployment", "manager"),
    ];
    documents[0]["webhooks"] = json!([webhook("/mutate")]);
    documents[1]["webhooks"] = json!([webhook("/validate"), webhook("/validate-too")]);
    documents[2]["spec"]["scope"] = json!("Namespaced");
    documents[2]["spec"]["conversion"]["webhook"] = webhook("/convert");
    documents[3]["spec"]["ports"] = json!([{ "port": 443 }]);
    documents[4]["apiVersion"] = json!("cert-manager.io/v1");
    documents[4]["spec"]["dnsNames"] = json!(["webhooks.here.svc"]);
    let containers = json!([{ "name": "other" }, { "args": ["--webhook-cert-path=/certs"] }]);
    documents[5]["spec"]["template"]["spec"]["containers"] = containers;
    let account = Account {
        namespace: "here".to_owned(),
        name: "manager".to_owned(),
    };
    Manifests {
        documents: documents.into(),
        account,
        watched: Vec::new(),
    }
}

#[test]
fn every_path_that_is_called_is_known() {
    let paths = ["/convert", "/mutate", "/validate", "/validate-too"];
    assert!(manifests().webhook_paths().iter().eq(paths));
}

#[test]
fn complete_manifests_have_no_fault() {
    assert_eq!(manifests().check_webhooks(), Ok(()));
}

#[test]
fn a_call_that_would_fail_in_a_cluster_is_reported() {
    let inject = format!("/1/metadata/annotations/{}", INJECT.replace('/', "~1"));
    let faults = [
        (
            "/3/metadata/name",
            json!("renamed"),
            "MutatingWebhookConfiguration `mutating` calls the Service `here/webhooks`, which does \
             not exist.",
        ),
        (
            "/2/spec/conversion/webhook/clientConfig/service/namespace",
            json!("system"),
            "CustomResourceDefinition `crd` calls the Service `system/webhooks`, which does \
             not exist.",
        ),
        (
            "/1/webhooks/1/clientConfig/service/port",
            json!(9443),
            "ValidatingWebhookConfiguration `validating` calls port 9443 of the Service \
             `here/webhooks`, which has no such port.",
        ),
        (
            &inject,
            json!("system/serving-cert"),
            "ValidatingWebhookConfiguration `validating` needs the CA of the Certificate \
             `system/serving-cert`, which does not exist.",
        ),
        (
            "/4/spec/dnsNames",
            json!(["webhook-service.system.svc"]),
            "MutatingWebhookConfiguration `mutating` calls webhooks.here.svc, but the Certificate \
             `here/serving-cert` is not for that name.",
        ),
        (
            "/5/spec/template/spec/containers/1/args",
            json!([]),
            "Deployment `manager` has neither `--webhook-cert-path` nor `--webhook-cert-secret`, so it serves no webhooks.",
        ),
    ];
    for (place, value, expected) in faults {
        let mut documents = json!(manifests().documents);
        let (parent, name) = place.rsplit_once('/').unwrap();
        documents.pointer_mut(parent).unwrap()[name.replace("~1", "/")] = value;
        let manifests = Manifests {
            documents: serde_json::from_value(documents).unwrap(),
            ..manifests()
        };

        let fault = manifests.check_webhooks().unwrap_err();

        let (fault, advice) = fault.split_once('\n').unwrap();
        assert_eq!(fault, expected);
        assert!(!advice.is_empty());
    }
}

#[test]
fn without_cert_manager_no_certificate_is_required() {
    let mut manifests = manifests();
    manifests
        .documents
        .retain(|document| !is_cert_managers(document));

    assert_eq!(manifests.check_webhooks(), Ok(()));
}

#[test]
fn objects_of_other_operators_are_not_part_of_the_deployment() {
    let mut manifests = manifests();
    let version = "monitoring.coreos.com/v1";
    let monitor = json!({ "apiVersion": version, "kind": "ServiceMonitor" });
    manifests.documents.push(monitor);

    let kinds = manifests
        .known_everywhere()
        .map(|document| text(&document["kind"]));
    assert_eq!(
        kinds.collect::<Vec<_>>(),
        [
            "MutatingWebhookConfiguration",
            "ValidatingWebhookConfiguration",
            "CustomResourceDefinition",
            "Service",
            "Deployment"
        ]
    );
}

#[test]
fn a_webhook_without_a_service_is_left_alone() {
    let mut manifests = manifests();
    let elsewhere = json!({ "url": "https://example.com/validate" });
    manifests.documents[1]["webhooks"][0]["clientConfig"] = elsewhere;
    let folder = Folder::create().unwrap();

    manifests.call(&Serving::prepare(&folder).unwrap());

    let [mutating, validating, crd, ..] = &manifests.documents[..] else {
        panic!("there are three");
    };
    let url = |place: &Value| text(&place["clientConfig"]["url"]).to_owned();
    let webhooks = [
        &mutating["webhooks"][0],
        &validating["webhooks"][1],
        &crd["spec"]["conversion"]["webhook"],
    ];
    let paths = ["/mutate", "/validate-too", "/convert"];
    for (webhook, path) in webhooks.into_iter().zip(paths) {
        let url = url(webhook);
        assert!(url.starts_with("https://127.0.0.1:") && url.ends_with(path));
        assert!(webhook["clientConfig"]["caBundle"].is_string());
    }
    assert_eq!(
        url(&validating["webhooks"][0]),
        "https://example.com/validate"
    );
}

#[test]
fn no_webhooks_are_called_once_they_are_removed() {
    let mut manifests = manifests();

    manifests.call_no_webhooks();

    assert!(manifests.webhook_paths().is_empty());
    assert_eq!(
        manifests.documents[0]["spec"],
        json!({ "scope": "Namespaced" })
    );
}

/// The same for a manager that makes the certificates itself.
fn own_manifests() -> Manifests {
    let mut manifests = manifests();
    let documents = &mut manifests.documents;
    documents.retain(|document| !is_cert_managers(document));
    documents[4]["spec"]["template"]["spec"]["containers"] = json!([{
        "name": "manager",
        "args": [
            "--webhook-cert-secret=webhook-server-cert",
            "--webhook-service=$(SERVICE)",
            "--mutating-webhook-configuration=mutating",
            "--validating-webhook-configuration=validating",
        ],
        "env": [{ "name": "SERVICE", "value": "webhooks" }],
    }]);
    let rule = |group: &str, resource: &str, name: &str| {
        json!({
            "apiGroups": [group], "resources": [resource], "resourceNames": [name],
            "verbs": ["get", "update"],
        })
    };
    let admission = "admissionregistration.k8s.io";
    documents.push(json!({
        "kind": "ClusterRole",
        "metadata": { "name": "certificates-role" },
        "rules": [
            rule(admission, "mutatingwebhookconfigurations", "mutating"),
            rule(admission, "validatingwebhookconfigurations", "validating"),
            rule("apiextensions.k8s.io", "customresourcedefinitions", "crd"),
        ],
    }));
    documents.push(json!({
        "kind": "ClusterRoleBinding",
        "metadata": { "name": "certificates-role" },
        "roleRef": { "kind": "ClusterRole", "name": "certificates-role" },
        "subjects": [{ "kind": "ServiceAccount", "name": "manager", "namespace": "here" }],
    }));
    manifests
}

#[test]
fn a_manager_that_makes_the_certificates_must_know_what_is_called_and_may_write_there() {
    assert_eq!(own_manifests().check_webhooks(), Ok(()));

    let fault = |pointer: &str, value: &str| {
        let mut manifests = own_manifests();
        let (number, pointer) = pointer.split_once('/').unwrap();
        let document = &mut manifests.documents[number.parse::<usize>().unwrap()];
        *document.pointer_mut(&format!("/{pointer}")).unwrap() = json!(value);
        manifests.check_webhooks().unwrap_err()
    };
    let container = "4/spec/template/spec/containers/0";
    let text = fault(&format!("{container}/env/0/value"), "other");
    assert!(
        text.starts_with(
            "MutatingWebhookConfiguration `mutating` calls the Service `webhooks`, but the manager makes its certificate for `other`."
        ),
        "{text}"
    );
    assert_eq!(
        fault(
            &format!("{container}/args/3"),
            "--validating-webhook-configuration=other"
        ),
        "ValidatingWebhookConfiguration `validating` needs the CA of the manager, which has no `--validating-webhook-configuration=validating`.\n\
         See config/default/manager_webhook_patch.yaml"
    );
    let text = fault("5/rules/2/resourceNames/0", "other");
    assert!(
        text.starts_with(
            "CustomResourceDefinition `crd` needs the CA of the manager, which may not write it there: no role that is bound to it allows `update` of the customresourcedefinitions `crd`."
        ),
        "{text}"
    );
}
