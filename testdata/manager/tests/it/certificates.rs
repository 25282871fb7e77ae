// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Certificates that managers make for their webhooks themselves, with no permissions but those that this needs.
//!
//! The API server calls both managers for each ConfigMap in one namespace, by a Service that leads to this machine.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kbr_runtime::webhook::{AdmissionRequest, BoxError, ValidationOutcome, Validator};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::time::sleep;

use crate::support::{PATIENCE, Running, manager_of, servers};

const SECRET: &str = "webhook-server-cert";

/// How often the certificate must be renewed.
const RENEWALS: usize = 10;

/// Counts its reviews.
struct Counting(Arc<AtomicUsize>);

impl Validator for Counting {
    type Object = ConfigMap;

    async fn validate_create(
        &self,
        _: &AdmissionRequest,
        _: &ConfigMap,
    ) -> Result<ValidationOutcome, BoxError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(ValidationOutcome::default())
    }
}

/// The path of the webhook in the configuration of that number.
fn path(number: usize) -> String {
    format!("/validate/{number}")
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// A manager in the deployed namespace, with that account.
fn start(namespace: &str, configuration: &str, port: u16, reviews: &Arc<AtomicUsize>) -> Running {
    let mut config = servers().admin_config();
    config.default_namespace = namespace.to_owned();
    config.auth_info.impersonate = Some(format!("system:serviceaccount:{namespace}:manager"));
    let mut manager = manager_of(config, |flags| {
        flags.webhook_cert_secret = Some(SECRET.to_owned());
        flags.webhook_service = Some("webhook-service".to_owned());
        flags.validating_webhook_configuration = vec![configuration.to_owned()];
        // Renewed every eight seconds.
        flags.webhook_cert_validity = Duration::from_secs(12);
        flags.webhook_host = "127.0.0.1".to_owned();
        flags.webhook_port = port;
    });
    for number in 0..=RENEWALS {
        let counting = Counting(reviews.clone());
        manager.webhooks().validate(&path(number), counting);
    }
    Running::start(manager)
}

/// The role is what `config/rbac` has for this.
fn manifests(namespace: &str, configuration: &str) -> String {
    format!(
        "
apiVersion: v1
kind: Service
metadata: {{name: webhook-service, namespace: {namespace}}}
spec: {{type: ExternalName, externalName: localhost}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: certificates, namespace: {namespace}}}
rules:
- {{apiGroups: [''], resources: [secrets], verbs: [create]}}
- {{apiGroups: [''], resources: [secrets], resourceNames: [{SECRET}], verbs: [get, update]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: certificates, namespace: {namespace}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: certificates}}
subjects: [{{kind: ServiceAccount, name: manager, namespace: {namespace}}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: {configuration}}}
rules:
- apiGroups: [admissionregistration.k8s.io]
  resources: [validatingwebhookconfigurations]
  resourceNames: [{configuration}]
  verbs: [get, update]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: {configuration}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {configuration}}}
subjects: [{{kind: ServiceAccount, name: manager, namespace: {namespace}}}]
"
    )
}

fn apply(text: &str) {
    let mut kubectl = servers().kubectl();
    kubectl.args(["apply", "--filename=-"]);
    kubectl.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut running = kubectl.spawn().unwrap();
    let mut input = running.stdin.take().unwrap();
    input.write_all(text.as_bytes()).unwrap();
    drop(input);
    assert!(running.wait().unwrap().success());
}

/// Applies the webhooks without a CA, as `make deploy` does; with another path, so that the API server connects again.
async fn configure(namespace: &str, name: &str, ports: &[u16], number: usize) {
    let webhook = |port: &u16| {
        json!({
            "name": format!("port-{port}.example.com"),
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": {
                "name": "webhook-service", "namespace": namespace, "port": port, "path": path(number),
            }},
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                "resources": ["configmaps"],
            }],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "sideEffects": "None",
        })
    };
    let document = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": ports.iter().map(webhook).collect::<Vec<_>>(),
    });
    let api = Api::<ValidatingWebhookConfiguration>::all(servers().admin());
    let params = PatchParams::apply("deploy").force();
    api.patch(name, &params, &Patch::Apply(document))
        .await
        .unwrap();
}

/// What reviews of a ConfigMap say.
async fn review(client: &Client, namespace: &str) -> kube::Result<()> {
    let api = Api::<ConfigMap>::namespaced(client.clone(), namespace);
    let mut object = ConfigMap::default();
    object.metadata.name = Some("reviewed".to_owned());
    let params = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    api.create(&params, &object).await.map(drop)
}

/// The certificate in the Secret.
async fn certificate(secrets: &Api<Secret>) -> Option<ByteString> {
    let secret = secrets.get_opt(SECRET).await.unwrap()?;
    secret.data?.remove("tls.crt").filter(|it| !it.0.is_empty())
}

/// Waits for another certificate in the Secret.
async fn another(secrets: &Api<Secret>, known: &ByteString) -> ByteString {
    for _ in 0..PATIENCE.as_millis() / 50 {
        match certificate(secrets).await {
            Some(found) if found != *known => return found,
            _ => sleep(Duration::from_millis(50)).await,
        }
    }
    panic!("the certificate has not been replaced");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_review_fails_while_managers_renew_their_certificates_and_the_secret_is_damaged() {
    let client = servers().admin();
    let namespace = servers().namespace().await;
    let configuration = format!("{namespace}-webhooks");
    apply(&manifests(&namespace, &configuration));
    let ports = [free_port(), free_port()];
    let reviews = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    let managers = [0, 1].map(|at| start(&namespace, &configuration, ports[at], &reviews[at]));
    // The webhooks come last.
    configure(&namespace, &configuration, &ports, 0).await;
    let deadline = Instant::now() + PATIENCE;
    while let Err(error) = review(&client, &namespace).await {
        assert!(Instant::now() < deadline, "{error}");
        sleep(Duration::from_millis(100)).await;
    }

    let over = Arc::new(AtomicBool::new(false));
    let writers = [(); 4].map(|()| {
        let (client, namespace, over) = (client.clone(), namespace.clone(), over.clone());
        tokio::spawn(async move {
            let mut failures = BTreeSet::new();
            while !over.load(Ordering::Relaxed) {
                if let Err(error) = review(&client, &namespace).await {
                    failures.insert(error.to_string());
                }
                sleep(Duration::from_millis(20)).await;
            }
            failures
        })
    });
    let secrets = Api::<Secret>::namespaced(client.clone(), &namespace);
    let mut known = certificate(&secrets).await.unwrap();
    let mut seen = BTreeSet::from([known.0.clone()]);

    // Deleted, emptied, and with a key that does not fit.
    secrets
        .delete(SECRET, &DeleteParams::default())
        .await
        .unwrap();
    known = another(&secrets, &known).await;
    let damages = [
        json!({"data": null}),
        json!({"stringData": {"tls.key": "no key", "ca.crt": "no certificate"}}),
    ];
    for damage in damages {
        let params = PatchParams::default();
        secrets
            .patch(SECRET, &params, &Patch::Merge(damage))
            .await
            .unwrap();
        known = another(&secrets, &known).await;
    }
    // In time, while the configuration is applied again and again.
    for number in 1..=RENEWALS {
        known = another(&secrets, &known).await;
        assert!(seen.insert(known.0.clone()));
        sleep(Duration::from_secs(1)).await;
        configure(&namespace, &configuration, &ports, number).await;
    }

    over.store(true, Ordering::Relaxed);
    for writer in writers {
        assert_eq!(writer.await.unwrap(), BTreeSet::new());
    }
    let counts = reviews.map(|count| count.load(Ordering::Relaxed));
    assert!(counts.iter().all(|count| *count > 500), "{counts:?}");

    // Whoever has applied a webhook can remove it.
    configure(&namespace, &configuration, &ports[..1], RENEWALS).await;
    let api = Api::<ValidatingWebhookConfiguration>::all(client.clone());
    let left = api.get(&configuration).await.unwrap().webhooks.unwrap();
    assert_eq!(left.len(), 1);
    assert!(left[0].client_config.ca_bundle.is_some());
    api.delete(&configuration, &DeleteParams::default())
        .await
        .unwrap();
    for manager in managers {
        manager.stop().await;
    }
}
