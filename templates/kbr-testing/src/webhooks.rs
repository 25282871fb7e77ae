// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks that the API server calls according to `config/default`.
//!
//! In a cluster it calls a Service, and cert-manager tells it which CA to trust. Mistakes in that
//! would only show there, so they are looked for here.

use std::collections::BTreeSet;

use serde_json::Value;

use super::grants::items;
use super::install::{Manifests, arg, args, expanded, is_manager, manager_container};
use super::serving::Serving;

/// Names the Certificate whose CA cert-manager must write to the object.
const INJECT: &str = "cert-manager.io/inject-ca-from";

/// The start of the API versions of cert-manager's objects.
const CERT_MANAGER: &str = "cert-manager.io/";

/// The start of the API versions of the Prometheus Operator's objects.
const PROMETHEUS: &str = "monitoring.coreos.com/";

/// The port of a Service that is called by default.
const HTTPS: u64 = 443;

/// Where a CRD says which webhook converts its objects.
const CONVERSION: &str = "/spec/conversion/webhook/clientConfig";

/// Without one of them the manager serves no webhooks.
const FLAG: &str = "--webhook-cert-path";
const OWN: &str = "--webhook-cert-secret";

impl Manifests {
    /// All paths at which the API server calls the operator.
    pub(super) fn webhook_paths(&self) -> BTreeSet<String> {
        let services = self.documents.iter().flat_map(services);
        services.map(|service| path(service).to_owned()).collect()
    }

    /// Makes the API server call the operator at `serving`.
    pub(super) fn call(&mut self, serving: &Serving) {
        for document in &mut self.documents {
            for place in places(document) {
                if let Some(client_config) = document.pointer_mut(&place) {
                    *client_config = serving.client_config(path(&client_config["service"]));
                }
            }
        }
    }

    /// Makes the API server call no webhooks.
    pub(super) fn call_no_webhooks(&mut self) {
        for document in &mut self.documents {
            if !places(document).is_empty()
                && let Some(crd) = document["spec"].as_object_mut()
            {
                crd.remove("conversion");
            }
        }
        // The documents that still name a Service are webhook configurations.
        self.documents
            .retain(|document| places(document).is_empty());
    }

    /// The documents that an API server without cert-manager and the Prometheus Operator accepts.
    pub(super) fn known_everywhere(&self) -> impl Iterator<Item = &Value> {
        let is_known = |document: &&Value| {
            let version = text(&document["apiVersion"]);
            !is_cert_managers(document) && !version.starts_with(PROMETHEUS)
        };
        self.documents.iter().filter(is_known)
    }

    /// Looks for mistakes that would keep the API server of a cluster from calling the operator.
    ///
    /// # Errors
    ///
    /// What is wrong, and what to do.
    pub(super) fn check_webhooks(&self) -> Result<(), String> {
        for document in &self.documents {
            for service in services(document) {
                let checked = self.check_call(document, service);
                checked.map_err(|fault| format!("{} {fault}", describe(document)))?;
            }
        }
        let is_called = !self.webhook_paths().is_empty();
        match self.documents.iter().find(|document| is_manager(document)) {
            Some(manager) if is_called && !serves_webhooks(manager) => Err(format!(
                "{} has neither `{FLAG}` nor `{OWN}`, so it serves no webhooks.\n\
                 config/default/manager_webhook_patch.yaml belongs under `patches` of \
                 config/default/kustomization.yaml",
                describe(manager)
            )),
            _ => Ok(()),
        }
    }

    fn check_call(&self, document: &Value, service: &Value) -> Result<(), String> {
        let (name, namespace) = (text(&service["name"]), text(&service["namespace"]));
        let called = self.named("Service", namespace, name).ok_or_else(|| {
            format!(
                "calls the Service `{namespace}/{name}`, which does not exist.\n{}",
                advice("../webhook")
            )
        })?;
        let port = service["port"].as_u64().unwrap_or(HTTPS);
        if !items(&called["spec"]["ports"]).any(|known| known["port"] == port) {
            return Err(format!(
                "calls port {port} of the Service `{namespace}/{name}`, which has no such port.\n\
                 See config/webhook/service.yaml"
            ));
        }
        if let Some(manager) = self.own_certificates() {
            return self.check_own(manager, document, name);
        }
        // Without cert-manager's objects, something else tells the API server which CA to trust.
        let is_injected = self.documents.iter().any(is_cert_managers);
        match document["metadata"]["annotations"][INJECT].as_str() {
            Some(certificate) if is_injected => {
                self.check_trust(certificate, &format!("{name}.{namespace}.svc"))
            }
            _ => Ok(()),
        }
    }

    /// The container of the manager, if it makes the certificates itself.
    pub(super) fn own_certificates(&self) -> Option<&Value> {
        manager_container(&self.documents).filter(|container| arg(container, OWN).is_some())
    }

    /// Whether the manager makes its certificate for this Service, and writes its CA to `document`.
    fn check_own(&self, manager: &Value, document: &Value, service: &str) -> Result<(), String> {
        const PATCH: &str = "See config/default/manager_webhook_patch.yaml";
        let own = arg(manager, "--webhook-service=").unwrap_or_default();
        if own != service {
            return Err(format!(
                "calls the Service `{service}`, but the manager makes its certificate for `{own}`.\n\
                 {}, and {PATCH}",
                advice("../webhook")
            ));
        }
        let kind = text(&document["kind"]);
        let name = text(&document["metadata"]["name"]);
        let flag = match kind {
            "MutatingWebhookConfiguration" => Some("--mutating-webhook-configuration="),
            "ValidatingWebhookConfiguration" => Some("--validating-webhook-configuration="),
            // The manager knows what it converts.
            _ => None,
        };
        let is_named = |flag| {
            let mut values = args(manager).filter_map(|word| word.strip_prefix(flag));
            values.any(|value| expanded(manager, value) == name)
        };
        if let Some(flag) = flag
            && !is_named(flag)
        {
            return Err(format!(
                "needs the CA of the manager, which has no `{flag}{name}`.\n{PATCH}"
            ));
        }
        let resource = format!("{}s", kind.to_lowercase());
        let grants = self.grants();
        let mut grants = grants.iter().map(|(_, grant)| grant);
        if grants.any(|grant| grant.allows_update_of(&resource, name)) {
            return Ok(());
        }
        Err(format!(
            "needs the CA of the manager, which may not write it there: no role that is bound to it allows \
             `update` of the {resource} `{name}`.\n\
             Run `kbr manifests`; names in config/webhook/certificates_role.yaml begin with the project's name, so \
             `namePrefix` of config/default/kustomization.yaml must too"
        ))
    }

    fn check_trust(&self, certificate: &str, host: &str) -> Result<(), String> {
        let (namespace, name) = certificate.split_once('/').unwrap_or_default();
        let found = self.named("Certificate", namespace, name).ok_or_else(|| {
            format!(
                "needs the CA of the Certificate `{certificate}`, which does not exist.\n{}",
                advice("../certmanager")
            )
        })?;
        if items(&found["spec"]["dnsNames"]).any(|name| name == host) {
            return Ok(());
        }
        Err(format!(
            "calls {host}, but the Certificate `{certificate}` is not for that name.\n{}",
            advice("../certmanager")
        ))
    }

    fn named(&self, kind: &str, namespace: &str, name: &str) -> Option<&Value> {
        self.documents.iter().find(|document| {
            let metadata = &document["metadata"];
            document["kind"] == kind
                && metadata["namespace"] == namespace
                && metadata["name"] == name
        })
    }
}

/// The JSON pointers to where an object names the Service that the API server must call.
fn places(document: &Value) -> Vec<String> {
    let mut places = match text(&document["kind"]) {
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
            let webhooks = items(&document["webhooks"]).enumerate();
            let place = |number| format!("/webhooks/{number}/clientConfig");
            webhooks.map(|(number, _)| place(number)).collect()
        }
        "CustomResourceDefinition" => vec![CONVERSION.to_owned()],
        _ => Vec::new(),
    };
    let names_service = |client_config: &Value| client_config["service"].is_object();
    places.retain(|place| document.pointer(place).is_some_and(names_service));
    places
}

/// The Services that the API server must call for an object.
fn services(document: &Value) -> impl Iterator<Item = &Value> {
    let client_configs = places(document).into_iter();
    let client_configs = client_configs.filter_map(|place| document.pointer(&place));
    client_configs.map(|client_config| &client_config["service"])
}

/// The path of a Service that it calls.
fn path(service: &Value) -> &str {
    service["path"].as_str().unwrap_or("/")
}

fn is_cert_managers(document: &Value) -> bool {
    text(&document["apiVersion"]).starts_with(CERT_MANAGER)
}

fn serves_webhooks(deployment: &Value) -> bool {
    let containers = items(&deployment["spec"]["template"]["spec"]["containers"]);
    let words = containers
        .flat_map(|container| items(&container["command"]).chain(items(&container["args"])));
    let mut words = words.map(text);
    words.any(|word| word.starts_with(FLAG) || word.starts_with(OWN))
}

fn describe(document: &Value) -> String {
    let name = text(&document["metadata"]["name"]);
    format!("{} `{name}`", text(&document["kind"]))
}

/// How to make kustomize write these names.
fn advice(resources: &str) -> String {
    format!(
        "In config/default/kustomization.yaml `- {resources}` belongs under `resources`, and \
         `- path: webhook_replacements.yaml` under `replacements`"
    )
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests;
