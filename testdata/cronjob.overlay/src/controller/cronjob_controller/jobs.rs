// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The Jobs of a CronJob: how a Job is built, and what it records.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use api::v1::CronJob;
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use kbr_runtime::Problem;
use kube::ResourceExt;
use kube::api::ObjectMeta;

/// The annotation of a Job with the time of the run that it was started for, in RFC 3339 format.
///
/// Only what is written survives a restart: the Jobs record which runs have started.
pub const SCHEDULED_AT: &str = "batch.tutorial.kubebuilder.io/scheduled-at";

/// The label of a pod with the name of its CronJob.
pub const CRONJOB: &str = "batch.tutorial.kubebuilder.io/cronjob";

/// The Jobs that a CronJob owns, each list sorted from the oldest to the newest.
#[derive(Clone, Debug, Default)]
pub struct Jobs {
    /// Those that have neither succeeded nor failed yet, including those being deleted.
    pub active: Vec<Arc<Job>>,
    pub succeeded: Vec<Arc<Job>>,
    pub failed: Vec<Arc<Job>>,
    /// What keeps a pod of theirs from running.
    pub problem: Option<Problem>,
}

impl From<Vec<Arc<Job>>> for Jobs {
    fn from(mut all: Vec<Arc<Job>>) -> Self {
        all.sort_by_cached_key(|job| (started(job), job.name_any()));
        let mut jobs = Self::default();
        for job in all {
            let list = if has_condition(&job, "Complete") {
                &mut jobs.succeeded
            } else if has_condition(&job, "Failed") {
                &mut jobs.failed
            } else {
                &mut jobs.active
            };
            list.push(job);
        }
        jobs
    }
}

impl Jobs {
    /// The times of the runs that have a Job.
    pub fn runs(&self) -> impl Iterator<Item = Timestamp> {
        let finished = self.succeeded.iter().chain(&self.failed);
        let all = self.active.iter().chain(finished);
        all.filter_map(|job| scheduled_at(job))
    }

    /// The newest Job that has ended, if it failed. `last_run` is the time of the latest run: its Job
    /// may have succeeded and been deleted.
    pub fn last_failed(&self, last_run: Option<Timestamp>) -> Option<&Job> {
        let failed = self.failed.last()?;
        let succeeded = self.succeeded.last();
        if succeeded.is_some_and(|succeeded| started(succeeded) >= started(failed)) {
            return None;
        }
        let run = scheduled_at(failed);
        let mut active = self.active.iter().map(|job| scheduled_at(job));
        let is_last = run.is_none() || run >= last_run || active.any(|run| run == last_run);
        is_last.then_some(&**failed)
    }
}

/// Builds the Job for the run of `cronjob` at the time `at`.
///
/// The name depends only on these two, so that no run has two Jobs, however often it is started.
pub fn new(cronjob: &CronJob, at: Timestamp) -> Job {
    let template = cronjob.spec.job_template.clone();
    let metadata = template.metadata.unwrap_or_default();
    let mut annotations = metadata.annotations.unwrap_or_default();
    annotations.insert(SCHEDULED_AT.to_owned(), at.to_string());
    let mut spec = template.spec;
    if let Some(spec) = &mut spec {
        let pod = spec.template.metadata.get_or_insert_default();
        let labels = pod.labels.get_or_insert_default();
        labels.insert(CRONJOB.to_owned(), cronjob.name_any());
    }
    Job {
        metadata: ObjectMeta {
            name: Some(name(cronjob, at)),
            namespace: cronjob.namespace(),
            labels: metadata.labels,
            annotations: Some(annotations),
            ..ObjectMeta::default()
        },
        spec,
        status: None,
    }
}

/// The name of the Job for the run of `cronjob` at the time `at`.
pub fn name(cronjob: &CronJob, at: Timestamp) -> String {
    format!("{}-{}", cronjob.name_any(), at.as_second())
}

/// The time of the run that the Job was started for; Jobs that users create may have none.
pub fn scheduled_at(job: &Job) -> Option<Timestamp> {
    let time: Timestamp = job.annotations().get(SCHEDULED_AT)?.parse().ok()?;
    // As in the status, which has whole seconds.
    Timestamp::from_second(time.as_second()).ok()
}

/// When the Job was started by the Job controller, or until then, when it was created.
fn started(job: &Job) -> Option<Timestamp> {
    let status = job.status.as_ref();
    let started = status.and_then(|status| status.start_time.as_ref());
    started
        .or(job.metadata.creation_timestamp.as_ref())
        .map(|time| time.0)
}

fn has_condition(job: &Job, type_: &str) -> bool {
    let conditions = job.status.iter().flat_map(|status| &status.conditions);
    let mut conditions = conditions.flatten();
    conditions.any(|condition| condition.type_ == type_ && condition.status == "True")
}
