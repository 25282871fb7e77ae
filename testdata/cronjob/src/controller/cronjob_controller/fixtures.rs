// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The CronJobs and Jobs of the unit tests, and their outcomes.

use std::sync::Arc;

use api::v1::{CronJob, CronJobSpec};
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{Job, JobCondition, JobStatus, JobTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::decision::Run;
use super::jobs::SCHEDULED_AT;
use super::status::Outcome;
use crate::schedule::Schedule;

/// A time in RFC 3339 format, or on Monday, 2 March 2026, in UTC, such as `10:00` or `10:00:30`.
pub fn at(time: &str) -> Timestamp {
    match time.len() {
        5 => format!("2026-03-02T{time}:00Z").parse().unwrap(),
        8 => format!("2026-03-02T{time}Z").parse().unwrap(),
        _ => time.parse().unwrap(),
    }
}

/// A CronJob with the given schedule and creation time.
pub fn cronjob(schedule: &str, created: &str) -> CronJob {
    let spec = CronJobSpec {
        schedule: schedule.to_owned(),
        job_template: JobTemplateSpec::default(),
        ..CronJobSpec::default()
    };
    let mut cronjob = CronJob::new("sample", spec);
    cronjob.metadata.namespace = Some("default".to_owned());
    cronjob.metadata.uid = Some("1234".to_owned());
    cronjob.metadata.generation = Some(1);
    cronjob.metadata.creation_timestamp = Some(Time(at(created)));
    cronjob
}

/// Records a run in the status.
pub fn set_last_run(cronjob: &mut CronJob, time: &str) {
    let status = cronjob.status.get_or_insert_default();
    status.last_schedule_time = Some(Time(at(time)));
}

/// An active Job of the given name and start time that belongs to no run.
pub fn job(name: &str, started: &str) -> Job {
    let mut job = Job::default();
    job.metadata.name = Some(name.to_owned());
    job.metadata.namespace = Some("default".to_owned());
    job.status = Some(JobStatus {
        start_time: Some(Time(at(started))),
        ..JobStatus::default()
    });
    job
}

/// An active Job for the run at the given time.
pub fn job_of_run(name: &str, run: &str) -> Job {
    let mut job = job(name, run);
    let annotations = job.metadata.annotations.get_or_insert_default();
    annotations.insert(SCHEDULED_AT.to_owned(), at(run).to_string());
    job
}

/// The Job with the given condition: `Complete` or `Failed`.
pub fn ended(mut job: Job, condition: &str) -> Job {
    let status = job.status.get_or_insert_default();
    status.conditions = Some(vec![JobCondition {
        type_: condition.to_owned(),
        status: "True".to_owned(),
        ..JobCondition::default()
    }]);
    job
}

/// The Job, being deleted.
pub fn being_deleted(mut job: Job) -> Job {
    job.metadata.deletion_timestamp = Some(Time(at("12:00")));
    job
}

/// Jobs as the cache returns them.
pub fn shared(jobs: impl IntoIterator<Item = Job>) -> Vec<Arc<Job>> {
    jobs.into_iter().map(Arc::new).collect()
}

/// An outcome without a Job.
pub fn outcome(run: Run) -> Outcome {
    Outcome { run, job: Ok(None) }
}

/// The outcome of an invalid schedule.
pub fn bad_schedule(schedule: &str) -> Outcome {
    outcome(Run::BadSchedule(schedule.parse::<Schedule>().unwrap_err()))
}
