//! The Deployments that OLM makes, and what it does to them. Pure.
//!
//! It mounts the certificate of the webhooks itself, at two paths, and adds the volumes for that: see
//! `AddDefaultCertVolumeAndVolumeMounts` in `pkg/controller/install/certresources.go` of OLM.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::taken;
use crate::kustomize::{KustomizeError, Object, container, containers, items, manager};
use crate::manifests::json::{list_of, text_of};

/// Where OLM mounts the certificate, as `tls.crt` and `tls.key`.
const CERTIFICATES: &str = "/tmp/k8s-webhook-server/serving-certs";

/// The flags about the certificate of the webhooks.
const FLAGS: [&str; 7] = [
    "--mutating-webhook-configuration",
    "--validating-webhook-configuration",
    "--webhook-cert-key",
    "--webhook-cert-name",
    "--webhook-cert-path",
    "--webhook-cert-secret",
    "--webhook-service",
];

/// The variables that only flags above read.
const VARIABLES: [&str; 3] = [
    "MUTATING_WEBHOOK_CONFIGURATION",
    "VALIDATING_WEBHOOK_CONFIGURATION",
    "WEBHOOK_SERVICE",
];

/// The variable with the namespaces to watch, and where OLM writes them.
const NAMESPACES: [&str; 2] = [
    "WATCH_NAMESPACE",
    "metadata.annotations['olm.targetNamespaces']",
];

/// The Deployments of the operator.
#[derive(Debug)]
pub(super) struct Manager {
    /// The name of the Deployment with the manager.
    pub(crate) name: String,
    /// Its index.
    at: usize,
    all: Vec<Object>,
}

/// The Deployments in the form of a ClusterServiceVersion.
#[derive(Debug)]
pub(super) struct Deployments {
    /// The image of the manager.
    pub(crate) image: String,
    pub(crate) all: Vec<Value>,
}

impl Manager {
    /// Takes out the Deployments.
    pub(super) fn take(all: &mut Vec<Object>) -> Result<Self, KustomizeError> {
        let mut all = taken(all, |object| object.kind() == "Deployment");
        let at = manager(&mut all)?;
        let name = text_of(&all[at].value, "/metadata/name").to_owned();
        Ok(Self { name, at, all })
    }

    /// The ServiceAccounts of the Deployments.
    pub(super) fn accounts(&self) -> BTreeSet<String> {
        let deployments = self.all.iter();
        let account = "/spec/template/spec/serviceAccountName";
        deployments
            .map(|it| text_of(&it.value, account).to_owned())
            .collect()
    }

    /// The Deployments as OLM needs them; `secrets` are those of cert-manager, which do not exist there.
    pub(super) fn deployments(
        self,
        image: Option<&str>,
        has_webhooks: bool,
        secrets: &BTreeSet<String>,
        is_namespaced: bool,
    ) -> Deployments {
        let mut deployments = Deployments {
            image: String::new(),
            all: Vec::new(),
        };
        for (at, mut object) in self.all.into_iter().enumerate() {
            let deployment = &mut object.value;
            let paths = unmount(deployment, secrets);
            if let Some(manager) = container(deployment).filter(|_| at == self.at) {
                if let Some(image) = image {
                    manager["image"] = image.into();
                }
                text_of(manager, "image").clone_into(&mut deployments.image);
                certificate(manager, &paths, has_webhooks);
                if is_namespaced {
                    watch(manager);
                }
            }
            deployments.all.push(json!({
                "label": deployment["metadata"]["labels"],
                "name": deployment["metadata"]["name"],
                "spec": deployment["spec"],
            }));
        }
        deployments
    }
}

/// The Secrets that cert-manager makes for these certificates.
pub(super) fn secrets(certificates: &[Object]) -> BTreeSet<String> {
    let certificates = certificates.iter();
    let secrets = certificates.filter_map(|it| it.value["spec"]["secretName"].as_str());
    secrets.map(str::to_owned).collect()
}

/// Lets ServiceMonitors do without Secrets of cert-manager; returns whether one has needed it.
pub(super) fn measure(all: &mut [Object], secrets: &BTreeSet<String>) -> bool {
    let mut has_changed = false;
    let monitors = all.iter_mut().filter(|it| it.kind() == "ServiceMonitor");
    for endpoint in monitors.flat_map(|it| items(&mut it.value["spec"], "endpoints")) {
        let ca = endpoint.pointer("/tlsConfig/ca/secret/name");
        let is_there = ca
            .and_then(Value::as_str)
            .is_none_or(|name| !secrets.contains(name));
        if is_there {
            continue;
        }
        if let Some(tls) = endpoint["tlsConfig"].as_object_mut() {
            tls.shift_remove("ca");
            tls.insert("insecureSkipVerify".to_owned(), true.into());
            has_changed = true;
        }
    }
    has_changed
}

/// Removes the volumes of Secrets that do not exist, and returns the paths at which the manager has them.
fn unmount(deployment: &mut Value, secrets: &BTreeSet<String>) -> BTreeSet<String> {
    let pod = &mut deployment["spec"]["template"]["spec"];
    let is_gone = |volume: &Value| secrets.contains(text_of(&volume["secret"], "secretName"));
    let gone = list_of(pod, "volumes").iter().filter(|it| is_gone(it));
    let gone: BTreeSet<String> = gone.map(|it| text_of(it, "name").to_owned()).collect();
    retain(pod, "volumes", |volume| !is_gone(volume));
    let mut paths = BTreeSet::new();
    for container in containers(deployment) {
        retain(container, "volumeMounts", |mount| {
            let is_gone = gone.contains(text_of(mount, "name"));
            if is_gone {
                paths.insert(text_of(mount, "mountPath").to_owned());
            }
            !is_gone
        });
    }
    paths
}

/// Makes the manager read the certificate of its webhooks where OLM mounts it; at these paths, there is none.
fn certificate(manager: &mut Value, paths: &BTreeSet<String>, has_webhooks: bool) {
    let mut new = has_webhooks.then(|| format!("--webhook-cert-path={CERTIFICATES}"));
    let mut args = Vec::new();
    for argument in list_of(manager, "args") {
        let text = argument.as_str().unwrap_or_default();
        let (flag, value) = text.split_once('=').unwrap_or((text, ""));
        if FLAGS.contains(&flag) {
            args.extend(new.take().map(Value::from));
        } else if !paths.contains(value) {
            args.push(argument.clone());
        }
    }
    args.extend(new.map(Value::from));
    manager["args"] = args.into();
    let is_read = |name: &Value| name.as_str().is_none_or(|name| !VARIABLES.contains(&name));
    retain(manager, "env", |variable| is_read(&variable["name"]));
}

/// Makes the manager watch the namespaces that OLM is told to.
fn watch(manager: &mut Value) {
    let [name, field] = NAMESPACES;
    for variable in items(manager, "env").filter(|it| it["name"] == name) {
        *variable = json!({ "name": name, "valueFrom": { "fieldRef": { "fieldPath": field } } });
    }
}

/// Keeps some items of a list.
fn retain(of: &mut Value, key: &str, keep: impl FnMut(&Value) -> bool) {
    if let Some(list) = of.get_mut(key).and_then(Value::as_array_mut) {
        list.retain(keep);
    }
}
