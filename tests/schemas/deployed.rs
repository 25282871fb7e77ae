//! What goldens deploy, on an API server without their operators: two deployers apply it side by side, and objects that
//! are being deleted can be written.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::goldens::check_out;
use crate::support::{Sandbox, kustomize_in};

fn rendered(name: &str) -> (Sandbox, Vec<Value>) {
    let project = Sandbox::new();
    check_out(name, project.path());
    let objects = kustomize_in(&project, "config/default");
    (project, objects)
}

fn list(objects: &[Value]) -> String {
    json!({ "apiVersion": "v1", "kind": "List", "items": objects }).to_string()
}

/// A field whose default the API server adds inside of what is applied as a whole would be a conflict.
#[test]
fn two_deployers_apply_the_same_manifests_without_a_conflict() {
    for name in ["cronjob", "foo", "namespaced", "scaffold"] {
        let cluster = Cluster::start();
        let (_project, objects) = rendered(name);
        for deployer in ["one", "two", "one"] {
            let manager = format!("--field-manager={deployer}");
            let line = ["apply", "--server-side", &manager, "-f", "-"];
            cluster.kubectl(&line, &list(&objects)).success();
        }
    }
}

/// A configuration whose webhooks nobody serves.
fn unserved(mut configuration: Value) -> Value {
    for webhook in configuration["webhooks"].as_array_mut().expect("a list") {
        webhook["clientConfig"] = json!({ "url": "https://127.0.0.1:1/webhook" });
        webhook["timeoutSeconds"] = json!(1);
    }
    configuration
}

#[test]
fn the_last_finalizer_of_an_object_can_be_removed_while_no_manager_runs() {
    let cluster = Cluster::start();
    let (project, objects) = rendered("cronjob");
    let is_crd = |it: &&Value| it["kind"] == "CustomResourceDefinition";
    let crds: Vec<Value> = objects.iter().filter(is_crd).cloned().collect();
    cluster
        .kubectl(&["create", "-f", "-"], &list(&crds))
        .success();
    let established = ["wait", "--for=condition=Established", "crd", "--all"];
    // It fails immediately if a CRD is so new that it has no conditions.
    let are_served = || cluster.kubectl(&established, "").code() == Some(0);
    assert!((0..12).any(|_| are_served()));
    let sample = project.path().join("config/samples/batch_v1_cronjob.yaml");
    let sample = sample.to_str().expect("a path");
    cluster.kubectl(&["create", "namespace", "default"], "");
    cluster.kubectl(&["create", "-f", sample], "").success();
    let merge = |what: &str, patch: &str| {
        let line = ["patch", "-f", sample, "--type=merge", "-p", patch, what];
        cluster.kubectl(&line, "")
    };
    const NOW: &str = "--dry-run=none";
    const TRY: &str = "--dry-run=server";
    merge(NOW, r#"{"metadata":{"finalizers":["example.com/wait"]}}"#).success();
    let is_webhook = |it: &&Value| {
        it["kind"]
            .as_str()
            .is_some_and(|it| it.ends_with("WebhookConfiguration"))
    };
    let webhooks: Vec<Value> = objects
        .iter()
        .filter(is_webhook)
        .cloned()
        .map(unserved)
        .collect();
    assert_eq!(webhooks.len(), 2);
    cluster
        .kubectl(&["create", "-f", "-"], &list(&webhooks))
        .success();
    let label = r#"{"metadata":{"labels":{"a":"b"}}}"#;
    let start = Instant::now();
    while merge(TRY, label).code() == Some(0) {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "no webhook is called"
        );
    }

    cluster
        .kubectl(&["delete", "-f", sample, "--wait=false"], "")
        .success();
    // A finalizer may depend on it.
    let refused = merge(TRY, r#"{"spec":{"suspend":true}}"#).failure();
    assert!(
        refused.stderr.contains("failed calling webhook"),
        "{}",
        refused.stderr
    );
    merge(NOW, label).success();
    merge(NOW, r#"{"metadata":{"finalizers":null}}"#).success();
    let left = cluster.kubectl(&["get", "-f", sample], "").failure();
    assert!(left.stderr.contains("not found"), "{}", left.stderr);
}
