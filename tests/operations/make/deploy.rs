//! `make deploy`: each part is applied once what it needs is there, and nothing waits forever.
//!
//! The tests play Kubernetes' own controllers and cert-manager.

use serde_json::json;

use super::objects::apply;
use super::project::{Project, project};
use super::{DEPLOYMENT, IMAGE};
use crate::support::running::{Ended, Running};

const SYSTEM: &str = "--namespace=multiversion-system";
const MANAGERS: &str = "--namespace=multiversion-system deployment/multiversion-controller-manager";
const WEBHOOKS: [&str; 2] = [
    "mutatingwebhookconfiguration/multiversion-mutating-webhook-configuration",
    "validatingwebhookconfiguration/multiversion-validating-webhook-configuration",
];
const CONVERTED: [&str; 1] = ["crd/cronjobs.batch.tutorial.kubebuilder.io"];

/// Runs `make deploy` for the project without webhooks, whose managers become available at once.
pub fn deploy(project: &Project, image: &str) -> Ended {
    let make = project.start_make(&format!("deploy IMG={image}"));
    make.wait_while(|| become_available(project, DEPLOYMENT))
}

/// Reports that every manager is available, if the Deployment exists.
fn become_available(project: &Project, deployment: &str) {
    let generation = project.kubectl(&format!(
        "get {deployment} --output=jsonpath={{.metadata.generation}}"
    ));
    if generation.code() != Some(0) {
        return;
    }
    let generation: i64 = generation.stdout.parse().expect("a number");
    let status = json!({ "status": {
        "observedGeneration": generation,
        "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2,
    }});
    let patch = format!("patch {deployment} --subresource=status --type=merge --patch={status}");
    project.kubectl(&patch);
}

/// The API of cert-manager, until it is dropped.
struct CertManager<'a>(&'a Project);

impl<'a> CertManager<'a> {
    fn install(project: &'a Project) -> Self {
        for (kind, plural) in [("Certificate", "certificates"), ("Issuer", "issuers")] {
            let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
            let version = json!({
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": schema },
                "subresources": { "status": {} },
            });
            let crd = json!({
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": { "name": format!("{plural}.cert-manager.io") },
                "spec": {
                    "group": "cert-manager.io",
                    "names": { "kind": kind, "plural": plural },
                    "scope": "Namespaced",
                    "versions": [version],
                },
            });
            apply(project, &crd);
            let wait = format!("wait --for=condition=Established crd/{plural}.cert-manager.io");
            project.kubectl(&wait).success();
        }
        Self(project)
    }

    /// Issues what has been applied so far.
    fn issue(&self) {
        let get = format!("get issuers,certificates {SYSTEM} --output=name");
        let status = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
        for name in self.0.kubectl(&get).success().stdout.lines() {
            let patch =
                format!("patch {SYSTEM} {name} --subresource=status --type=merge --patch={status}");
            self.0.kubectl(&patch).success();
        }
    }
}

/// Writes the CA into these objects.
fn inject(project: &Project, objects: &[&str], path: &str) {
    let config = "config view --raw --flatten --output=jsonpath={.clusters[0].cluster}";
    let cluster = project.kubectl(config).success().stdout;
    let cluster: serde_json::Value = serde_json::from_str(&cluster).expect("JSON");
    let ca = &cluster["certificate-authority-data"];
    let patch = json!([{ "op": "add", "path": path, "value": ca }]);
    for object in objects {
        let patch = format!("patch {object} --type=json --patch={patch}");
        project.kubectl(&patch).success();
    }
}

impl Drop for CertManager<'_> {
    fn drop(&mut self) {
        self.0.kubectl(
            "delete --ignore-not-found crd/certificates.cert-manager.io crd/issuers.cert-manager.io",
        );
    }
}

#[test]
fn deploy_applies_nothing_without_cert_manager() {
    let (project, _alone) = project();
    let project = project.with_webhooks("multiversion");
    let before = project.inventory();

    let deploy = project.make(&format!("deploy IMG={IMAGE}"));

    assert_eq!(deploy.status.code(), Some(2), "{}", deploy.stderr);
    let said = "error: the cluster does not serve cert-manager.io/v1, so nothing has been applied.\n\
                Install cert-manager: https://cert-manager.io/docs/installation/\n";
    assert!(deploy.stderr.contains(said), "{}", deploy.stderr);
    assert_eq!(project.inventory(), before);
}

#[test]
fn deploy_applies_each_part_once_what_it_needs_is_there() {
    let (project, _alone) = project();
    let project = project.with_webhooks("multiversion");
    let before = project.inventory();
    let cert_manager = CertManager::install(&project);
    let exists = |object: &str| project.kubectl(&format!("get {object}")).code() == Some(0);
    let mut make = project.start_make(&format!("deploy IMG={IMAGE}"));

    is_awaited(&mut make, "the CA of cert-manager");
    let issuer = format!("{SYSTEM} issuer/multiversion-webhook-issuer");
    assert!(!exists(&issuer), "the CA that it signs with does not exist");

    cert_manager.issue();
    is_awaited(&mut make, "the certificates of cert-manager");
    assert!(exists(&issuer));
    assert!(
        !exists(MANAGERS),
        "the certificate that it mounts does not exist"
    );

    cert_manager.issue();
    is_awaited(&mut make, "the managers");
    assert!(WEBHOOKS.iter().all(|name| !exists(name)), "nobody answers");

    become_available(&project, MANAGERS);
    is_finished(&project, make, &WEBHOOKS, &CONVERTED);

    project.make("undeploy").success();
    drop(cert_manager);
    assert_eq!(project.inventory(), before);
}

#[test]
fn deploy_needs_no_cert_manager_for_certificates_that_the_managers_make() {
    let (project, _alone) = project();
    let project = project.with_webhooks("scaffold");
    let before = project.inventory();
    let webhooks = WEBHOOKS.map(|name| name.replace("multiversion", "scaffold"));
    let webhooks = webhooks.each_ref().map(String::as_str);
    let converted = ["crd/admirales.batch.tutorial.kubebuilder.io", CONVERTED[0]];
    let managers = MANAGERS.replace("multiversion", "scaffold");
    let exists = |object: &str| project.kubectl(&format!("get {object}")).code() == Some(0);
    let mut make = project.start_make(&format!("deploy IMG={IMAGE}"));

    is_awaited(&mut make, "the managers");
    assert!(webhooks.iter().all(|name| !exists(name)), "nobody answers");

    become_available(&project, &managers);
    is_finished(&project, make, &webhooks, &converted);

    project.make("undeploy").success();
    assert_eq!(project.inventory(), before);
}

/// Waits until make waits for the CA in these objects, writes it there, and waits until make has ended.
fn is_finished(project: &Project, mut make: Running, webhooks: &[&str], converted: &[&str]) {
    is_awaited(&mut make, "the CA in the webhook configurations");
    inject(project, webhooks, "/webhooks/0/clientConfig/caBundle");
    is_awaited(&mut make, "the CA in the CRDs");
    inject(
        project,
        converted,
        "/spec/conversion/webhook/clientConfig/caBundle",
    );
    make.wait_for("an answer", |make| {
        let line = "Waiting for an answer of the webhooks to the samples\n";
        make.stdout().contains(line).then_some(())
    });
    // Nobody answers here, so that does not matter from now on.
    for object in webhooks {
        let get = format!("get {object} --output=jsonpath={{.webhooks[*].name}}");
        let names = project.kubectl(&get).success().stdout;
        let ignore = |index| json!({ "op": "replace", "path": format!("/webhooks/{index}/failurePolicy"), "value": "Ignore" });
        let patch: Vec<_> = (0..names.split(' ').count()).map(ignore).collect();
        let patch = json!(patch);
        project
            .kubectl(&format!("patch {object} --type=json --patch={patch}"))
            .success();
    }
    for object in converted {
        let patch = json!({ "spec": { "conversion": { "strategy": "None", "webhook": null } } });
        project
            .kubectl(&format!("patch {object} --type=merge --patch={patch}"))
            .success();
    }
    make.wait().success();
}

/// Waits until make says that it waits for that.
fn is_awaited(make: &mut Running, what: &str) {
    let line = format!("Waiting for {what}, at most 180s\n");
    make.wait_for(what, |make| make.stdout().contains(&line).then_some(()));
}

#[test]
fn deploy_that_waits_in_vain_says_where_to_look() {
    let (project, _alone) = project();
    let before = project.inventory();

    let deploy = project.make(&format!("deploy IMG={IMAGE} DEPLOY_TIMEOUT=1s"));

    assert_eq!(deploy.status.code(), Some(2), "{}", deploy.stderr);
    let kubectl = crate::support::assets().join("kubectl");
    let (kubectl, pods) = (
        kubectl.display(),
        "-n made-system -l control-plane=controller-manager",
    );
    let said = format!(
        "error: waited in vain for the managers. To find out why, type:\n  \
           {kubectl} describe pods {pods}\n  \
           {kubectl} logs {pods} --tail=-1\n\
         Then run the command again; DEPLOY_TIMEOUT=10m waits longer. \
         'make undeploy' deletes what was applied.\n"
    );
    assert!(deploy.stderr.contains(&said), "{}", deploy.stderr);

    project.make("undeploy").success();
    assert_eq!(project.inventory(), before);
}

#[test]
fn undeploy_deletes_what_a_failed_deploy_has_applied() {
    let (project, _alone) = project();
    let project = project.with_webhooks("multiversion");
    let before = project.inventory();
    let cert_manager = CertManager::install(&project);

    let deploy = project.make(&format!("deploy IMG={IMAGE} DEPLOY_TIMEOUT=1s"));

    assert_eq!(deploy.status.code(), Some(2), "{}", deploy.stderr);
    let said = "error: waited in vain for the CA of cert-manager.";
    assert!(deploy.stderr.contains(said), "{}", deploy.stderr);
    assert_ne!(project.inventory(), before);
    // The API server no longer knows these kinds.
    drop(cert_manager);

    project.make("undeploy").success();

    assert_eq!(project.inventory(), before);
}

#[test]
fn test_e2e_deploys_only_to_the_context_that_is_named() {
    let (project, _alone) = project();
    let before = project.inventory();
    let current = project.kubectl("config current-context").success().stdout;
    let current = current.trim();

    for context in ["", "CONTEXT=another "] {
        let e2e = project.make(&format!("test-e2e {context}IMG={IMAGE}"));

        assert_eq!(e2e.status.code(), Some(2), "{}", e2e.stderr);
        let said = format!("type: make test-e2e CONTEXT={current} IMG={IMAGE}\n");
        assert!(e2e.stderr.contains(&said), "{}", e2e.stderr);
        assert_eq!(project.inventory(), before);
    }

    project.make("install").success();
    let installed = project.inventory();
    let e2e = project.make(&format!("test-e2e CONTEXT={current} IMG={IMAGE}"));

    assert_eq!(e2e.status.code(), Some(2), "{}", e2e.stderr);
    let said = "error: the cluster already has parts of this operator, and test-e2e would delete them:\n\
                customresourcedefinition.apiextensions.k8s.io/cronjobs.batch.tutorial.kubebuilder.io\n\
                If nobody needs them, type: make undeploy\n";
    assert!(e2e.stderr.contains(said), "{}", e2e.stderr);
    assert_eq!(project.inventory(), installed);
    project.make("undeploy").success();
    assert_eq!(project.inventory(), before);
}
