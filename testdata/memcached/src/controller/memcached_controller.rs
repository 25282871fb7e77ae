// Copyright The memcached authors
// SPDX-License-Identifier: Apache-2.0

//! Reconciles `Memcached` objects: each has a Deployment of its image, and a Service in front of that.
//!
//! [`children`] has the objects that it applies, [`status`] what it reports. It does not own the pods, but
//! a ReplicaSet of its Deployment does: [`pods`] finds them by their labels. [`gauges`] counts all of
//! these.

mod children;
mod gauges;
mod pods;
mod status;

use std::sync::Arc;

use api::v1;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use kbr_runtime::{Clock, Controller, Manager, Owned, OwnedError, apply_status};
use kube::core::NamespaceResourceScope;
use kube::runtime::WatchStreamExt;
use kube::runtime::controller::Action;
use kube::runtime::events::{Event, EventType, Recorder};
use kube::runtime::finalizer::{self, finalizer};
use kube::runtime::reflector::store::WriterDropped;
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::watcher::{Config, watcher};
use kube::{Api, Client, Resource, ResourceExt};

use pods::{PodMeta, Pods};

/// The kind that this controller reconciles.
type Object = v1::Memcached;

/// The name of the controller in logs and events, and in `managedFields` of what it applies.
const NAME: &str = "memcached";

/// Keeps an object that is being deleted until the cleanup is done.
const FINALIZER: &str = "memcached.cache.example.com/finalizer";

/// What each reconcile gets besides the object.
pub struct Context {
    client: Client,
    clock: Clock,
    recorder: Recorder,
    deployments: Owned<Object, Deployment>,
    services: Owned<Object, Service>,
    pods: Pods,
}

/// Why a reconcile failed. The object is retried with a growing delay.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the pods are not known")]
    Pods(#[from] WriterDropped),
    #[error(transparent)]
    Owned(#[from] OwnedError),
    #[error("could not write the status")]
    Status(#[source] kube::Error),
}

/// Adds this controller to `manager`.
pub fn register(manager: &mut Manager) {
    let client = manager.client();
    let objects = Api::<Object>::all(client.clone());
    let deployments = Api::<Deployment>::all(client.clone());
    let services = Api::<Service>::all(client.clone());
    let (pods, writer) = reflector::store();
    let labelled = Config::default().labels(children::SELECTOR);
    let changed_pods = watcher(Api::<PodMeta>::all(client.clone()), labelled)
        .reflect(writer)
        .touched_objects();
    let context = Context {
        client,
        clock: manager.clock(),
        recorder: manager.recorder(NAME),
        deployments: Owned::watch(deployments.clone(), Config::default()),
        services: Owned::watch(services.clone(), Config::default()),
        pods: Pods::of(pods),
    };
    // A change to an owned object triggers a reconcile of its owner. So does a change to an
    // object of the same name that is not owned: once it is deleted, the name is free.
    let controller = Controller::new(objects, Config::default())
        .owns_cached(&context.deployments)
        .owns_cached(&context.services)
        .references(deployments, Config::default(), |it| [namesake(it)])
        .references(services, Config::default(), |it| [namesake(it)])
        .watches_stream(changed_pods, |pod| pods::owner(&pod));
    gauges::register(manager.metrics(), &controller.cache(), &context.pods);
    manager.add(NAME, controller, reconcile, Arc::new(context));
}

/// A reference to the object of kind `K` with the name of `object`, which owned objects have too.
fn namesake<K: Resource<DynamicType = ()>>(object: &Object) -> ObjectRef<K> {
    ObjectRef::new(&object.name_any())
}

// +kbr:rbac:groups=memcached.cache.example.com,resources=memcacheds,verbs=list;watch;patch
// +kbr:rbac:groups=memcached.cache.example.com,resources=memcacheds/status,verbs=patch
// +kbr:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kbr:rbac:groups="",resources=pods,verbs=list;watch
// +kbr:rbac:groups="",resources=services,verbs=get;list;watch;create;patch
// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

/// Moves the cluster toward the spec of `object`, or cleans up after it; runs again after every
/// change to the object and to what it owns.
async fn reconcile(
    object: Arc<Object>,
    context: Arc<Context>,
) -> Result<Action, finalizer::Error<Error>> {
    let api = context.api::<Object>(&object);
    finalizer(&api, FINALIZER, object, |event| async {
        match event {
            finalizer::Event::Apply(object) => context.apply(&object).await,
            finalizer::Event::Cleanup(object) => context.clean_up(&object).await,
        }
    })
    .await
}

impl Context {
    /// Applies the objects that `object` owns, and reports the result in the status.
    async fn apply(&self, object: &Object) -> Result<Action, Error> {
        let applied = self.apply_children(object).await;
        let problem = match &applied {
            Ok(()) => None,
            Err(error) => status::problem(error),
        };
        if applied.is_ok() || problem.is_some() {
            self.write_status(object, problem).await?;
        }
        match applied {
            // No retry is needed: the watch reports when the name is free.
            Ok(()) | Err(OwnedError::NameTaken { .. }) => Ok(Action::await_change()),
            Err(error) => Err(error.into()),
        }
    }

    async fn apply_children(&self, object: &Object) -> Result<(), OwnedError> {
        let deployment = children::deployment(object);
        let api = self.api(object);
        let applied = self
            .deployments
            .apply(&api, object, NAME, &deployment)
            .await?;
        // A Deployment under another name is from an earlier release of this operator.
        self.deployments.prune(&api, object, &[applied]).await?;
        let service = children::service(object);
        self.services
            .apply(&self.api(object), object, NAME, &service)
            .await?;
        Ok(())
    }

    /// Writes the status if it changed, and publishes an event about a new problem.
    async fn write_status(
        &self,
        object: &Object,
        problem: Option<status::Problem>,
    ) -> Result<(), Error> {
        let owned = self.deployments.of(object).await;
        let owned = owned.map_err(OwnedError::from)?;
        let deployment = owned.first().map(Arc::as_ref);
        let pods = self.pods.names(object).await?;
        let new = status::of(object, deployment, pods, problem, self.clock.now());
        let old = status::written(object);
        if new == old {
            return Ok(());
        }
        let written = apply_status(&self.api(object), object, NAME, &new).await;
        written.map_err(Error::Status)?;
        let before = status::degraded(&old).map(|it| &it.reason);
        if let Some(degraded) = status::degraded(&new).filter(|it| Some(&it.reason) != before) {
            let (reason, note) = (&degraded.reason, &degraded.message);
            self.publish(object, EventType::Warning, reason, note).await;
        }
        Ok(())
    }

    /// Cleans up after `object`, before it is deleted. May run more than once.
    async fn clean_up(&self, object: &Object) -> Result<Action, Error> {
        // Clean up here what Kubernetes does not know about, such as a record in another system.
        // Kubernetes itself deletes what the object owns.
        let note = "The objects that it owns are deleted after it";
        self.publish(object, EventType::Normal, "Deleting", note)
            .await;
        Ok(Action::await_change())
    }

    /// Publishes an event about `object`. A failure is only logged.
    async fn publish(&self, object: &Object, type_: EventType, reason: &str, note: &str) {
        let event = Event {
            type_,
            reason: reason.to_owned(),
            action: "Reconcile".to_owned(),
            note: Some(note.to_owned()),
            secondary: None,
        };
        let published = self.recorder.publish(&event, &object.object_ref(&())).await;
        if let Err(error) = published {
            tracing::warn!(%error, reason, "event not published");
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
