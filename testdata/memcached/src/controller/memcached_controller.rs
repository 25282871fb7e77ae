// Copyright The memcached authors
// SPDX-License-Identifier: Apache-2.0

//! Reconciles `Memcached` objects: each has a Deployment of its image, and a Service in front of that.
//!
//! [`children`] has the objects that it applies, [`status`] what it reports: also the names of the
//! [`pods`], and why they do not run. A Memcached does not own its pods, but a ReplicaSet of its
//! Deployment does: they are found by their labels. [`gauges`] counts all of these.

mod children;
mod gauges;
mod pods;
mod status;

use std::sync::Arc;

use api::v1;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Service};
use kbr_runtime::{Action, Controller, Handle, Manager, OwnedError, Problem};
use kube::runtime::events::EventType;
use kube::runtime::watcher::Config;

/// The kind that this controller reconciles.
type Object = v1::Memcached;

/// The name of the controller in logs and events, and in `managedFields` of what it applies.
const NAME: &str = "memcached";

/// Keeps an object that is being deleted until the cleanup is done.
const FINALIZER: &str = "memcached.cache.example.com/finalizer";

/// Why a reconcile failed. The object is retried with a growing delay.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Owned(#[from] OwnedError),
    #[error(transparent)]
    Kube(#[from] kube::Error),
}

/// Adds this controller to `manager`.
pub fn register(manager: &mut Manager) {
    let pods = manager.cache::<Pod>(None, Config::default().labels(children::PODS));
    // Only the rest is read.
    pods.slim(|pod| pod.spec = None);
    // A change to an owned object or to a pod triggers a reconcile.
    let controller = Controller::new(manager.all())
        .owns(manager.all::<Deployment>())
        .owns(manager.all::<Service>())
        .pods(pods.clone(), children::INSTANCE);
    gauges::register(manager.metrics(), &controller.cache(), &pods);
    manager.add(NAME, controller, reconcile);
}

// +kbr:rbac:groups=memcached.cache.example.com,resources=memcacheds,verbs=list;watch;patch
// +kbr:rbac:groups=memcached.cache.example.com,resources=memcacheds/status,verbs=patch
// +kbr:rbac:groups=memcached.cache.example.com,resources=memcacheds/finalizers,verbs=update
// +kbr:rbac:groups=apps,resources=deployments,verbs=list;watch;create;patch;delete
// +kbr:rbac:groups="",resources=pods,verbs=list;watch
// +kbr:rbac:groups="",resources=services,verbs=list;watch;create;patch
// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

/// Moves the cluster toward the spec of `object`, or cleans up after it; runs again after every
/// change to the object, to what it owns, and to its pods.
async fn reconcile(object: Handle<Object>) -> Result<Action, Error> {
    object
        .finalizer(FINALIZER, apply(&object), clean_up(&object))
        .await
}

/// Applies the objects that `object` owns, and reports the result in the status.
async fn apply(object: &Handle<Object>) -> Result<Action, Error> {
    let applied = apply_children(object).await;
    let problem = applied.as_ref().err().and_then(status::problem);
    if applied.is_ok() || problem.is_some() {
        report(object, problem).await?;
    }
    match applied {
        // No retry is needed: the object is reconciled when the name is free.
        Ok(()) | Err(OwnedError::NameTaken { .. }) => Ok(Action::await_change()),
        Err(error) => Err(error.into()),
    }
}

async fn apply_children(object: &Handle<Object>) -> Result<(), OwnedError> {
    let applied = object.apply(&children::deployment(object)).await?;
    // A Deployment under another name is from an earlier release of this operator.
    object.prune(&[applied]).await?;
    object.apply(&children::service(object)).await?;
    Ok(())
}

/// Writes the status if it changed, and publishes an event about a new problem.
async fn report(object: &Handle<Object>, problem: Option<Problem>) -> Result<(), Error> {
    let (owned, pods) = (object.owned::<Deployment>()?, object.pods()?);
    let deployment = owned.first().map(Arc::as_ref);
    let problem = problem.or_else(|| Problem::of_deployment(deployment?, &pods));
    let names = pods::names(&pods);
    let new = status::of(object, deployment, names, problem, object.now());
    let old = object.status.as_ref().and_then(status::degraded);
    if object.apply_status(&new).await?
        && let Some(new) = status::degraded(&new)
        && old.is_none_or(|old| old.reason != new.reason)
    {
        let (reason, note) = (&new.reason, &new.message);
        object.event(EventType::Warning, reason, note);
    }
    Ok(())
}

/// Cleans up after `object`, before it is deleted. May run more than once.
async fn clean_up(object: &Handle<Object>) -> Result<(), Error> {
    // Clean up here what Kubernetes does not know about, such as a record in another system.
    // Kubernetes itself deletes what the object owns.
    let note = "The objects that it owns are deleted after it";
    object.event(EventType::Normal, "Deleting", note);
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Object;

    /// An object with the defaults of its schema.
    pub fn object(generation: i64) -> Object {
        let object = json!({
            "apiVersion": "",
            "kind": "",
            "metadata": { "name": "sample", "namespace": "default", "generation": generation },
            "spec": {},
        });
        serde_json::from_value(object).unwrap()
    }
}
