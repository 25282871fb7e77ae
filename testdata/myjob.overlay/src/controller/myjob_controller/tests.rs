// Copyright The myjob authors
// SPDX-License-Identifier: Apache-2.0

//! What is written, without a server.

use kbr_runtime::Problem;
use serde_json::json;

use super::*;

fn object() -> Object {
    let object = json!({
        "apiVersion": "myjob.github.com/v1beta1",
        "kind": "MyJob",
        "metadata": { "name": "sample", "uid": "1234", "generation": 1 },
        "spec": { "template": {
            "metadata": { "name": "ignored", "labels": { "team": "blue" }, "annotations": { "a": "b" } },
            "spec": { "containers": [{ "name": "main" }] },
        } },
    });
    serde_json::from_value(object).unwrap()
}

#[test]
fn a_pod_has_the_name_of_its_myjob_and_the_rest_from_the_template() {
    let pod = pod_of(&object());

    assert_eq!(pod.name_any(), "sample");
    assert_eq!(pod.labels()["team"], "blue");
    assert_eq!(pod.annotations()["a"], "b");
    assert_eq!(pod.spec, object().spec.template.spec);
}

#[test]
fn conditions_match_the_phase() {
    let failed = || End::Failed("why".to_owned());
    let problem = Problem {
        reason: "ImagePullBackOff".to_owned(),
        message: "not found".to_owned(),
    };
    for (state, phase, expected) in [
        (State::New, Phase::Pending, ["False", "Unknown"]),
        (State::NameTaken, Phase::Pending, ["False", "Unknown"]),
        (State::Running(None), Phase::Running, ["False", "Unknown"]),
        (
            State::Running(Some(problem)),
            Phase::Running,
            ["False", "Unknown"],
        ),
        (
            State::Completed(End::Succeeded),
            Phase::Completed,
            ["True", "True"],
        ),
        (
            State::Completed(failed()),
            Phase::Completed,
            ["True", "False"],
        ),
        (
            State::Completed(End::Deleted),
            Phase::Completed,
            ["True", "False"],
        ),
    ] {
        let status = status_of(&object(), &state, Timestamp::now());

        assert_eq!(status.phase, Some(phase));
        assert_eq!(status.observed_generation, Some(1));
        let written: Vec<_> = status
            .conditions
            .iter()
            .map(|it| it.status.as_str())
            .collect();
        assert_eq!(written, expected, "{state:?}");
        assert!(
            status
                .conditions
                .iter()
                .all(|it| it.reason == state.reason())
        );
    }
}

#[test]
fn an_unchanged_state_is_not_written_again_and_conditions_of_others_stay() {
    let mut object = object();
    let running = State::Running(None);
    let written = status_of(&object, &running, Timestamp::UNIX_EPOCH);
    let mut status = written.clone();
    let mut other = status.conditions[0].clone();
    other.type_ = "Other".to_owned();
    status.conditions.push(other);
    object.status = Some(status);

    let again = status_of(&object, &running, Timestamp::now());
    assert_eq!(again, written);
    let next = State::Completed(End::Succeeded);
    let status = status_of(&object, &next, Timestamp::now());
    assert_eq!(status.conditions.len(), 2);
}
