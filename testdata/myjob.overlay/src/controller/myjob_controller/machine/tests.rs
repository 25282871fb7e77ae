// Copyright The myjob authors
// SPDX-License-Identifier: Apache-2.0

//! Each cell of the table, and the states of Pods.

use serde_json::{Value, from_value, json};

use super::*;

fn pod(change: Value) -> Arc<Pod> {
    Arc::new(from_value(change).unwrap())
}

fn problem() -> Problem {
    Problem {
        reason: "ImagePullBackOff".to_owned(),
        message: "container main of pod sample: not found".to_owned(),
    }
}

#[test]
fn each_cell_of_the_table() {
    use Phase::{Completed, Pending, Running};
    let (nothing, active, not_ours) = (Seen::Nothing, Seen::Active(None), Seen::NotOurs);
    let stuck = Seen::Active(Some(problem()));
    let ended = Seen::Ended(End::Succeeded);
    let new = Next::Report(State::New);
    let running = Next::Report(State::Running(None));
    let reported = Next::Report(State::Running(Some(problem())));
    let taken = Next::Report(State::NameTaken);
    let succeeded = Next::Report(State::Completed(End::Succeeded));
    let deleted = Next::Report(State::Completed(End::Deleted));
    for (phase, seen, expected) in [
        (None, &nothing, &new),
        (None, &active, &new),
        (None, &ended, &new),
        (None, &not_ours, &new),
        (Some(Pending), &nothing, &Next::Create),
        (Some(Pending), &active, &running),
        (Some(Pending), &stuck, &reported),
        (Some(Pending), &ended, &succeeded),
        (Some(Pending), &not_ours, &taken),
        (Some(Running), &nothing, &deleted),
        (Some(Running), &active, &running),
        (Some(Running), &stuck, &reported),
        (Some(Running), &ended, &succeeded),
        (Some(Running), &not_ours, &deleted),
        (Some(Completed), &nothing, &Next::Stay),
        (Some(Completed), &active, &Next::Stay),
        (Some(Completed), &ended, &Next::Stay),
        (Some(Completed), &not_ours, &Next::Stay),
    ] {
        assert_eq!(next(phase, seen.clone()), *expected, "{phase:?} {seen:?}");
    }
}

#[test]
fn the_states_of_a_pod() {
    let deleted = json!({ "deletionTimestamp": "2026-03-02T10:00:00Z" });
    let failed = |why: &str| Seen::Ended(End::Failed(why.to_owned()));
    let container = |name: &str, code: i32| {
        json!({
            "name": name, "image": "", "imageID": "", "ready": false, "restartCount": 0,
            "state": { "terminated": { "exitCode": code } },
        })
    };
    let waiting = json!({
        "name": "main", "image": "", "imageID": "", "ready": false, "restartCount": 0,
        "state": { "waiting": { "reason": "ImagePullBackOff", "message": "not found" } },
    });
    for (change, expected) in [
        (json!({}), Seen::Active(None)),
        (
            json!({ "status": { "phase": "Pending" } }),
            Seen::Active(None),
        ),
        (
            json!({ "status": { "phase": "Running" } }),
            Seen::Active(None),
        ),
        (
            json!({ "status": { "phase": "Unknown" } }),
            Seen::Active(None),
        ),
        (
            json!({
                "metadata": { "name": "sample" },
                "status": { "phase": "Pending", "containerStatuses": [waiting] },
            }),
            Seen::Active(Some(problem())),
        ),
        (
            json!({ "metadata": deleted, "status": { "phase": "Running" } }),
            Seen::Ended(End::Deleted),
        ),
        // It had succeeded before it was deleted.
        (
            json!({ "metadata": deleted, "status": { "phase": "Succeeded" } }),
            Seen::Ended(End::Succeeded),
        ),
        (
            json!({ "status": { "phase": "Failed" } }),
            failed("no container says why"),
        ),
        (
            json!({ "status": {
                "phase": "Failed",
                "containerStatuses": [container("first", 0), container("second", 3)],
            } }),
            failed("container second ended with exit code 3"),
        ),
        (
            json!({ "status": {
                "phase": "Failed",
                "reason": "Evicted",
                "message": "no memory",
                "containerStatuses": [container("first", 137)],
            } }),
            failed("Evicted: no memory"),
        ),
    ] {
        assert_eq!(seen(&pod(change.clone())), expected, "{change}");
    }
}

#[test]
fn the_phase_never_goes_back() {
    let order = [
        None,
        Some(Phase::Pending),
        Some(Phase::Running),
        Some(Phase::Completed),
    ];
    let all = [
        Seen::Nothing,
        Seen::Active(None),
        Seen::Active(Some(problem())),
        Seen::Ended(End::Succeeded),
        Seen::Ended(End::Failed(String::new())),
        Seen::Ended(End::Deleted),
        Seen::NotOurs,
    ];
    for (at, phase) in order.into_iter().enumerate() {
        for seen in &all {
            if let Next::Report(state) = next(phase, seen.clone()) {
                let after = order.iter().position(|phase| *phase == Some(state.phase()));
                assert!(after >= Some(at), "{phase:?} {seen:?} {state:?}");
            }
        }
    }
}
