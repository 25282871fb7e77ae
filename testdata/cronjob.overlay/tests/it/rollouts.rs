// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! Two managers, one of which leads, and a rollout that interrupts neither the webhooks nor a reconcile:
//! what the manifests specify. `interruptions` and `stale` test that two operators at once do no harm.

use k8s_openapi::api::coordination::v1::Lease;
use kbr_runtime::Flags;
use kube::Api;
use serde_json::{Value, json};

use crate::env;

/// The only object of that kind in the manifests, as the API server would store it.
fn deployed(kind: &str) -> Value {
    let output = env()
        .kubectl()
        .args(["apply", "--server-side", "--force-conflicts"])
        .args(["--dry-run=server", "--output=json", "-f"])
        .arg(env().deployment())
        .output();
    let output = output.unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    let mut list: Value = serde_json::from_slice(&output.stdout).unwrap();
    let objects = list["items"].as_array_mut().unwrap();
    objects.retain(|object| object["kind"] == kind);
    assert_eq!(objects.len(), 1, "{kind}");
    objects.remove(0)
}

#[tokio::test]
async fn one_of_two_managers_leads_with_a_lease_that_is_called_like_their_deployment() {
    let deployment = deployed("Deployment");
    assert_eq!(deployment["spec"]["replicas"], 2);
    let labels = &deployment["spec"]["selector"];
    assert_eq!(deployed("PodDisruptionBudget")["spec"]["selector"], *labels);
    let spread = &deployment["spec"]["template"]["spec"]["topologySpreadConstraints"][0];
    assert_eq!(spread["labelSelector"], *labels);

    let text = |key: &str| deployment["metadata"][key].as_str().unwrap();
    let (namespace, name) = (text("namespace"), text("name"));
    let leases = Api::<Lease>::namespaced(env().admin(), namespace);
    assert_eq!(name, "cronjob-controller-manager");
    let is_held = |lease: Option<&Lease>| {
        let spec = lease.and_then(|lease| lease.spec.as_ref());
        spec.is_some_and(|spec| spec.holder_identity.is_some())
    };
    env().wait_for(&leases, name, is_held).await;
}

#[test]
fn the_new_manager_serves_before_the_old_one_stops() {
    let deployment = deployed("Deployment");

    let rolling = json!({
        "type": "RollingUpdate",
        "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 },
    });
    assert_eq!(deployment["spec"]["strategy"], rolling);
    let pod = &deployment["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    assert_eq!(container["readinessProbe"]["httpGet"]["path"], "/readyz");
    let sleep = container["lifecycle"]["preStop"]["sleep"]["seconds"].as_u64();
    assert!(sleep >= Some(5), "{container}");
    let grace = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
    let shutdown = Flags::default().graceful_shutdown_timeout.as_secs();
    assert!(grace > sleep.unwrap() + shutdown, "{grace}");
}
