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
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kbr_runtime::{
    Clock, Controller, Expectations, Manager, NotListed, Owned, OwnedError, apply_status,
    is_controlled_by,
};
use kube::api::PostParams;
use kube::core::NamespaceResourceScope;
use kube::runtime::controller::Action;
use kube::runtime::events::{Event, Recorder};
use kube::runtime::watcher::Config;
use kube::{Api, Client, Resource, ResourceExt};

use decision::{Run, decide};
use jobs::Jobs;
use status::Outcome;

/// The kind that this controller reconciles.
type Object = v1::CronJob;

/// The name of the controller in logs and events, and in `managedFields` of what it applies.
const NAME: &str = "cronjob";

/// How long to wait for the watch to catch up.
const A_MOMENT: Duration = Duration::from_secs(1);

/// The ages in seconds at which a CronJob is new: too young for the cache to have missed anything.
const NEW: Range<i64> = 0..10;

/// What each reconcile gets besides the object.
pub struct Context {
    client: Client,
    clock: Clock,
    jobs: Owned<Object, Job>,
    expectations: Expectations<Object>,
}

/// Why a reconcile failed. The object is retried with a growing delay.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    NotListed(#[from] NotListed),
    #[error("could not read the CronJob")]
    Read(#[source] kube::Error),
    #[error("could not create Job {name}")]
    Create {
        name: String,
        #[source]
        reason: kube::Error,
    },
    #[error("Job {name} exists and is not controlled by this CronJob: the run cannot start")]
    NameTaken { name: String },
    #[error(transparent)]
    Delete(#[from] OwnedError),
    #[error("could not write the status")]
    Status(#[source] kube::Error),
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
        self.reason().is_some_and(is_end_of_namespace)
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

/// Whether the API server rejected a create because the namespace is being deleted.
fn is_end_of_namespace(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else {
        return false;
    };
    let mut causes = status.details.iter().flat_map(|details| &details.causes);
    causes.any(|cause| cause.reason == "NamespaceTerminating")
}

/// Adds this controller to `manager`.
pub fn register(manager: &mut Manager) {
    let (client, clock) = (manager.client(), manager.clock());
    // The cache of Jobs leaves out what is large and never read.
    let jobs = Api::<Job>::all(client.clone());
    let jobs = Owned::watch_with(jobs, Config::default(), jobs::slim);
    let controller = Controller::new(Api::<Object>::all(client.clone()), Config::default())
        .owns_cached(&jobs)
        .reconcile_all_on(clock.changes());
    let context = Context {
        client,
        clock,
        jobs,
        expectations: Expectations::default(),
    };
    manager.add(NAME, controller, reconcile, Arc::new(context));
}

// +kbr:rbac:groups=batch.tutorial.kubebuilder.io,resources=cronjobs,verbs=get;list;watch
// +kbr:rbac:groups=batch.tutorial.kubebuilder.io,resources=cronjobs/status,verbs=patch
// +kbr:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;delete
// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create

/// Starts the run that is due, deletes surplus Jobs, and reports both in the status.
///
/// Runs after every change to `object` or one of its Jobs, and when its next run is due.
async fn reconcile(object: Arc<Object>, context: Arc<Context>) -> Result<Action, Error> {
    // 1. Load the CronJob. kube has already done that, but its object may be older than our last
    // write; then the newer one is on its way.
    if object.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    if !context.expectations.satisfied_by(&object) {
        return Ok(Action::requeue(A_MOMENT));
    }
    // 2. List its Jobs: the active, the succeeded and the failed.
    let jobs = Jobs::from(context.jobs.of(&object).await?);
    let now = context.clock.now();
    // 3. 4. 5. Decide which Jobs exceed the history limits, whether the CronJob is suspended, and
    // which run is due.
    let decision = decide(&object, &jobs, now);
    for job in &decision.surplus {
        // A failed deletion does not keep the run from starting.
        if let Err(error) = context.delete(job).await {
            let error = error.message();
            tracing::warn!(error, "a Job beyond the history limits stays");
        }
    }
    // 6. Start the run that is due, and report the outcome.
    let job = match context.is_current(&object, &decision.run).await {
        Ok(true) => context.start(&object, &decision.run).await,
        Ok(false) => return Ok(Action::requeue(A_MOMENT)),
        Err(error) => Err(error),
    };
    if job.as_ref().is_err_and(Error::is_end_of_namespace) {
        return Ok(Action::await_change());
    }
    let run = decision.run;
    let outcome = Outcome { run, job };
    if decision::recorded(&object).is_some_and(|last| decision::is_future(last, now)) {
        tracing::warn!("lastScheduleTime is in the future: a clock was ahead, runs count from now");
    }
    let jobs = Jobs::from(context.jobs.of(&object).await?);
    let status = status::of(&object, &jobs, &outcome, now);
    context.report(&object, &status, &outcome).await?;
    outcome.job?;
    // 7. Requeue for the next run; a change to a Job triggers a reconcile sooner.
    let wait = decision::wait(&outcome.run, decision.next, context.clock.now());
    Ok(wait.map_or_else(Action::await_change, Action::requeue))
}

impl Context {
    /// Whether `run` may start according to the API server: the cache may be stale, and another
    /// operator may have started the run, whose Job may have been deleted since.
    async fn is_current(&self, object: &Object, run: &Run) -> Result<bool, Error> {
        let Run::Start { at, .. } = run else {
            return Ok(true);
        };
        let created = object.creation_timestamp();
        let created = created.map_or(i64::MIN, |Time(created)| created.as_second());
        let age = self.clock.now().as_second().saturating_sub(created);
        if NEW.contains(&age) {
            return Ok(true);
        }
        let api = self.api::<Object>(object);
        let stored = api.get_opt(&object.name_any()).await.map_err(Error::Read)?;
        Ok(stored.is_some_and(|stored| {
            stored.uid() == object.uid()
                && stored.metadata.generation == object.metadata.generation
                && stored.metadata.deletion_timestamp.is_none()
                && decision::recorded(&stored) < Some(*at)
        }))
    }

    /// Starts `run` if it is a [`Run::Start`]. Returns its Job, unless that already exists.
    async fn start(&self, object: &Object, run: &Run) -> Result<Option<Job>, Error> {
        let Run::Start { at, replaces } = run else {
            return Ok(None);
        };
        for job in replaces {
            self.delete(job).await?;
        }
        let job = jobs::new(object, *at);
        let name = job.name_any();
        let api = self.api::<Job>(object);
        match api.create(&PostParams::default(), &job).await {
            Ok(mut job) => {
                tracing::info!(job = name, "started");
                jobs::slim(&mut job);
                self.jobs.insert(job.clone());
                Ok(Some(job))
            }
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                match api.get(&name).await {
                    // The cache did not have it yet: the run has started.
                    Ok(mut job) if is_controlled_by(&job, object) => {
                        jobs::slim(&mut job);
                        self.jobs.insert(job);
                        Ok(None)
                    }
                    Ok(_) => Err(Error::NameTaken { name }),
                    Err(reason) => Err(Error::Create { name, reason }),
                }
            }
            Err(reason) => Err(Error::Create { name, reason }),
        }
    }

    /// Deletes a Job; its pods are deleted after it.
    async fn delete(&self, job: &Job) -> Result<(), Error> {
        self.jobs.delete(&self.api(job), job).await?;
        tracing::info!(job = job.name_any(), "deleted");
        Ok(())
    }

    /// Writes `status` if it is new, and publishes events about what has happened.
    async fn report(
        &self,
        object: &Object,
        status: &v1::CronJobStatus,
        outcome: &Outcome,
    ) -> Result<(), Error> {
        let run = events::of_run(outcome);
        if status::written(object) == *status {
            self.publish(object, &run).await;
            return Ok(());
        }
        // At the same time: the Job exists, whether or not the status can be written.
        let (written, ()) = tokio::join!(
            self.apply_status(object, status),
            self.publish(object, &run)
        );
        written?;
        // Only now: a change that could not be written is still new at the next attempt.
        let changes = events::of_changes(object, status);
        self.publish(object, &changes).await;
        Ok(())
    }

    /// Applies `status`, unless `object` has changed since it was read: then the server responds
    /// with 409 Conflict and the retry sees the newer object.
    async fn apply_status(&self, object: &Object, status: &v1::CronJobStatus) -> Result<(), Error> {
        let api = self.api::<Object>(object);
        let written = apply_status(&api, object, NAME, status).await;
        self.expectations.expect(&written.map_err(Error::Status)?);
        Ok(())
    }

    /// Publishes `events` about `object`. A failure is only logged: nothing depends on events.
    async fn publish(&self, object: &Object, events: &[Event]) {
        for event in events {
            // A new recorder each time: a shared one would count a new note as a repetition of the
            // first, and what the status already says is not reported again anyway.
            let recorder = Recorder::new(self.client.clone(), NAME.into());
            match recorder.publish(event, &object.object_ref(&())).await {
                Ok(()) => {}
                Err(error) if is_end_of_namespace(&error) => return,
                Err(error) => {
                    let error = message(&error);
                    tracing::warn!(error, reason = event.reason, "event not published");
                }
            }
        }
    }

    /// The objects of kind `K` in the namespace of `object`.
    fn api<K>(&self, object: &impl Resource) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        let namespace = object.meta().namespace.clone().unwrap_or_default();
        Api::namespaced(self.client.clone(), &namespace)
    }
}
