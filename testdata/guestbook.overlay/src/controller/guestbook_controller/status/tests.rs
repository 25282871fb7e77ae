// Copyright The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use k8s_openapi::api::apps::v1::DeploymentStatus;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;

use super::*;

fn now() -> Timestamp {
    "2026-03-02T10:00:30Z".parse().unwrap()
}

fn guestbook(size: i32) -> Guestbook {
    let spec = json!({ "size": size, "configMapName": "settings" });
    let mut guestbook = Guestbook::new("sample", serde_json::from_value(spec).unwrap());
    guestbook.metadata.generation = Some(1);
    guestbook
}

/// Kubernetes has observed the given generation, of three, and has created `updated` pods from it.
fn applied(observed: i64, updated: i32) -> Outcome {
    let mut deployment = Deployment::default();
    deployment.metadata.generation = Some(3);
    deployment.status = Some(DeploymentStatus {
        observed_generation: Some(observed),
        updated_replicas: Some(updated),
        ..DeploymentStatus::default()
    });
    Outcome::Applied(Arc::new(deployment))
}

/// A pod that was created at the given Unix time.
fn pod(name: &str, second: i64, phase: &str, is_ready: bool) -> Pod {
    let is_ready = if is_ready { "True" } else { "False" };
    let created = Timestamp::from_second(second).unwrap();
    let pod = json!({
        "metadata": { "name": name, "creationTimestamp": created },
        "status": { "phase": phase, "conditions": [{ "type": "Ready", "status": is_ready }] },
    });
    serde_json::from_value(pod).unwrap()
}

fn running(name: &str, second: i64) -> Arc<Pod> {
    Arc::new(pod(name, second, "Running", true))
}

fn starting(name: &str, second: i64) -> Arc<Pod> {
    Arc::new(pod(name, second, "Pending", false))
}

/// The active pod, and the standbys.
fn roles(pods: &[Arc<Pod>]) -> (String, Vec<String>) {
    let status = of(&guestbook(3), &applied(3, 3), pods, now());
    (status.active, status.standby)
}

fn ready(guestbook: &Guestbook, outcome: &Outcome, pods: &[Arc<Pod>]) -> (String, String, String) {
    let condition = of(guestbook, outcome, pods, now()).conditions.remove(0);
    (condition.status, condition.reason, condition.message)
}

#[test]
fn the_oldest_pod_that_is_ready_is_active() {
    let pods = [running("c", 30), starting("a", 10), running("b", 20)];

    let (active, standbys) = roles(&pods);

    assert_eq!(active, "b");
    assert_eq!(standbys, ["a", "c"]);
}

#[test]
fn of_pods_created_in_the_same_second_the_first_by_name_is_active() {
    let pods = [running("c", 10), running("b", 10), running("d", 10)];

    let (active, standbys) = roles(&pods);

    assert_eq!(active, "b");
    assert_eq!(standbys, ["c", "d"]);
}

#[test]
fn no_pod_is_active_if_none_is_ready() {
    let (active, standbys) = roles(&[starting("b", 10), starting("a", 20)]);

    assert_eq!(active, "");
    assert_eq!(standbys, ["a", "b"]);
}

#[test]
fn pods_that_have_ended_or_are_being_deleted_do_not_count() {
    let mut deleted = pod("deleted", 10, "Running", true);
    deleted.metadata.deletion_timestamp = Some(Time(now()));
    let evicted = pod("evicted", 10, "Failed", false);

    let (active, standbys) = roles(&[Arc::new(deleted), Arc::new(evicted), running("a", 20)]);

    assert_eq!(active, "a");
    assert!(standbys.is_empty());
}

#[test]
fn it_is_ready_when_all_pods_are() {
    let pods = [running("a", 10), running("b", 20)];

    let (status, reason, message) = ready(&guestbook(2), &applied(3, 2), &pods);

    assert_eq!((status.as_str(), reason.as_str()), ("True", "PodsReady"));
    assert_eq!(message, "2 of 2 pods are up to date, 2 are ready");
}

#[test]
fn it_is_not_ready_before_all_pods_are() {
    let (a, b, c) = (running("a", 10), running("b", 20), running("c", 30));
    for (pods, outcome) in [
        // One is missing.
        (vec![a.clone()], applied(3, 2)),
        // One does not serve.
        (vec![a.clone(), starting("b", 20)], applied(3, 2)),
        // An old one still exists.
        (vec![a.clone(), b.clone(), c], applied(3, 2)),
        // One has old settings.
        (vec![a.clone(), b.clone()], applied(3, 1)),
        // Kubernetes has not seen the new template: all may have old settings.
        (vec![a, b], applied(2, 2)),
    ] {
        let (status, reason, message) = ready(&guestbook(2), &outcome, &pods);

        let found = (status.as_str(), reason.as_str());
        assert_eq!(found, ("False", "PodsNotReady"), "{message}");
    }
}

#[test]
fn a_deployment_without_a_status_has_no_pods() {
    let outcome = Outcome::Applied(Arc::default());

    let (_, _, message) = ready(&guestbook(2), &outcome, &[]);

    assert_eq!(message, "0 of 2 pods are up to date, 0 are ready");
}

#[test]
fn a_pod_that_does_not_run_says_why() {
    let mut failing = pod("b", 20, "Running", false);
    let container = json!({
        "name": "main", "image": "", "imageID": "", "ready": false, "restartCount": 1,
        "lastState": { "terminated": { "exitCode": 1, "reason": "Error" } },
        "state": { "waiting": { "reason": "CrashLoopBackOff" } },
    });
    let containers = serde_json::from_value(json!([container])).unwrap();
    failing.status.as_mut().unwrap().container_statuses = Some(containers);
    let pods = [running("a", 10), Arc::new(failing)];
    let mut guestbook = guestbook(2);

    let status = of(&guestbook, &applied(3, 2), &pods, now());

    let problem = new_problem(&guestbook, &status).unwrap();
    assert_eq!(problem.reason, "CrashLoopBackOff");
    let message = "2 of 2 pods are up to date, 1 are ready; \
                   container main of pod b ended with exit code 1";
    assert_eq!(problem.message, message);
    guestbook.status = Some(status.clone());
    assert!(new_problem(&guestbook, &status).is_none());
    let starting = of(&guestbook, &applied(3, 2), &pods[..1], now());
    assert!(new_problem(&guestbook, &starting).is_none());
}

#[test]
fn obstacles_are_reported_together_with_the_running_pods() {
    let guestbook = guestbook(1);
    for (outcome, reason, message) in [
        (
            Outcome::ConfigMapMissing,
            "ConfigMapMissing",
            "there is no ConfigMap settings",
        ),
        (
            Outcome::NameTaken,
            "NameTaken",
            "Deployment sample exists and is not controlled by this Guestbook",
        ),
    ] {
        let status = of(&guestbook, &outcome, &[running("a", 10)], now());

        assert_eq!(status.active, "a");
        let ready = &status.conditions[0];
        assert_eq!(
            (ready.status.as_str(), ready.reason.as_str()),
            ("False", reason)
        );
        assert_eq!(ready.message, message);
    }
}

#[test]
fn an_unchanged_status_is_not_written_again() {
    let mut guestbook = guestbook(1);
    let pods = [running("a", 10)];
    let status = of(&guestbook, &applied(3, 1), &pods, now());
    assert_ne!(written(&guestbook), status);
    guestbook.status = Some(status.clone());

    let later = "2027-01-01T00:00:00Z".parse().unwrap();
    let again = of(&guestbook, &applied(3, 1), &pods, later);

    assert_eq!(again, status);
    assert_eq!(written(&guestbook), again);
}

#[test]
fn a_change_to_the_spec_is_observed() {
    let mut guestbook = guestbook(1);
    guestbook.metadata.generation = Some(2);

    let status = of(&guestbook, &Outcome::NameTaken, &[], now());

    assert_eq!(status.observed_generation, Some(2));
    assert_eq!(status.conditions[0].observed_generation, Some(2));
}

#[test]
fn conditions_of_others_are_left_alone() {
    let mut guestbook = guestbook(1);
    let mut status = of(&guestbook, &Outcome::NameTaken, &[], now());
    status.conditions[0].type_ = "Other".to_owned();
    guestbook.status = Some(status);

    let status = of(&guestbook, &Outcome::NameTaken, &[], now());

    let types = status.conditions.into_iter().map(|c| c.type_);
    assert_eq!(types.collect::<Vec<_>>(), ["Ready"]);
}
