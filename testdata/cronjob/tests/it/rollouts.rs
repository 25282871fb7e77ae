// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! A roll-out stops neither the webhooks nor a reconcile: what the Deployment says of it. That two
//! managers for a moment do no harm is in `interruptions` and `stale`.

use kbr_runtime::Flags;
use serde_json::{Value, json};

use crate::env;

/// The Deployment as the API server takes it.
fn deployment() -> Value {
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
    let mut objects = list["items"].as_array_mut().unwrap().drain(..);
    objects
        .find(|object| object["kind"] == "Deployment")
        .unwrap()
}

/// found.md, Runtime 6
#[test]
fn the_new_manager_serves_before_the_old_one_stops() {
    let deployment = deployment();

    let rolling = json!({
        "type": "RollingUpdate",
        "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 },
    });
    assert_eq!(deployment["spec"]["strategy"], rolling);
    let pod = &deployment["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    assert_eq!(container["readinessProbe"]["httpGet"]["path"], "/readyz");
    let goes_on = container["lifecycle"]["preStop"]["sleep"]["seconds"].as_u64();
    assert!(goes_on >= Some(5), "{container}");
    let grace = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
    let finishes = Flags::default().graceful_shutdown_timeout.as_secs();
    assert!(grace > goes_on.unwrap() + finishes, "{grace}");
}
