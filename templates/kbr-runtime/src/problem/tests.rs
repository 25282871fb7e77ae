// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests: each state that a kubelet and a scheduler report.

use serde_json::{Value, json};

use super::*;

const THEN: &str = "2026-03-02T10:00:00Z";
const NOW: &str = "2026-03-02T10:00:10Z";

fn pod(name: &str, status: Value) -> Arc<Pod> {
    let pod = json!({ "metadata": { "name": name }, "status": status });
    Arc::new(serde_json::from_value(pod).unwrap())
}

/// A container that is not ready, with these states.
fn container(state: Value, last_state: Value) -> Value {
    json!({
        "name": "main",
        "image": "main:1",
        "imageID": "",
        "ready": false,
        "restartCount": 1,
        "state": state,
        "lastState": last_state,
    })
}

/// The reason and message for a pod with this container, which is not ready since [`THEN`].
fn of_state(state: Value, last_state: Value) -> Option<(String, String)> {
    let status = json!({
        "phase": "Running",
        "conditions": [
            { "type": "PodScheduled", "status": "True" },
            { "type": "Ready", "status": "False", "lastTransitionTime": THEN },
        ],
        "containerStatuses": [container(state, last_state)],
    });
    found(&[pod("web-1", status)])
}

fn found(pods: &[Arc<Pod>]) -> Option<(String, String)> {
    Problem::of_pods(pods).map(|problem| (problem.reason, problem.message))
}

fn problem(reason: &str, message: &str) -> Option<(String, String)> {
    Some((reason.to_owned(), message.to_owned()))
}

fn waiting(reason: &str, message: &str) -> Value {
    json!({ "waiting": { "reason": reason, "message": message } })
}

fn ended(code: i32, reason: &str) -> Value {
    json!({ "terminated": { "exitCode": code, "reason": reason } })
}

fn running(since: &str) -> Value {
    json!({ "running": { "startedAt": since } })
}

#[test]
fn a_container_that_cannot_start_says_why() {
    for reason in [
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
    ] {
        let found = of_state(waiting(reason, "secret \"a\" not found"), json!({}));
        let message = "container main of pod web-1: secret \"a\" not found";
        assert_eq!(found, problem(reason, message));
    }
    let silent = json!({ "waiting": { "reason": "CreateContainerError" } });
    let message = "container main of pod web-1";
    let found = of_state(silent, json!({}));
    assert_eq!(found, problem("CreateContainerError", message));
    // It alternates with `ImagePullBackOff`, and is no new problem.
    let found = of_state(waiting("ErrImagePull", "not found"), json!({})).unwrap();
    assert_eq!(found.0, "ImagePullBackOff");
    // The reason for which it waits now counts, and not that it ran before.
    let found = of_state(waiting("ErrImageNeverPull", ""), ended(1, "Error")).unwrap();
    assert_eq!(found.0, "ErrImageNeverPull");
}

#[test]
fn a_crash_loop_is_one_problem_in_all_its_phases() {
    let message = "container main of pod web-1 ended with exit code 64";
    let back_off = waiting(
        "CrashLoopBackOff",
        "back-off 10s restarting failed container",
    );
    for state in [back_off.clone(), running(NOW), ended(64, "Error")] {
        let found = of_state(state.clone(), ended(64, "Error"));
        assert_eq!(found, problem("CrashLoopBackOff", message), "{state}");
    }
    // It ends by itself, but is meant to stay.
    let found = of_state(back_off.clone(), ended(0, "Completed"));
    let message = "container main of pod web-1 ended with exit code 0";
    assert_eq!(found, problem("CrashLoopBackOff", message));
    // The first time.
    let found = of_state(ended(64, "Error"), json!({})).unwrap();
    assert_eq!(found.0, "Error");
    // Without anything about how it ended.
    let found = of_state(back_off, json!({})).unwrap();
    assert_eq!(found.0, "CrashLoopBackOff");
    assert!(
        found.1.ends_with("restarting failed container"),
        "{found:?}"
    );
}

#[test]
fn a_container_that_was_killed_says_why_in_all_phases() {
    let message = "container main of pod web-1 ended with exit code 137";
    let back_off = waiting(
        "CrashLoopBackOff",
        "back-off 10s restarting failed container",
    );
    for (state, before) in [
        (ended(137, "OOMKilled"), json!({})),
        (back_off, ended(137, "OOMKilled")),
        (running(NOW), ended(137, "OOMKilled")),
    ] {
        let found = of_state(state, before);
        assert_eq!(found, problem("OOMKilled", message));
    }
    let mut failed = ended(128, "StartError");
    failed["terminated"]["message"] = json!("exec: \"nope\": not found");
    let found = of_state(waiting("CrashLoopBackOff", ""), failed);
    let message = "container main of pod web-1 ended with exit code 128: exec: \"nope\": not found";
    assert_eq!(found, problem("StartError", message));
}

#[test]
fn a_container_that_starts_runs_or_is_done_is_no_problem() {
    for (state, before) in [
        (waiting("ContainerCreating", ""), json!({})),
        (waiting("PodInitializing", ""), json!({})),
        (json!({}), json!({})),
        (running(NOW), json!({})),
        (ended(0, "Completed"), json!({})),
        (ended(0, "Completed"), ended(1, "Error")),
        // It has run for a while since, was ready, and is not ready now.
        (running("2026-03-01T10:00:00Z"), ended(1, "Error")),
    ] {
        assert_eq!(of_state(state.clone(), before), None, "{state}");
    }
    let mut ready = container(running(NOW), ended(1, "Error"));
    ready["ready"] = json!(true);
    assert_eq!(
        found(&[pod("web-1", json!({ "containerStatuses": [ready] }))]),
        None
    );
}

#[test]
fn a_pod_that_is_not_scheduled_says_why() {
    let scheduled = json!({
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/3 nodes are available: 3 Insufficient memory.",
    });
    let status = json!({ "phase": "Pending", "conditions": [scheduled] });
    let message = "pod web-1: 0/3 nodes are available: 3 Insufficient memory.";
    assert_eq!(
        found(&[pod("web-1", status)]),
        problem("Unschedulable", message)
    );
    assert_eq!(found(&[pod("web-1", json!({ "phase": "Pending" }))]), None);
}

#[test]
fn the_first_pod_that_does_not_run_counts() {
    let failed = |text: &str| {
        let container = container(waiting("ImagePullBackOff", text), json!({}));
        json!({ "initContainerStatuses": [container] })
    };
    let mut deleted = (*pod("web-2", failed("b"))).clone();
    deleted.metadata.deletion_timestamp = Some(Time(NOW.parse().unwrap()));
    let mut evicted = failed("c");
    evicted["phase"] = json!("Failed");
    let pods = [
        pod("web-1", json!({ "phase": "Running" })),
        Arc::new(deleted),
        pod("web-3", evicted),
        pod("web-4", failed("d")),
        pod("web-5", failed("e")),
    ];
    let message = "container main of pod web-4: d";
    assert_eq!(found(&pods), problem("ImagePullBackOff", message));
    assert_eq!(found(&pods[..3]), None);
}

#[test]
fn pods_that_cannot_be_created_come_first_and_a_missed_deadline_last() {
    let condition = |type_: &str, status: &str, reason: &str| json!({ "type": type_, "status": status, "reason": reason, "message": "Because." });
    let failure = condition("ReplicaFailure", "True", "FailedCreate");
    let late = condition("Progressing", "False", "ProgressDeadlineExceeded");
    let container = container(waiting("ImagePullBackOff", ""), json!({}));
    let pods = [pod("web-1", json!({ "containerStatuses": [container] }))];
    let reason = |conditions: &[&Value], pods: &[Arc<Pod>]| {
        let deployment = json!({ "status": { "conditions": conditions } });
        let deployment: Deployment = serde_json::from_value(deployment).unwrap();
        Problem::of_deployment(&deployment, pods).map(|problem| problem.reason)
    };

    let found = reason(&[&late, &failure], &pods);
    assert_eq!(found.as_deref(), Some("FailedCreate"));
    let found = reason(&[&late], &pods);
    assert_eq!(found.as_deref(), Some("ImagePullBackOff"));
    let found = reason(&[&late], &[]);
    assert_eq!(found.as_deref(), Some("ProgressDeadlineExceeded"));
    let fine = [
        condition("ReplicaFailure", "False", "FailedCreate"),
        condition("Progressing", "True", "ReplicaSetUpdated"),
        condition("Available", "False", "MinimumReplicasUnavailable"),
    ];
    assert_eq!(reason(&fine.iter().collect::<Vec<_>>(), &[]), None);
    assert_eq!(Problem::of_deployment(&Deployment::default(), &[]), None);
}
