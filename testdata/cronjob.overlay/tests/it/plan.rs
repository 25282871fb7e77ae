// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! `cronjob --plan` prints what the operator would change, and changes nothing.

use std::process::{Command, Output};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kbr_testing::TestEnv;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::builder;
use crate::support::{HOURLY, World, now};

/// Runs the operator with `--plan`, as the ServiceAccount that it is deployed with.
fn plan(env: &TestEnv) -> Output {
    let mut operator = Command::new(env!("CARGO_BIN_EXE_cronjob"));
    let kubeconfig = env.manager_kubeconfig();
    operator.args(["--plan", "--leader-elect", "--kubeconfig"]);
    operator.arg(kubeconfig).output().unwrap()
}

/// Each object that the operator could write, with its version, without the Lease that the API server renews for
/// itself.
fn versions(env: &TestEnv) -> Vec<String> {
    let kinds =
        "cronjobs.batch.tutorial.kubebuilder.io,jobs,events.events.k8s.io,leases,secrets,pods";
    let mut kubectl = env.kubectl();
    let output = kubectl
        .args(["get", kinds, "--all-namespaces", "--output=json"])
        .output();
    let list: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
    let items = list["items"].as_array().unwrap().iter();
    let is_of_server = |item: &&Value| {
        let name = item["metadata"]["name"].as_str().unwrap();
        item["kind"] == "Lease" && name.starts_with("apiserver-")
    };
    let versions = items.filter(|item| !is_of_server(item)).map(|item| {
        let metadata = &item["metadata"];
        format!(
            "{} {} {}",
            item["kind"], metadata["name"], metadata["resourceVersion"]
        )
    });
    versions.collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_tells_what_would_change_and_changes_nothing() {
    let env = builder().without_webhooks().start().unwrap();
    let world = World::new(&env).await;
    // One whose run is due, one with a Job too many, and one that was never reconciled.
    world.add("due", HOURLY, json!({})).await.unwrap();
    let run = Timestamp::now() - SignedDuration::from_mins(30);
    let job = world.make_due_at("due", run).await;
    let limits = json!({ "suspend": true, "successfulJobsHistoryLimit": 0 });
    let full = world.add("full", HOURLY, limits).await.unwrap();
    world.add_job(&full, "full-1", now()).await;
    world.end("full-1", "Complete").await;
    world
        .add("idle", HOURLY, json!({ "suspend": true }))
        .await
        .unwrap();
    let before = versions(&env);

    let output = plan(&env);

    let (out, log) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{out}{log}");
    let (namespace, kind) = (&world.namespace, "cronjobs.batch.tutorial.kubebuilder.io");
    for line in [
        format!("+ jobs.batch {namespace}/{job} (created by cronjob)"),
        format!("- jobs.batch {namespace}/full-1 (deleted by cronjob)"),
        format!("~ {kind} {namespace}/idle (changed by cronjob)"),
        format!("~ {kind} {namespace}/due (changed by cronjob)"),
        "    + spec.template.spec.containers[main].image: \"busybox\"".to_owned(),
        "The plan: 1 to create, 3 to change, 1 to delete. Nothing was written.".to_owned(),
    ] {
        assert!(out.lines().any(|other| other == line), "{line}\n{out}{log}");
    }
    // A reconcile sees what it would have written.
    assert!(out.contains("+ status.active["), "{out}{log}");
    assert!(
        !out.contains("resourceVersion") && !out.contains("managedFields"),
        "{out}"
    );

    assert_eq!(versions(&env), before);
    // A request appears in the log a moment after its effect.
    sleep(Duration::from_millis(500)).await;
    let requests = env.requests();
    let mut writes = requests
        .iter()
        .filter(|it| !["get", "list", "watch"].contains(&&*it.verb));
    assert!(writes.clone().count() >= 5, "{requests:#?}");
    assert!(
        writes.all(|write| write.url.contains("dryRun=All")),
        "{requests:#?}"
    );
    assert!(
        requests.iter().all(|it| it.resource != "leases"),
        "{requests:#?}"
    );

    // Once the operator has done it all, there is nothing left to do.
    world.change("due", json!({ "suspend": true })).await;
    let operator = env.start_operator(cronjob::register).unwrap();
    for name in ["due", "full", "idle"] {
        world.settle(name).await;
    }
    operator.stop();
    let output = plan(&env);
    let (out, log) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(out, "The plan: nothing to do.\n", "{log}");
    assert_eq!(output.status.code(), Some(0), "{log}");
}

#[tokio::test]
async fn a_plan_that_cannot_be_made_is_an_error() {
    let output = Command::new(env!("CARGO_BIN_EXE_cronjob"))
        .args(["--plan", "--kubeconfig=missing"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    assert!(text(&output.stderr).contains("could not make the plan"));
}
