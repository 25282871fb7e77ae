// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What a kubelet writes, without a server.

use serde_json::{Value, json};

use super::*;

const FIRST: &str = "2026-03-02T10:00:00Z";
const THEN: &str = "2026-03-02T10:00:07Z";

const READY: Step<'_> = Step::Run { is_ready: true };
const UNREADY: Step<'_> = Step::Run { is_ready: false };

fn at(time: &str) -> Time {
    Time(time.parse().unwrap())
}

/// A pod with two containers, an init container and a sidecar.
fn pod(policy: &str) -> Pod {
    let container = |name: &str| json!({ "name": name, "image": "busybox" });
    let mut sidecar = container("sidecar");
    sidecar["restartPolicy"] = json!("Always");
    serde_json::from_value(json!({
        "metadata": { "name": "sample", "uid": "1234", "generation": 1 },
        "spec": {
            "restartPolicy": policy,
            "initContainers": [container("before"), sidecar],
            "containers": [container("main"), container("other")],
        },
        "status": { "phase": "Pending", "qosClass": "BestEffort" },
    }))
    .unwrap()
}

/// The pod after these steps, of which the first is taken at [`FIRST`] and the others at [`THEN`].
fn taken(policy: &str, steps: &[Step<'_>]) -> Pod {
    let mut pod = pod(policy);
    for (index, step) in steps.iter().enumerate() {
        let now = at(if index == 0 { FIRST } else { THEN });
        pod.status = Some(after(&pod, *step, &now));
    }
    pod
}

fn status(pod: &Pod) -> Value {
    json!(pod.status)
}

/// Each condition as `Type=Status Reason`.
fn conditions(pod: &Pod) -> Vec<String> {
    let conditions = pod.status.iter().flat_map(|status| &status.conditions);
    let texts = conditions.flatten().map(|condition| {
        let reason = condition.reason.as_deref().unwrap_or_default();
        format!("{}={} {reason}", condition.type_, condition.status)
    });
    texts.map(|text| text.trim_end().to_owned()).collect()
}

#[test]
fn a_pod_runs_with_addresses_times_and_containers() {
    let pod = taken("Always", &[READY]);

    let status = status(&pod);
    assert_eq!(status["phase"], "Running");
    assert_eq!(status["startTime"], FIRST);
    assert_eq!(
        status["qosClass"], "BestEffort",
        "what the API server wrote stays"
    );
    assert_eq!(status["podIPs"][0]["ip"], status["podIP"]);
    assert_eq!(status["observedGeneration"], 1);
    assert_eq!(
        conditions(&pod),
        [
            "PodReadyToStartContainers=True",
            "Initialized=True",
            "ContainersReady=True",
            "Ready=True"
        ]
    );
    let main = json!({
        "name": "main",
        "image": "busybox",
        "imageID": "busybox",
        "containerID": "testenv://1234/main/0",
        "ready": true,
        "started": true,
        "restartCount": 0,
        "state": { "running": { "startedAt": FIRST } },
    });
    assert_eq!(status["containerStatuses"][0], main);
    assert_eq!(status["containerStatuses"][1]["name"], "other");
    let init = &status["initContainerStatuses"];
    assert_eq!(init[0]["state"]["terminated"]["exitCode"], 0);
    assert_eq!(init[1]["state"], main["state"]);
}

#[test]
fn a_pod_that_is_not_ready_names_its_containers_and_the_time_of_each_change_is_kept() {
    let pod = taken("Always", &[READY, UNREADY]);

    let conditions = status(&pod)["conditions"].clone();
    let ready = &conditions[3];
    assert_eq!(ready["status"], "False");
    assert_eq!(ready["reason"], "ContainersNotReady");
    assert_eq!(
        ready["message"],
        "containers with unready status: [main other]"
    );
    assert_eq!(ready["lastTransitionTime"], THEN);
    assert_eq!(conditions[1]["lastTransitionTime"], FIRST, "{conditions}");
    assert_eq!(status(&pod)["phase"], "Running");
    assert_eq!(status(&pod)["containerStatuses"][0]["ready"], false);
}

#[test]
fn a_pod_with_a_readiness_gate_is_ready_when_the_gate_is_open() {
    let mut pod = pod("Always");
    let gate = json!([{ "conditionType": "example.com/traffic" }]);
    pod.spec.as_mut().unwrap().readiness_gates = serde_json::from_value(gate).unwrap();

    pod.status = Some(after(&pod, READY, &at(FIRST)));

    let closed = conditions(&pod);
    assert_eq!(
        closed[2..],
        ["ContainersReady=True", "Ready=False ReadinessGatesNotReady"]
    );
    let open = PodCondition {
        type_: "example.com/traffic".to_owned(),
        status: "True".to_owned(),
        ..PodCondition::default()
    };
    let status = pod.status.as_mut().unwrap();
    status.conditions.as_mut().unwrap().push(open);
    pod.status = Some(after(&pod, READY, &at(THEN)));
    assert_eq!(conditions(&pod)[3], "Ready=True");
}

#[test]
fn the_effect_of_an_exit_depends_on_the_restart_policy() {
    for (policy, code, phase, restarts) in [
        ("Never", 0, "Succeeded", 0),
        ("Never", 3, "Failed", 0),
        ("OnFailure", 0, "Succeeded", 0),
        ("OnFailure", 3, "Running", 1),
        ("Always", 0, "Running", 1),
        ("Always", 3, "Running", 1),
    ] {
        let pod = taken(policy, &[READY, Step::Exit(code)]);

        let status = status(&pod);
        let main = &status["containerStatuses"][0];
        assert_eq!(status["phase"], phase, "{policy} {code}");
        assert_eq!(main["restartCount"], restarts, "{policy} {code}");
        let terminated = json!({
            "containerID": "testenv://1234/main/0",
            "exitCode": code,
            "reason": if code == 0 { "Completed" } else { "Error" },
            "startedAt": FIRST,
            "finishedAt": THEN,
        });
        if restarts == 0 {
            assert_eq!(main["state"]["terminated"], terminated, "{policy} {code}");
            assert_eq!(main["ready"], false);
        } else {
            assert_eq!(main["lastState"]["terminated"], terminated);
            assert_eq!(main["state"]["running"]["startedAt"], THEN);
            assert_eq!(main["containerID"], "testenv://1234/main/1");
            assert_eq!(main["ready"], true);
        }
        assert_eq!(has_ended(&pod), phase != "Running");
    }
}

#[test]
fn containers_that_cannot_start_say_why_until_they_start() {
    let wait = Step::Wait {
        reason: "ImagePullBackOff",
        message: "no such image",
    };
    let pod = taken("Always", &[wait]);

    let before = status(&pod);
    assert_eq!(before["phase"], "Pending");
    let main = json!({
        "name": "main",
        "image": "busybox",
        "imageID": "",
        "ready": false,
        "started": false,
        "restartCount": 0,
        "state": { "waiting": { "reason": "ImagePullBackOff", "message": "no such image" } },
    });
    assert_eq!(before["containerStatuses"][0], main);
    assert_eq!(conditions(&pod)[3], "Ready=False ContainersNotReady");
    assert!(!runs(&pod));

    let pod = taken("Always", &[wait, READY]);
    let started = taken("Always", &[READY]).status.unwrap().container_statuses;
    let mut containers = pod.status.clone().unwrap().container_statuses.unwrap();
    for container in &mut containers {
        assert!(is_running(container));
        container.state = Some(running(&at(FIRST)));
    }
    assert_eq!(Some(containers), started);
    assert!(runs(&pod));
}

#[test]
fn containers_that_crash_wait_for_their_restart() {
    let crash = Step::Crash {
        code: 64,
        reason: "Error",
    };
    let pod = taken("Always", &[READY, crash]);

    let before = status(&pod);
    assert_eq!(before["phase"], "Running");
    let main = &before["containerStatuses"][0];
    assert_eq!(main["state"]["waiting"]["reason"], "CrashLoopBackOff");
    assert_eq!(main["lastState"]["terminated"]["exitCode"], 64);
    assert_eq!(main["ready"], false);
    assert_eq!(conditions(&pod)[3], "Ready=False ContainersNotReady");

    let pod = taken("Always", &[READY, crash, crash, READY]);
    let main = &status(&pod)["containerStatuses"][0];
    assert_eq!(main["restartCount"], 2);
    assert_eq!(main["containerID"], "testenv://1234/main/2");
    assert_eq!(main["state"]["running"]["startedAt"], THEN);
    assert_eq!(main["ready"], true);
}

#[test]
fn a_crash_without_a_restart_is_the_end() {
    let crash = Step::Crash {
        code: KILLED,
        reason: "OOMKilled",
    };
    let pod = taken("Never", &[READY, crash]);

    let main = &status(&pod)["containerStatuses"][0];
    assert_eq!(main["state"]["terminated"]["reason"], "OOMKilled");
    assert_eq!(main["state"]["terminated"]["exitCode"], 137);
    assert!(has_ended(&pod));
}

#[test]
fn a_pod_without_a_node_has_no_containers() {
    let pod = taken("Always", &[Step::Unschedulable { message: "full" }]);

    assert_eq!(conditions(&pod), ["PodScheduled=False Unschedulable"]);
    assert!(status(&pod).get("containerStatuses").is_none());
    assert_eq!(status(&pod)["phase"], "Pending");
}

#[test]
fn sidecars_end_with_their_pod() {
    let pod = taken("Never", &[READY, Step::Exit(0)]);

    let sidecar = &status(&pod)["initContainerStatuses"][1];
    assert_eq!(sidecar["state"]["terminated"]["finishedAt"], THEN);
    assert_eq!(
        conditions(&pod),
        [
            "PodReadyToStartContainers=False",
            "Initialized=True PodCompleted",
            "ContainersReady=False PodCompleted",
            "Ready=False PodCompleted"
        ]
    );
}

#[test]
fn an_evicted_pod_has_failed_whatever_its_policy_and_says_why() {
    let pod = taken("Always", &[READY, Step::Evict]);

    let status = status(&pod);
    assert_eq!(status["phase"], "Failed");
    assert_eq!(status["reason"], "Evicted");
    assert_eq!(status["message"], "The node was low on resource: memory.");
    let terminated = &status["containerStatuses"][0]["state"]["terminated"];
    assert_eq!(terminated["exitCode"], 137);
    let conditions = conditions(&pod);
    assert_eq!(
        conditions[3..],
        [
            "Ready=False PodFailed",
            "DisruptionTarget=True TerminationByKubelet"
        ]
    );
}

#[test]
fn a_terminated_pod_has_failed_and_was_never_ready_if_it_had_not_started() {
    let pod = taken("Always", &[Step::Terminate]);

    let status = status(&pod);
    assert_eq!(status["phase"], "Failed");
    let terminated = &status["containerStatuses"][0]["state"]["terminated"];
    assert_eq!(terminated["exitCode"], 143);
    assert_eq!(conditions(&pod)[3], "Ready=False PodFailed");
}

#[test]
fn a_pod_on_the_host_network_has_the_address_of_its_node() {
    let mut pod = pod("Always");
    pod.spec.as_mut().unwrap().host_network = Some(true);

    let status = after(&pod, READY, &at(FIRST));

    assert_eq!(status.pod_ip, status.host_ip);
    assert_ne!(
        taken("Always", &[READY]).status.unwrap().pod_ip,
        status.host_ip
    );
}
