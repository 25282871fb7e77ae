// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

use k8s_openapi::api::batch::v1::Job;
use kbr_runtime::Problem;

use super::*;
use crate::controller::cronjob_controller::fixtures::{
    at, bad_schedule, cronjob, ended, job, job_of_run, outcome, shared,
};
use crate::controller::cronjob_controller::status;

/// The type, the reason and the note of each event.
fn texts(events: &[Event]) -> Vec<String> {
    let text = |event: &Event| {
        let note = event.note.as_deref().unwrap();
        format!("{:?} {}: {note}", event.type_, event.reason)
    };
    events.iter().map(text).collect()
}

/// The events after an outcome, and after the same outcome again.
fn reported(jobs: Vec<Job>, outcome: &Outcome) -> [Vec<String>; 2] {
    let mut cronjob = cronjob("0 * * * *", "09:10");
    let jobs = Jobs::from(shared(jobs));
    [(); 2].map(|()| {
        let status = status::of(&cronjob, &jobs, outcome, at("10:00"));
        let events = of_changes(&cronjob, &status, &jobs);
        cronjob.status = Some(status);
        texts(&events)
    })
}

#[test]
fn a_lasting_state_is_reported_once() {
    let since = at("09:00");
    let skip = Run::Skip {
        running: "a".to_owned(),
    };
    for (outcome, expected) in [
        (outcome(Run::NotDue), vec![]),
        (outcome(Run::Suspended), vec![]),
        (
            outcome(skip),
            vec!["Normal Skipped: runs are skipped while Job a runs"],
        ),
        (
            outcome(Run::Missed { since }),
            vec![
                "Warning MissedSchedule: the run of 2026-03-02T09:00:00Z could not start before \
                 its deadline",
            ],
        ),
        (
            outcome(Run::TooManyMissed { since }),
            vec![
                "Warning TooManyMissed: more than 100 runs since 2026-03-02T09:00:00Z have not \
                 started; set or lower spec.startingDeadlineSeconds, or check the clocks",
            ],
        ),
        (
            bad_schedule("often"),
            vec!["Warning InvalidSchedule: expected exactly 5 fields, found 1: [often]"],
        ),
    ] {
        let [first, again] = reported(vec![], &outcome);
        assert_eq!(first, expected);
        assert_eq!(again, Vec::<String>::new());
    }
}

#[test]
fn a_failed_job_is_reported_once() {
    let failed = ended(job("a", "09:00"), "Failed");

    let [first, again] = reported(vec![failed], &outcome(Run::NotDue));

    assert_eq!(first, ["Warning JobsFailed: Job a failed"]);
    assert_eq!(again, Vec::<String>::new());
}

#[test]
fn a_pod_that_does_not_run_is_reported_once_even_if_the_message_changes() {
    let mut cronjob = cronjob("0 * * * *", "09:10");
    let mut report = |message: &str| {
        let mut jobs = Jobs::from(shared([job("a", "09:00")]));
        jobs.problem = Some(Problem {
            reason: "ImagePullBackOff".to_owned(),
            message: message.to_owned(),
        });
        let idle = outcome(Run::NotDue);
        let status = status::of(&cronjob, &jobs, &idle, at("10:00"));
        let events = of_changes(&cronjob, &status, &jobs);
        cronjob.status = Some(status);
        texts(&events)
    };

    assert_eq!(report("not found"), ["Warning ImagePullBackOff: not found"]);
    assert_eq!(report("back-off"), Vec::<String>::new());
}

#[test]
fn each_start_is_reported_with_the_jobs_that_it_replaces() {
    let start = |job| Outcome {
        run: Run::Start {
            at: at("10:00"),
            replaces: shared([self::job("old", "09:00")]),
        },
        job,
    };

    let events = of_run(&start(Ok(Some(job_of_run("new", "10:00").into()))));
    let concerned = events
        .iter()
        .map(|event| event.secondary.as_ref()?.name.clone());
    assert_eq!(
        concerned.collect::<Vec<_>>(),
        [Some("old".to_owned()), Some("new".to_owned())]
    );
    assert_eq!(
        texts(&events),
        [
            "Normal Replaced: deleted Job old for the run of 2026-03-02T10:00:00Z",
            "Normal Started: created Job new for the run of 2026-03-02T10:00:00Z",
        ]
    );
    // A Job that already exists was reported when it was created.
    assert_eq!(texts(&of_run(&start(Ok(None)))), Vec::<String>::new());
}
