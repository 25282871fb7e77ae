// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! Reconciles `CronJob` objects.
//!
//! One reconcile goes through seven steps, which [`reconcile`] numbers. What is to be done is
//! decided in [`decision`], without a server; what is told afterwards is in [`status`] and [`events`].

mod decision;
mod events;
#[cfg(test)]
mod fixtures;
mod jobs;
mod status;

use std::sync::Arc;

use api::v1;
use k8s_openapi::api::batch::v1::Job;
use kbr_runtime::{Clock, Controller, Expectations, Manager, NotListed, Owned, apply_status};
use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::runtime::controller::Action;
use kube::runtime::events::{Event, Recorder};
use kube::runtime::watcher::Config;
use kube::{Api, Client, Resource, ResourceExt};

use decision::{Run, decide};
use jobs::Jobs;
use status::Outcome;

/// The kind that this controller reconciles.
type Object = v1::CronJob;

/// Names the controller in logs and events, and in `managedFields` of what it applies.
const NAME: &str = "cronjob";

/// What every reconcile is given besides the object.
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
    #[error("could not create Job {name}: {}", message(.reason))]
    Create { name: String, reason: kube::Error },
    #[error("could not delete Job {name}: {}", message(.reason))]
    Delete { name: String, reason: kube::Error },
    #[error("could not write the status: {}", message(.0))]
    Status(kube::Error),
}

/// What the API server says, or why it says nothing.
fn message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}

/// Adds this controller to `manager`.
pub fn register(manager: &mut Manager) {
    let (client, clock) = (manager.client(), manager.clock());
    // The cache of Jobs keeps nothing that is large and never read.
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

// +kbr:rbac:groups=batch.tutorial.kubebuilder.io,resources=cronjobs,verbs=list;watch
// +kbr:rbac:groups=batch.tutorial.kubebuilder.io,resources=cronjobs/status,verbs=patch
// +kbr:rbac:groups=batch,resources=jobs,verbs=list;watch;create;delete
// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create

/// Starts the run that is due, deletes the Jobs that are one too many, and says so in the status.
///
/// Runs after every change of `object` or one of its Jobs, and when its next run is due.
async fn reconcile(object: Arc<Object>, context: Arc<Context>) -> Result<Action, Error> {
    // 1. Load the CronJob. kube has done that; what it knows may be older than what was written
    // here last, and then the newer one is on its way.
    let is_behind = !context.expectations.satisfied_by(&object);
    if is_behind || object.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    // 2. List its Jobs: the active, the succeeded and the failed.
    let jobs = Jobs::from(context.jobs.of(&object).await?);
    let now = context.clock.now();
    // 3. 4. 5. Decide which Jobs the history limits leave no room for, whether the CronJob is
    // suspended, and which run is due.
    let decision = decide(&object, &jobs, now);
    for job in &decision.surplus {
        // What cannot be deleted keeps no run from starting.
        if let Err(error) = context.delete(job).await {
            tracing::warn!(error = %error, "a Job beyond the history limits stays");
        }
    }
    // 6. Start the run that is due, and tell what became of it.
    let outcome = Outcome {
        job: context.start(&object, &decision.run).await,
        run: decision.run,
    };
    let jobs = Jobs::from(context.jobs.of(&object).await?);
    let status = status::of(&object, &jobs, &outcome, now);
    context.tell(&object, &status, &outcome).await?;
    outcome.job?;
    // 7. Come back for the next run; a Job that changes brings us back before.
    Ok(decision.next.map_or_else(Action::await_change, |next| {
        let wait = next.duration_since(context.clock.now());
        Action::requeue(wait.try_into().unwrap_or_default())
    }))
}

impl Context {
    /// Starts `run`, if it is one that starts. Returns its Job, unless that exists already.
    async fn start(&self, object: &Object, run: &Run) -> Result<Option<Job>, Error> {
        let Run::Start { at, replaces } = run else {
            return Ok(None);
        };
        for job in replaces {
            self.delete(job).await?;
        }
        let job = jobs::new(object, *at);
        match self
            .jobs_api(object)
            .create(&PostParams::default(), &job)
            .await
        {
            Ok(mut job) => {
                tracing::info!(job = job.name_any(), "started");
                jobs::slim(&mut job);
                self.jobs.insert(job.clone());
                Ok(Some(job))
            }
            // The cache did not show it yet: the run has started.
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(None),
            Err(reason) => Err(Error::Create {
                name: job.name_any(),
                reason,
            }),
        }
    }

    /// Deletes a Job, and its pods after it.
    async fn delete(&self, job: &Job) -> Result<(), Error> {
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: job.uid(),
                ..Preconditions::default()
            }),
            ..DeleteParams::background()
        };
        let name = job.name_any();
        match self.jobs_api(job).delete(&name, &params).await {
            Ok(_) => tracing::info!(job = name, "deleted"),
            // It is gone, or another has its name.
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => {}
            Err(reason) => return Err(Error::Delete { name, reason }),
        }
        self.jobs.remove(job);
        Ok(())
    }

    /// Writes `status` if it is new, and the events of what has happened.
    async fn tell(
        &self,
        object: &Object,
        status: &v1::CronJobStatus,
        outcome: &Outcome,
    ) -> Result<(), Error> {
        self.publish(object, &events::of_run(outcome)).await;
        if status::written(object) != *status {
            self.apply_status(object, status).await?;
            // Not before: a change that could not be written is still new to the next attempt.
            self.publish(object, &events::of_changes(object, status))
                .await;
        }
        Ok(())
    }

    /// Applies `status`, unless `object` has changed since it was read: then the server answers
    /// 409 Conflict and the retry sees the newer object.
    async fn apply_status(&self, object: &Object, status: &v1::CronJobStatus) -> Result<(), Error> {
        let namespace = object.namespace().unwrap_or_default();
        let api = Api::<Object>::namespaced(self.client.clone(), &namespace);
        let written = apply_status(&api, object, NAME, status).await;
        self.expectations.expect(&written.map_err(Error::Status)?);
        Ok(())
    }

    /// Publishes `events` about `object`. They are a courtesy: without them nothing fails.
    async fn publish(&self, object: &Object, events: &[Event]) {
        for event in events {
            // A new one each time: it would count up the first note where there is another, and
            // what is in the status is not told again anyway.
            let recorder = Recorder::new(self.client.clone(), NAME.into());
            if let Err(error) = recorder.publish(event, &object.object_ref(&())).await {
                tracing::warn!(error = %error, reason = event.reason, "event not published");
            }
        }
    }

    /// The Jobs in the namespace of `object`.
    fn jobs_api(&self, object: &impl Resource) -> Api<Job> {
        let namespace = object.meta().namespace.clone().unwrap_or_default();
        Api::namespaced(self.client.clone(), &namespace)
    }
}
