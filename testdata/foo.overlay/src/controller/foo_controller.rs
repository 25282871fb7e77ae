// Copyright The foo authors
// SPDX-License-Identifier: Apache-2.0

//! Reconciles `Foo` objects: each has the Deployment that its spec names, and never one of somebody else.
//!
//! [`deployment`] defines the desired Deployment, and [`status`] what is reported about it and its pods.

mod deployment;
mod status;

use api::v1alpha1;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kbr_runtime::{Action, Controller, Handle, Manager, OwnedError, Problem};
use kube::runtime::events::EventType;
use kube::runtime::watcher::Config;

use status::Outcome;

/// The kind that this controller reconciles.
type Object = v1alpha1::Foo;

/// How many Foos are reconciled at once.
const WORKERS: u16 = 2;

/// Why a reconcile failed. The object is retried with a growing delay.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Deployment(#[from] OwnedError),
    #[error("could not write the status")]
    Status(#[from] kube::Error),
}

/// Adds this controller to `manager`.
pub fn register(manager: &mut Manager) {
    let pods = manager.cache::<Pod>(None, Config::default().labels(deployment::PODS));
    // Only the rest is read.
    pods.slim(|pod| pod.spec = None);
    let controller = Controller::new(manager.all())
        // A change to a Deployment triggers a reconcile of the Foo that controls it, and a change to a pod
        // one of the Foo that its label names.
        .owns(manager.all::<Deployment>())
        .pods(pods, deployment::FOO)
        .concurrency(WORKERS);
    manager.add("foo", controller, reconcile);
}

// +kbr:rbac:groups=samplecontroller.example.com,resources=foos,verbs=list;watch
// +kbr:rbac:groups=samplecontroller.example.com,resources=foos/status,verbs=patch
// +kbr:rbac:groups=samplecontroller.example.com,resources=foos/finalizers,verbs=update
// +kbr:rbac:groups=apps,resources=deployments,verbs=list;watch;create;patch;delete
// +kbr:rbac:groups="",resources=pods,verbs=list;watch
// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

/// Applies the desired Deployment of `foo`, deletes those of earlier names, and reports the result.
///
/// Runs after every change to `foo`, its Deployments and their pods, and when a name that was taken is free.
async fn reconcile(foo: Handle<Object>) -> Result<Action, Error> {
    if foo.metadata.deletion_timestamp.is_some() {
        // Kubernetes deletes what the object controls.
        return Ok(Action::await_change());
    }
    let applied = foo.apply(&deployment::of(&foo)).await;
    let (outcome, refused) = match applied {
        Ok(applied) => {
            let problem = Problem::of_deployment(&applied, &foo.pods()?);
            // A Deployment under another name is one that the spec named before.
            foo.prune(&[applied]).await?;
            (Outcome::Synced(problem), None)
        }
        // No retry is needed: the Foo is reconciled when that Deployment is deleted.
        Err(OwnedError::NameTaken { .. }) => (Outcome::NameTaken, None),
        Err(error) => match status::refusal(&error) {
            // Nothing tells when a quota has room again: the Foo is retried.
            Some(why) => (Outcome::Refused(why), Some(error)),
            None => return Err(error.into()),
        },
    };
    tracing::debug!(?outcome, "decided");
    let status = status::of(&foo, &foo.owned()?, outcome, foo.now());
    // The events follow only once the status is written: until then, they are still new at the next attempt.
    if foo.apply_status(&status).await? {
        if let Some(event) = status::event(&foo, &status) {
            foo.publish(event);
        }
        if let Some(problem) = status::new_problem(&foo, &status) {
            let (reason, note) = (&problem.reason, &problem.message);
            foo.event(EventType::Warning, reason, note);
        }
    }
    refused.map_or_else(|| Ok(Action::await_change()), |error| Err(error.into()))
}
