// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Certificates of one's own: each replica keeps them in a Secret, and the CA in everything by which the API server
//! calls the webhooks.
//!
//! All replicas do the same, without a leader: each write is a creation or an update of what was read, and who loses
//! reads what the winner wrote. A replica serves a new certificate only after it has seen to it that the API server
//! trusts the new CA, besides the old one, which the others still use.
//!
//! The CA is written by an update, not by server-side apply. An applied list item belongs to everyone who applied a
//! part of it: `kubectl apply --server-side` could then no longer remove a webhook from a configuration.
//! In a CRD, an update is too much as well: whoever applies a CRD without its conversion could not remove the CA, and
//! what is left is no valid conversion. So the managers give up the field after they have written it.

mod authority;

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::Timestamp;
use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::api_server::ApiServer;
use crate::certificate::Certificate;
use crate::chain::chain;
use crate::key::is_name;
use crate::metrics::{CertificateReads, Metrics};
use crate::webhook::Webhooks;
use crate::{Flags, ManagerError};
use authority::{Cause, Content, Rules};

/// The field manager of everything that is written here.
const FIELD_MANAGER: &str = "webhook-certificates";

/// How often everything is checked, and how long the API server has to learn of a new CA.
const PERIOD: Duration = Duration::from_secs(10);

/// The same while something is missing or has failed.
const RETRY: Duration = Duration::from_secs(1);

/// The kind of a CRD.
const CRD: &str = "CustomResourceDefinition";

/// The certificates in metrics.
const SERVED: &str = "webhooks";
const AUTHORITY: &str = "webhooks-ca";

/// Issues the certificates, and keeps them up to date.
pub(crate) struct Issuer {
    namespace: String,
    secret: String,
    rules: Rules,
    /// Where the CA belongs.
    targets: Vec<(ApiResource, String)>,
    server: ApiServer,
    current: Certificate,
    /// What the Secret contained last.
    known: Option<Content>,
    served: Option<Content>,
    /// The CAs that are wherever they belong, and since when.
    trusted: Option<(Vec<u8>, Instant)>,
    /// The problem that was logged last.
    problem: Option<String>,
    /// The objects without which webhooks are not called, which did not exist when they were read last, by kind and name.
    absent: BTreeSet<(String, String)>,
    reads: CertificateReads,
}

/// Where the CAs are.
struct Placed {
    /// They are wherever they belong, and all of that exists.
    is_complete: bool,
    /// They were written just now.
    is_changed: bool,
}

impl Issuer {
    /// What the flags request, if they do, with the Secret in `namespace`.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Flag`].
    pub(crate) fn of(
        flags: &Flags,
        webhooks: &Webhooks,
        metrics: &Metrics,
        server: &ApiServer,
        namespace: &str,
    ) -> Result<Option<Self>, ManagerError> {
        let Some(secret) = flags.webhook_cert_secret.clone() else {
            return Ok(None);
        };
        let wrong = |flag, problem: String| ManagerError::Flag { flag, problem };
        const SECRET: &str = "--webhook-cert-secret";
        if flags.webhook_cert_path.is_some() {
            let problem = "and `--webhook-cert-path` exclude each other: give one of them";
            return Err(wrong(SECRET, problem.to_owned()));
        }
        const SERVICE: &str = "--webhook-service";
        let Some(service) = flags.webhook_service.clone() else {
            let problem = "is needed with `--webhook-cert-secret`: give the name of the Service by which the API server calls the webhooks";
            return Err(wrong(SERVICE, problem.to_owned()));
        };
        let mutating = flags.mutating_webhook_configuration.iter();
        let validating = flags.validating_webhook_configuration.iter();
        let named = [(SECRET, &secret), (SERVICE, &service)].into_iter();
        let named = named
            .chain(
                mutating
                    .clone()
                    .map(|it| ("--mutating-webhook-configuration", it)),
            )
            .chain(
                validating
                    .clone()
                    .map(|it| ("--validating-webhook-configuration", it)),
            );
        for (flag, name) in named {
            if !is_name(name) {
                let problem = format!(
                    "`{name}` cannot be a name: give lower-case letters, digits, `-` and `.`"
                );
                return Err(wrong(flag, problem));
            }
        }
        if flags.webhook_cert_validity < Duration::from_secs(10) {
            let problem = "must be 10s or longer".to_owned();
            return Err(wrong("--webhook-cert-validity", problem));
        }
        let mut targets = Vec::new();
        let mut add = |resource: ApiResource, name: &str| targets.push((resource, name.to_owned()));
        // The other one need not exist.
        for name in mutating.filter(|_| webhooks.has_defaulters()) {
            add(
                ApiResource::erase::<MutatingWebhookConfiguration>(&()),
                name,
            );
        }
        for name in validating.filter(|_| webhooks.has_validators()) {
            add(
                ApiResource::erase::<ValidatingWebhookConfiguration>(&()),
                name,
            );
        }
        for name in webhooks.crds() {
            add(ApiResource::erase::<CustomResourceDefinition>(&()), &name);
        }
        Ok(Some(Self {
            rules: Rules {
                name: format!("{service}.{namespace}.svc"),
                validity: flags.webhook_cert_validity,
            },
            namespace: namespace.to_owned(),
            secret,
            targets,
            server: server.clone(),
            current: Certificate::none("the Secret has not been read yet"),
            known: None,
            served: None,
            trusted: None,
            problem: None,
            absent: BTreeSet::new(),
            reads: metrics.certificate_reads(),
        }))
    }

    pub(crate) fn certificate(&self) -> Certificate {
        self.current.clone()
    }

    /// Keeps the certificates. Never returns.
    pub(crate) async fn follow(mut self) {
        // Short certificates are for tests.
        let period = PERIOD.min(self.rules.validity / 60);
        loop {
            let outcome = match self.server.client() {
                Ok(client) => loop {
                    match self.round(&client, period).await {
                        Ok(is_complete) => {
                            self.problem = None;
                            sleep(if is_complete {
                                period
                            } else {
                                RETRY.min(period)
                            })
                            .await;
                        }
                        Err(problem) => break problem,
                    }
                },
                Err(error) => chain(&error),
            };
            self.report(outcome);
            sleep(RETRY.min(period)).await;
        }
    }

    /// Logs a problem once.
    fn report(&mut self, problem: String) {
        if self.problem.as_ref() == Some(&problem) {
            return;
        }
        let secret = &self.secret;
        if self.current.missing().is_some() {
            tracing::warn!(error = problem, secret, "webhooks have no certificate yet");
            self.current.set(Err(problem.clone()));
        } else {
            tracing::warn!(
                error = problem,
                secret,
                "the certificates of webhooks could not be checked"
            );
        }
        self.problem = Some(problem);
    }

    /// Does what is to be done now. Returns whether the CA is wherever it belongs, and the certificate is served.
    async fn round(&mut self, client: &Client, period: Duration) -> Result<bool, String> {
        let Some(content) = self.content(client).await? else {
            return Ok(false);
        };
        let placed = self.place(client, &content).await;
        let bundle = &content.bundle().0;
        let known = self.trusted.as_ref().map(|(bundle, _)| bundle);
        match &placed {
            Err(_) => self.trusted = None,
            // Written again: another replica may just have put back what it had read before.
            Ok(placed) if placed.is_changed || known != Some(bundle) => {
                self.trusted = Some((bundle.clone(), Instant::now()));
            }
            Ok(_) => {}
        }
        let now = self.now();
        let is_served = |served: &Content| served.certificate.cert == content.certificate.cert;
        let is_trusted = self
            .trusted
            .as_ref()
            .is_some_and(|(_, at)| at.elapsed() >= period);
        // Without a certificate that works, there is nothing to lose.
        let may_wait = self.served.as_ref().is_some_and(|served| {
            let trusts = self
                .rules
                .trusts(&content.authorities, &served.certificate, now);
            trusts.is_ok()
        });
        let is_current = self.served.as_ref().is_some_and(is_served);
        if !is_current && (is_trusted || !may_wait) {
            self.serve(content.clone());
        }
        let is_current = self.served.as_ref().is_some_and(is_served);
        Ok(placed?.is_complete && is_current)
    }

    /// The content of the Secret, which is written if it must change; `None` if another replica was faster.
    async fn content(&mut self, client: &Client) -> Result<Option<Content>, String> {
        let api = Api::<Secret>::namespaced(client.clone(), &self.namespace);
        let failed = |what: &str, error: kube::Error| {
            format!(
                "could not {what} the Secret `{}`: {}",
                self.secret,
                chain(&error)
            )
        };
        let found = api.get_opt(&self.secret).await;
        let found = found.map_err(|error| failed("read", error))?;
        let data = found.as_ref().and_then(|it| it.data.clone());
        let applied = self
            .rules
            .apply(&data.unwrap_or_default(), self.known.as_ref(), self.now());
        let (content, cause) = applied?;
        let Some(cause) = cause else {
            self.known = Some(content.clone());
            return Ok(Some(content));
        };
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let is_new = found.is_none();
        let mut secret = found.unwrap_or_default();
        secret.metadata.name = Some(self.secret.clone());
        secret.data = Some(content.data.clone());
        let written = match is_new {
            true => api.create(&params, &secret).await,
            false => api.replace(&self.secret, &params, &secret).await,
        };
        match written {
            Err(kube::Error::Api(status)) if status.code == 409 => return Ok(None),
            // Deleted meanwhile.
            Err(kube::Error::Api(status)) if status.code == 404 && !is_new => return Ok(None),
            Err(error) => return Err(failed("write", error)),
            Ok(_) => {}
        }
        let secret = &self.secret;
        match cause {
            Cause::First => tracing::info!(secret, "made a CA and a certificate for webhooks"),
            Cause::Renewal(what) => tracing::info!(secret, "made {what} for webhooks"),
            Cause::Fault(reason) => {
                let reason = if is_new { "it was deleted" } else { &reason };
                tracing::warn!(secret, reason, "replaced the certificates for webhooks");
            }
        }
        self.known = Some(content.clone());
        Ok(Some(content))
    }

    /// Puts the CAs wherever they belong.
    async fn place(&mut self, client: &Client, content: &Content) -> Result<Placed, String> {
        let mut placed = Placed {
            is_complete: true,
            is_changed: false,
        };
        for (resource, name) in &self.targets {
            let api = Api::<DynamicObject>::all_with(client.clone(), resource);
            let failed = |what: &str, error: kube::Error| {
                format!(
                    "could not {what} the {} `{name}`: {}",
                    resource.kind,
                    chain(&error)
                )
            };
            // It may be applied after the manager.
            let Some(mut object) = api
                .get_opt(name)
                .await
                .map_err(|error| failed("read", error))?
            else {
                placed.is_complete = false;
                if self.absent.insert((resource.kind.clone(), name.clone())) {
                    let kind = &resource.kind;
                    tracing::warn!(
                        kind,
                        name,
                        "it does not exist, so the API server cannot call webhooks"
                    );
                }
                continue;
            };
            self.absent.remove(&(resource.kind.clone(), name.clone()));
            let is_new = set_bundle(&mut object.data, &json!(content.bundle()));
            // The API server records who wrote a field only when that is written.
            let is_crd = resource.kind == CRD;
            let is_given_up = is_crd && !is_new && give_up(&mut object.metadata);
            if !is_new && !is_given_up {
                continue;
            }
            let params = PostParams {
                field_manager: Some(FIELD_MANAGER.to_owned()),
                ..PostParams::default()
            };
            match api.replace(name, &params, &object).await {
                // Somebody else wrote it.
                Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {
                    placed.is_complete = false;
                }
                Err(error) => return Err(failed("write the CA to", error)),
                Ok(_) if is_given_up => {}
                Ok(_) => {
                    placed.is_changed = true;
                    placed.is_complete &= !is_crd;
                    let kind = &resource.kind;
                    tracing::info!(kind, name, "wrote the CA of webhooks");
                }
            }
        }
        Ok(placed)
    }

    fn serve(&mut self, content: Content) {
        self.reads.count(true);
        self.current.set(Ok(content.certificate.clone()));
        let [certificate, authority] = content.expiries();
        self.reads.expires(SERVED, certificate);
        self.reads.expires(AUTHORITY, authority);
        let secret = &self.secret;
        tracing::info!(secret, "loaded the certificate of webhooks");
        self.served = Some(content);
    }

    /// The time of the API server, which verifies the certificates.
    fn now(&self) -> Timestamp {
        self.server.time().unwrap_or_else(Timestamp::now)
    }
}

/// Sets the CAs wherever an object names a Service; returns whether that changes anything.
fn set_bundle(object: &mut Value, bundle: &Value) -> bool {
    let webhooks = object.get_mut("webhooks").and_then(Value::as_array_mut);
    let mut configs: Vec<&mut Value> = match webhooks {
        Some(webhooks) => webhooks
            .iter_mut()
            .filter_map(|it| it.get_mut("clientConfig"))
            .collect(),
        None => object
            .pointer_mut("/spec/conversion/webhook/clientConfig")
            .into_iter()
            .collect(),
    };
    configs.retain(|config| config["service"].is_object() && config["caBundle"] != *bundle);
    let is_changed = !configs.is_empty();
    for config in configs {
        config["caBundle"] = bundle.clone();
    }
    is_changed
}

/// Removes what the managers own of an object; returns whether that changes anything.
fn give_up(metadata: &mut ObjectMeta) -> bool {
    let Some(entries) = &mut metadata.managed_fields else {
        return false;
    };
    let count = entries.len();
    entries.retain(|entry| entry.manager.as_deref() != Some(FIELD_MANAGER));
    entries.len() < count
}

#[cfg(test)]
mod tests;
