// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

use k8s_openapi::api::batch::v1::JobSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;
use crate::controller::cronjob_controller::fixtures::{
    at, cronjob, ended, job, job_of_run, shared,
};

fn names(jobs: &[Arc<Job>]) -> Vec<String> {
    jobs.iter().map(|job| job.name_any()).collect()
}

#[test]
fn jobs_are_split_and_sorted_by_age_then_name() {
    let mut waiting = job("waiting", "10:00");
    waiting.status = None;
    waiting.metadata.creation_timestamp = Some(Time(at("09:30")));
    let mut late = job("late", "10:30");
    late.metadata.creation_timestamp = Some(Time(at("08:00")));
    let mut not_complete = ended(job("not-complete", "11:00"), "Complete");
    let status = not_complete.status.as_mut().unwrap();
    status.conditions.as_mut().unwrap()[0].status = "False".to_owned();
    let jobs = Jobs::from(shared([
        late,
        job("b", "10:00"),
        job("a", "10:00"),
        waiting,
        not_complete,
        ended(job("good", "08:00"), "Complete"),
        ended(job("bad", "08:00"), "Failed"),
        ended(job("suspended", "12:00"), "Suspended"),
    ]));

    let active = ["waiting", "a", "b", "late", "not-complete", "suspended"];
    assert_eq!(names(&jobs.active), active);
    assert_eq!(names(&jobs.succeeded), ["good"]);
    assert_eq!(names(&jobs.failed), ["bad"]);
}

#[test]
fn every_job_records_its_run_to_the_second() {
    for state in ["", "Complete", "Failed"] {
        let mut job = ended(job_of_run("a", "2026-03-02T10:00:00.5Z"), state);
        let jobs = Jobs::from(shared([job.clone(), job_of_run("old", "09:00")]));
        assert_eq!(jobs.runs().max(), Some(at("10:00")), "{state}");

        let annotations = job.metadata.annotations.as_mut().unwrap();
        annotations.insert(SCHEDULED_AT.to_owned(), "yesterday".to_owned());
        assert_eq!(Jobs::from(shared([job])).runs().max(), None);
    }
}

#[test]
fn a_failure_counts_until_a_later_run_has_succeeded() {
    let failed = || ended(job_of_run("bad", "10:00"), "Failed");
    let counts = |others: Vec<Job>, last_run: &str| {
        let jobs = Jobs::from(shared(others.into_iter().chain([failed()])));
        jobs.last_failed(Some(at(last_run))).is_some()
    };

    assert!(counts(vec![], "10:00"));
    assert!(counts(
        vec![ended(job_of_run("good", "09:00"), "Complete")],
        "10:00"
    ));
    assert!(counts(vec![job_of_run("active", "11:00")], "11:00"));
    assert!(!counts(
        vec![ended(job_of_run("good", "11:00"), "Complete")],
        "11:00"
    ));
    // It succeeded and was deleted.
    assert!(!counts(vec![], "11:00"));
    // Of two Jobs of the same second, the successful one counts.
    assert!(!counts(
        vec![ended(job_of_run("good", "10:00"), "Complete")],
        "10:00"
    ));
}

#[test]
fn a_job_is_named_after_its_run_and_follows_the_template() {
    let mut cronjob = cronjob("0 * * * *", "09:10");
    let metadata = cronjob.spec.job_template.metadata.get_or_insert_default();
    let labels = metadata.labels.get_or_insert_default();
    labels.insert("team".to_owned(), "blue".to_owned());
    cronjob.spec.job_template.spec = Some(JobSpec::default());
    let metadata = cronjob.spec.job_template.metadata.get_or_insert_default();
    let annotations = metadata.annotations.get_or_insert_default();
    annotations.insert("note".to_owned(), "kept".to_owned());
    // The template cannot change the time of the run.
    annotations.insert(SCHEDULED_AT.to_owned(), at("08:00").to_string());

    let job = new(&cronjob, at("10:00"));

    assert_eq!(job.name_any(), "sample-1772445600");
    assert_eq!(job.namespace().as_deref(), Some("default"));
    assert_eq!(job.labels()["team"], "blue");
    assert_eq!(job.annotations()["note"], "kept");
    assert_eq!(scheduled_at(&job), Some(at("10:00")));
    let pod = job.spec.unwrap().template.metadata.unwrap();
    assert_eq!(pod.labels.unwrap()[CRONJOB], "sample");
}
