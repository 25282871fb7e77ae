// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! Reconciles `CronJob` objects.
//!
//! A reconcile has seven steps, numbered in [`reconcile`]. [`decision`] decides what to do, without
//! a server; [`status`] and [`events`] report the result.

mod decision;
mod events;
#[cfg(test)]
mod fixtures;
mod jobs;
mod status;

use std::error::Error as _;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use api::v1;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kbr_runtime::{Action, Controller, Handle, Manager, OwnedError, Problem};
use kube::ResourceExt;
use kube::runtime::watcher::Config;

use decision::{Run, decide};
use jobs::Jobs;
use status::Outcome;

/// The kind that this controller reconciles.
type Object = v1::CronJob;

/// The name of the controller in logs and events, and in `managedFields` of what it applies.
const NAME: &str = "cronjob";

/// How many CronJobs are reconciled at the same time, as in kube-controller-manager: many are due in the same second.
const WORKERS: u16 = 5;

/// How long to wait for the watch to catch up.
const A_MOMENT: Duration = Duration::from_secs(1);

/// The ages at which a CronJob is new: too young for the cache to have missed anything.
const NEW: Range<SignedDuration> = SignedDuration::ZERO..SignedDuration::from_secs(10);

/// Why a reconcile failed. The object is retried with a growing delay.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not read the CronJob")]
    Read(#[source] kube::Error),
    #[error("the cache does not show yet what the API server has")]
    Stale,
    #[error("could not create Job {name}")]
    Create {
        name: String,
        #[source]
        reason: kube::Error,
    },
    #[error("Job {name} exists and is not controlled by this CronJob: the run cannot start")]
    NameTaken { name: String },
    #[error(transparent)]
    Job(OwnedError),
    #[error("could not write the status")]
    Status(#[source] kube::Error),
}

impl From<OwnedError> for Error {
    fn from(error: OwnedError) -> Self {
        match error {
            OwnedError::NameTaken { name, .. } => Self::NameTaken { name },
            OwnedError::Apply { reason, .. } if is_already_exists(&reason) => Self::Stale,
            OwnedError::Apply { name, reason, .. } => Self::Create { name, reason },
            error => Self::Job(error),
        }
    }
}

impl Error {
    /// The error and its cause, for a condition or a log line.
    fn message(&self) -> String {
        match self.reason() {
            Some(reason) => format!("{self}: {}", message(reason)),
            None => self.to_string(),
        }
    }

    /// Whether nothing can be created because the namespace of the CronJob is being deleted.
    fn is_end_of_namespace(&self) -> bool {
        let Some(kube::Error::Api(status)) = self.reason() else {
            return false;
        };
        let mut causes = status.details.iter().flat_map(|details| &details.causes);
        causes.any(|cause| cause.reason == "NamespaceTerminating")
    }

    fn reason(&self) -> Option<&kube::Error> {
        self.source()?.downcast_ref()
    }
}

/// The message of the API server, or the root cause if there was no response.
fn message(error: &kube::Error) -> String {
    if let kube::Error::Api(status) = error {
        return status.message.clone();
    }
    let mut root: &dyn std::error::Error = error;
    while let Some(cause) = root.source() {
        root = cause;
    }
    root.to_string()
}

/// Whether the API server rejected a create because it has an object of that name.
fn is_already_exists(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_already_exists())
}

/// Adds this controller to `manager`.
pub fn register(manager: &mut Manager) {
    let jobs = manager.all::<Job>();
    // The caches of Jobs and pods leave out what is large and never read.
    jobs.slim(|job| job.spec = None);
    let pods = manager.cache::<Pod>(None, Config::default().labels(jobs::CRONJOB));
    pods.slim(|pod| pod.spec = None);
    let controller = Controller::new(manager.all::<Object>())
        .owns(jobs)
        .pods(pods, jobs::CRONJOB)
        .concurrency(WORKERS)
        .reconcile_all_on(manager.clock().changes());
    manager.add(NAME, controller, reconcile);
}

// +kbr:rbac:groups=batch.tutorial.kubebuilder.io,resources=cronjobs,verbs=get;list;watch
// +kbr:rbac:groups=batch.tutorial.kubebuilder.io,resources=cronjobs/status,verbs=patch
// +kbr:rbac:groups=batch.tutorial.kubebuilder.io,resources=cronjobs/finalizers,verbs=update
// +kbr:rbac:groups=batch,resources=jobs,verbs=list;watch;create;delete
// +kbr:rbac:groups="",resources=pods,verbs=list;watch
// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

/// Starts the run that is due, deletes surplus Jobs, and reports both in the status.
///
/// Runs after every change to `object`, its Jobs or their pods, and when its next run is due.
async fn reconcile(object: Handle<Object>) -> Result<Action, Error> {
    // 1. Load the CronJob. The cache has already done that, and has our last write.
    if object.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    // 2. List its Jobs: the active, the succeeded and the failed.
    let jobs = Jobs::from(object.owned::<Job>()?);
    let time = || decision::time(&object, object.now(), object.server_time());
    let now = time();
    if decision::is_future(now, object.now()) {
        tracing::warn!("the clock of this machine is behind: the API server's time counts");
    }
    // 3. 4. 5. Decide which Jobs exceed the history limits, whether the CronJob is suspended, and
    // which run is due.
    let decision = decide(&object, &jobs, now);
    let is_due = matches!(decision.run, Run::Start { .. });
    let (surplus, next) = (decision.surplus.len(), decision.next);
    tracing::debug!(is_due, surplus, ?next, "decided");
    for job in &decision.surplus {
        // A failed deletion does not keep the run from starting.
        if let Err(error) = object.delete_owned(job.as_ref()).await {
            let error = Error::from(error).message();
            tracing::warn!(error, "a Job beyond the history limits stays");
        }
    }
    // 6. Start the run that is due, and report the outcome.
    let job = start(&object, &decision.run).await;
    match &job {
        Err(Error::Stale) => return Ok(Action::requeue(A_MOMENT)),
        Err(error) if error.is_end_of_namespace() => return Ok(Action::await_change()),
        _ => {}
    }
    let run = decision.run;
    let outcome = Outcome { run, job };
    if decision::recorded(&object).is_some_and(|last| decision::is_future(last, now)) {
        tracing::warn!("lastScheduleTime is in the future: a clock was ahead, runs count from now");
    }
    let mut jobs = Jobs::from(object.owned::<Job>()?);
    jobs.problem = Problem::of_pods(&object.pods()?);
    let status = status::of(&object, &jobs, &outcome, now);
    report(&object, &status, &outcome, &jobs).await?;
    outcome.job?;
    // 7. Requeue for the next run; a change to a Job triggers a reconcile sooner.
    let wait = decision::wait(&outcome.run, decision.next, time());
    Ok(wait.map_or_else(Action::await_change, Action::requeue))
}

/// Starts `run` if it is a [`Run::Start`]. Returns its Job, unless that already exists.
async fn start(object: &Handle<Object>, run: &Run) -> Result<Option<Arc<Job>>, Error> {
    let Run::Start { at, replaces } = run else {
        return Ok(None);
    };
    if !may_start(object, *at).await? {
        return Err(Error::Stale);
    }
    for job in replaces {
        object.delete_owned(job.as_ref()).await?;
    }
    Ok(object.create(&jobs::new(object, *at)).await?)
}

/// Whether the run of the time `at` may start according to the API server.
///
/// The cache has what this process has written, and a new leader lists everything after the Lease of
/// the last one has expired. But the watch may lag behind what others write from then on:
///
/// - Another process has started the run and recorded it, and its Job was deleted since, so that its
///   name is free. It may be an operator without leader election, or the last request of the former
///   leader, which may arrive late.
/// - Somebody has suspended, changed, deleted or recreated the CronJob.
///
/// A single check after the start of the process would not find these. The time between this read and
/// the creation of the Job remains: no request can be conditional on another object.
async fn may_start(object: &Handle<Object>, at: Timestamp) -> Result<bool, Error> {
    let created = object.creation_timestamp();
    let age = created.map(|created| object.now().duration_since(created.0));
    if age.is_some_and(|age| NEW.contains(&age)) {
        return Ok(true);
    }
    let stored = object.api::<Object>().get_opt(&object.name_any()).await;
    Ok(stored.map_err(Error::Read)?.is_some_and(|stored| {
        stored.uid() == object.uid()
            && stored.metadata.generation == object.metadata.generation
            && stored.metadata.deletion_timestamp.is_none()
            && decision::recorded(&stored) < Some(at)
    }))
}

/// Writes `status` if it is new, and publishes events about what has happened.
async fn report(
    object: &Handle<Object>,
    status: &v1::CronJobStatus,
    outcome: &Outcome,
    jobs: &Jobs,
) -> Result<(), Error> {
    // First: the Job exists, whether or not the status can be written.
    for event in events::of_run(outcome) {
        object.publish(event);
    }
    object.apply_status(status).await.map_err(Error::Status)?;
    // Only now: a change that could not be written is still new at the next attempt.
    for event in events::of_changes(object, status, jobs) {
        object.publish(event);
    }
    Ok(())
}
