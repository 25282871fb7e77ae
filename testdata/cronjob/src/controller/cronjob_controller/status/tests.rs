// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

use kbr_runtime::Problem;

use super::*;
use crate::controller::cronjob_controller::fixtures::{
    at, bad_schedule, cronjob, ended, job, job_of_run, outcome, set_last_run, shared,
};

fn started(time: &str, replaces: Vec<Arc<Job>>) -> Outcome {
    let run = Run::Start {
        at: at(time),
        replaces,
    };
    Outcome {
        run,
        job: Ok(Some(job_of_run("new", time).into())),
    }
}

fn not_created() -> Outcome {
    let reason = kube::Error::LinesCodecMaxLineLengthExceeded;
    let error = Error::Create {
        name: "new".to_owned(),
        reason,
    };
    let run = Run::Start {
        at: at("10:00"),
        replaces: Vec::new(),
    };
    Outcome {
        run,
        job: Err(error),
    }
}

fn name_taken() -> Outcome {
    Outcome {
        job: Err(Error::NameTaken {
            name: "new".to_owned(),
        }),
        ..not_created()
    }
}

/// Each condition as `Type=Status Reason`.
fn conditions_of(jobs: Vec<Job>, outcome: &Outcome) -> [String; 3] {
    let status = of(
        &cronjob("0 * * * *", "09:10"),
        &shared(jobs).into(),
        outcome,
        at("10:00"),
    );
    let text = |condition: &Condition| {
        format!(
            "{}={} {}",
            condition.type_, condition.status, condition.reason
        )
    };
    let conditions: Vec<_> = status.conditions.iter().map(text).collect();
    conditions.try_into().unwrap()
}

#[test]
fn conditions_report_the_state_of_the_jobs() {
    let idle = || outcome(Run::NotDue);
    let good = || ended(job("good", "10:00"), "Complete");
    let bad = || ended(job("bad", "09:00"), "Failed");
    for (jobs, available, progressing, degraded) in [
        (
            vec![],
            "True AllJobsCompleted",
            "False NoJobsActive",
            "False AsExpected",
        ),
        (
            vec![good()],
            "True AllJobsCompleted",
            "False NoJobsActive",
            "False AsExpected",
        ),
        (
            vec![job("a", "09:00")],
            "True JobsActive",
            "True JobsActive",
            "False AsExpected",
        ),
        (
            vec![bad()],
            "False JobsFailed",
            "False NoJobsActive",
            "True JobsFailed",
        ),
        (
            vec![bad(), job("a", "10:00")],
            "False JobsFailed",
            "True JobsActive",
            "True JobsFailed",
        ),
        // A later success clears a failure.
        (
            vec![bad(), good()],
            "True AllJobsCompleted",
            "False NoJobsActive",
            "False AsExpected",
        ),
    ] {
        assert_eq!(
            conditions_of(jobs, &idle()),
            [
                format!("Available={available}"),
                format!("Progressing={progressing}"),
                format!("Degraded={degraded}"),
            ]
        );
    }
}

#[test]
fn conditions_report_why_a_pod_does_not_run() {
    let mut jobs = Jobs::from(shared([
        job("a", "10:00"),
        ended(job("bad", "09:00"), "Failed"),
    ]));
    jobs.problem = Some(Problem {
        reason: "OOMKilled".to_owned(),
        message: "exit code 137".to_owned(),
    });
    let cronjob = cronjob("0 * * * *", "09:10");

    let status = of(&cronjob, &jobs, &outcome(Run::NotDue), at("10:00"));

    for condition in [&status.conditions[0], &status.conditions[2]] {
        assert_eq!(condition.reason, "OOMKilled");
        assert_eq!(condition.message, "exit code 137");
    }
    assert_eq!(status.conditions[0].status, "False");
    // That a Job cannot be created comes first.
    let status = of(&cronjob, &jobs, &not_created(), at("10:00"));
    assert_eq!(status.conditions[2].reason, CREATION_FAILED);
}

#[test]
fn conditions_report_what_keeps_runs_from_starting() {
    let since = at("09:00");
    for (outcome, available, degraded) in [
        (
            outcome(Run::Suspended),
            "False Suspended",
            "False AsExpected",
        ),
        (
            bad_schedule("often"),
            "False InvalidSchedule",
            "True InvalidSchedule",
        ),
        (
            outcome(Run::Missed { since }),
            "True AllJobsCompleted",
            "True MissedSchedule",
        ),
        (
            outcome(Run::TooManyMissed { since }),
            "False TooManyMissed",
            "True TooManyMissed",
        ),
        (name_taken(), "False JobNameTaken", "True JobNameTaken"),
        (
            not_created(),
            "False JobCreationFailed",
            "True JobCreationFailed",
        ),
    ] {
        let [a, _, d] = conditions_of(vec![], &outcome);
        assert_eq!(a, format!("Available={available}"));
        assert_eq!(d, format!("Degraded={degraded}"));
    }
}

#[test]
fn a_correct_status_does_not_change() {
    let mut cronjob = cronjob("0 * * * *", "09:10");
    let jobs = Jobs::from(shared([job_of_run("a", "10:00")]));
    let idle = outcome(Run::NotDue);
    cronjob.status = Some(of(&cronjob, &jobs, &idle, at("10:00")));

    let later = of(&cronjob, &jobs, &idle, at("10:30"));

    assert_eq!(Some(later), cronjob.status);
}

#[test]
fn a_rejection_in_other_words_is_no_change() {
    let mut cronjob = cronjob("0 * * * *", "09:10");
    let refused = |words: &str| Outcome {
        job: Err(Error::Create {
            name: words.to_owned(),
            reason: kube::Error::LinesCodecMaxLineLengthExceeded,
        }),
        ..not_created()
    };
    let jobs = Jobs::default();
    cronjob.status = Some(of(&cronjob, &jobs, &refused("first"), at("10:00")));

    let again = of(&cronjob, &jobs, &refused("second"), at("10:01"));
    assert_eq!(Some(again), cronjob.status);

    // With another spec it is a new rejection.
    cronjob.metadata.generation = Some(2);
    let status = of(&cronjob, &jobs, &refused("third"), at("10:02"));
    assert!(status.conditions[2].message.contains("third"));
    assert_eq!(status.observed_generation, Some(2));
    assert_eq!(status.conditions[2].observed_generation, Some(2));
}

#[test]
fn a_condition_records_since_when_it_holds() {
    let mut cronjob = cronjob("0 * * * *", "09:10");
    let idle = outcome(Run::NotDue);
    cronjob.status = Some(of(&cronjob, &Jobs::default(), &idle, at("10:00")));

    let jobs = Jobs::from(shared([job("a", "10:30")]));
    let status = of(&cronjob, &jobs, &idle, at("10:30"));

    let since = |nth: usize| status.conditions[nth].last_transition_time.0;
    assert_eq!([since(0), since(1)], [at("10:00"), at("10:30")]);
}

#[test]
fn the_last_run_is_the_latest_known_run() {
    let mut cronjob = cronjob("0 * * * *", "09:10");
    set_last_run(&mut cronjob, "11:00");
    let last = |jobs: Vec<Job>, outcome: &Outcome| {
        let status = of(&cronjob, &shared(jobs).into(), outcome, at("13:10"));
        status.last_schedule_time.unwrap().0
    };
    let idle = outcome(Run::NotDue);

    assert_eq!(last(vec![], &idle), at("11:00"));
    assert_eq!(last(vec![job_of_run("a", "10:00")], &idle), at("11:00"));
    assert_eq!(last(vec![job_of_run("a", "12:00")], &idle), at("12:00"));
    assert_eq!(last(vec![], &started("13:00", vec![])), at("13:00"));
    // A Job that could not be created is not a run, nor is one that somebody else created.
    assert_eq!(last(vec![], &not_created()), at("11:00"));
    assert_eq!(last(vec![], &name_taken()), at("11:00"));
    // Nor is a run in the future.
    assert_eq!(last(vec![job_of_run("a", "14:00")], &idle), at("11:00"));
}

#[test]
fn times_in_the_future_are_corrected() {
    let mut cronjob = cronjob("0 * * * *", "09:10");
    let idle = outcome(Run::NotDue);
    let mut ahead = of(&cronjob, &Jobs::default(), &idle, at("11:30"));
    ahead.last_schedule_time = Some(Time(at("11:00")));
    cronjob.status = Some(ahead);

    let status = of(&cronjob, &Jobs::default(), &idle, at("10:30"));

    assert_eq!(status.last_schedule_time, Some(Time(at("10:30"))));
    let since = status.conditions.iter().map(|c| c.last_transition_time.0);
    assert_eq!(since.collect::<Vec<_>>(), [at("10:30"); 3]);
    // Only once.
    cronjob.status = Some(status.clone());
    let later = of(&cronjob, &Jobs::default(), &idle, at("10:31"));
    assert_eq!(later, status);
}

#[test]
fn the_status_lists_the_ten_newest_active_jobs() {
    let jobs = (10..22).map(|minute| job(&format!("job-{minute}"), &format!("10:{minute}")));
    let jobs = Jobs::from(shared(jobs));

    let status = of(
        &cronjob("0 * * * *", "09:10"),
        &jobs,
        &outcome(Run::NotDue),
        at("11:00"),
    );

    let names: Vec<_> = status
        .active
        .iter()
        .filter_map(|job| job.name.clone())
        .collect();
    assert_eq!(
        names,
        (12..22)
            .map(|minute| format!("job-{minute}"))
            .collect::<Vec<_>>()
    );
    assert_eq!(status.active[0].kind.as_deref(), Some("Job"));
}

#[test]
fn long_messages_are_truncated() {
    let outcome = bad_schedule(&"x".repeat(10_000));

    let status = of(
        &cronjob("0 * * * *", "09:10"),
        &Jobs::default(),
        &outcome,
        at("10:00"),
    );

    assert_eq!(status.conditions[2].message.len(), LONGEST_MESSAGE);
}

#[test]
fn conditions_of_others_are_left_alone() {
    let mut cronjob = cronjob("0 * * * *", "09:10");
    let idle = outcome(Run::NotDue);
    let mut before = of(&cronjob, &Jobs::default(), &idle, at("10:00"));
    let written = before.clone();
    before.conditions[0].type_ = "Approved".to_owned();
    before.conditions.push(written.conditions[0].clone());
    cronjob.status = Some(before);

    let status = of(&cronjob, &Jobs::default(), &idle, at("10:00"));

    let types = |status: &CronJobStatus| {
        let types = status.conditions.iter().map(|c| c.type_.clone());
        types.collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(types(&status), types(&written));
    assert_eq!(status, super::written(&cronjob));
}
