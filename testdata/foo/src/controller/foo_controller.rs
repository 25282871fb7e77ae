// Copyright The foo authors
// SPDX-License-Identifier: Apache-2.0

//! Reconciles `Foo` objects: each has the Deployment that its spec names, and never one of somebody else.
//!
//! [`deployment`] defines the desired Deployment, and [`status`] what is reported about it.

mod deployment;
mod status;

use std::sync::Arc;

use api::v1alpha1;
use k8s_openapi::api::apps::v1::Deployment;
use kbr_runtime::{Clock, Controller, Manager, NotListed, Owned, OwnedError, apply_status};
use kube::core::NamespaceResourceScope;
use kube::runtime::controller::Action;
use kube::runtime::events::{Event, Recorder};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Config;
use kube::{Api, Client, Resource, ResourceExt};

use status::Outcome;

/// The kind that this controller reconciles.
type Object = v1alpha1::Foo;

/// The name of the controller in logs and events, and in `managedFields` of what it applies.
const NAME: &str = "foo";

/// How many Foos are reconciled at once.
const WORKERS: u16 = 2;

/// What each reconcile gets besides the object.
pub struct Context {
    client: Client,
    clock: Clock,
    recorder: Recorder,
    deployments: Owned<Object, Deployment>,
}

/// Why a reconcile failed. The object is retried with a growing delay.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Deployment(#[from] OwnedError),
    #[error(transparent)]
    NotListed(#[from] NotListed),
    #[error("could not write the status")]
    Status(#[source] kube::Error),
}

/// Adds this controller to `manager`.
pub fn register(manager: &mut Manager) {
    let (client, clock, recorder) = (manager.client(), manager.clock(), manager.recorder(NAME));
    let all = Api::<Deployment>::all(client.clone());
    let deployments = Owned::watch(all.clone(), Config::default());
    let controller = Controller::new(Api::<Object>::all(client.clone()), Config::default())
        // A change to a Deployment triggers a reconcile of the Foo that controls it.
        .owns_cached(&deployments)
        // So does a change to any other Deployment of that name: once it is deleted, the name is free.
        .references(all, Config::default(), |foo| {
            [ObjectRef::new(&foo.spec.deployment_name)]
        })
        .concurrency(WORKERS);
    let context = Context {
        client,
        clock,
        recorder,
        deployments,
    };
    manager.add(NAME, controller, reconcile, Arc::new(context));
}

// +kbr:rbac:groups=samplecontroller.example.com,resources=foos,verbs=list;watch
// +kbr:rbac:groups=samplecontroller.example.com,resources=foos/status,verbs=patch
// +kbr:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

/// Applies the desired Deployment of `object`, deletes those of earlier names, and reports the result.
///
/// Runs after every change to `object`, to its Deployments, and to the one that has the name.
async fn reconcile(object: Arc<Object>, context: Arc<Context>) -> Result<Action, Error> {
    if object.metadata.deletion_timestamp.is_some() {
        // Kubernetes deletes what the object controls.
        return Ok(Action::await_change());
    }
    let api = context.api::<Deployment>(&object);
    let desired = deployment::of(&object);
    let deployments = &context.deployments;
    let outcome = match deployments.apply(&api, &object, NAME, &desired).await {
        Ok(applied) => {
            for old in deployments.prune(&api, &object, &[applied]).await? {
                tracing::info!(deployment = old.name_any(), "deleted: the name has changed");
            }
            Outcome::Synced
        }
        // No retry is needed: the watch reports when that Deployment is deleted.
        Err(OwnedError::NameTaken { .. }) => Outcome::NameTaken,
        Err(error) => return Err(error.into()),
    };
    let owned = deployments.of(&object).await?;
    let status = status::of(&object, &owned, outcome, context.clock.now());
    if status::written(&object) != status {
        let api = context.api::<Object>(&object);
        let written = apply_status(&api, &object, NAME, &status).await;
        written.map_err(Error::Status)?;
        // Only now: what could not be written is still new at the next attempt.
        if let Some(event) = status::event(&object, &status) {
            context.publish(&object, &event).await;
        }
    }
    Ok(Action::await_change())
}

impl Context {
    /// Publishes an event about `object`. Nothing fails if that fails.
    async fn publish(&self, object: &Object, event: &Event) {
        let reference = object.object_ref(&());
        if let Err(error) = self.recorder.publish(event, &reference).await {
            tracing::warn!(%error, reason = event.reason, "event not published");
        }
    }

    /// The objects of kind `K` in the namespace of `object`.
    fn api<K>(&self, object: &Object) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        let namespace = object.namespace().unwrap_or_default();
        Api::namespaced(self.client.clone(), &namespace)
    }
}
