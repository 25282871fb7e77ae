// Copyright The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! Reconciles `Guestbook` objects: each has a Deployment of its own name, whose pods get their settings
//! from a ConfigMap of somebody else.
//!
//! [`deployment`] defines the desired Deployment, [`pods`] finds its pods, and [`status`] reports on
//! them.

mod config_hash;
mod deployment;
mod pods;
mod status;

use std::sync::Arc;

use api::v1;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kbr_runtime::{Clock, Controller, Manager, NotListed, Owned, OwnedError, apply_status};
use kube::core::NamespaceResourceScope;
use kube::runtime::controller::Action;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Config;
use kube::{Api, Client, Resource, ResourceExt};

use status::Outcome;

/// The kind that this controller reconciles.
type Object = v1::Guestbook;

/// The name of the controller in logs, and in `managedFields` of what it applies.
const NAME: &str = "guestbook";

/// What each reconcile gets besides the object.
pub struct Context {
    client: Client,
    clock: Clock,
    deployments: Owned<Object, Deployment>,
    pods: Owned<Object, Pod>,
}

/// Why a reconcile failed. The object is retried with a growing delay.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not read ConfigMap {name}")]
    ConfigMap {
        name: String,
        #[source]
        reason: kube::Error,
    },
    #[error(transparent)]
    Deployment(#[from] OwnedError),
    #[error(transparent)]
    NotListed(#[from] NotListed),
    #[error("could not write the status")]
    Status(#[source] kube::Error),
}

/// Adds this controller to `manager`.
pub fn register(manager: &mut Manager) {
    let (client, clock) = (manager.client(), manager.clock());
    let config_maps = Api::<ConfigMap>::all(client.clone());
    let all_deployments = Api::<Deployment>::all(client.clone());
    let deployments = Owned::watch(all_deployments.clone(), Config::default());
    let pods = pods::watch(client.clone());
    let controller = Controller::new(Api::<Object>::all(client.clone()), Config::default())
        // The ConfigMap is only referenced: any change to it triggers a reconcile of every Guestbook that
        // refers to it.
        .references(config_maps, Config::default(), |guestbook| {
            [ObjectRef::new(&guestbook.spec.config_map_name)]
        })
        .owns_cached(&deployments)
        // A Deployment of somebody else may have the name: once it is deleted, the name is free.
        .references(all_deployments, Config::default(), |guestbook| {
            [ObjectRef::new(&guestbook.name_any())]
        })
        .owns_cached(&pods);
    let context = Context {
        client,
        clock,
        deployments,
        pods,
    };
    manager.add(NAME, controller, reconcile, Arc::new(context));
}

// +kbr:rbac:groups=webapp.my.domain,resources=guestbooks,verbs=list;watch
// +kbr:rbac:groups=webapp.my.domain,resources=guestbooks/status,verbs=patch
// +kbr:rbac:groups="",resources=configmaps,verbs=get;list;watch
// +kbr:rbac:groups="",resources=pods,verbs=list;watch
// +kbr:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch

/// Applies the Deployment that `object` and its ConfigMap call for, and reports its pods.
///
/// Runs after every change to `object`, to the ConfigMap that it refers to, to its Deployment and to its
/// pods.
async fn reconcile(object: Arc<Object>, context: Arc<Context>) -> Result<Action, Error> {
    if object.metadata.deletion_timestamp.is_some() {
        // Kubernetes deletes what the object controls.
        return Ok(Action::await_change());
    }
    let outcome = context.apply(&object).await?;
    let pods = context.pods.of(&object).await?;
    let status = status::of(&object, &outcome, &pods, context.clock.now());
    if status::written(&object) != status {
        let api = context.api::<Object>(&object);
        let written = apply_status(&api, &object, NAME, &status).await;
        written.map_err(Error::Status)?;
    }
    // No retry is needed: there is a watch for everything that may be missing.
    Ok(Action::await_change())
}

impl Context {
    /// Applies the Deployment, if the ConfigMap that its pods need to start exists.
    async fn apply(&self, object: &Object) -> Result<Outcome, Error> {
        let name = &object.spec.config_map_name;
        let config_map = self.api::<ConfigMap>(object).get_opt(name).await;
        let config_map = config_map.map_err(|reason| Error::ConfigMap {
            name: name.clone(),
            reason,
        })?;
        let Some(config_map) = config_map else {
            return Ok(Outcome::ConfigMapMissing);
        };
        let desired = deployment::of(object, &config_map);
        let api = self.api::<Deployment>(object);
        match self.deployments.apply(&api, object, NAME, &desired).await {
            Ok(deployment) => Ok(Outcome::Applied(deployment)),
            Err(OwnedError::NameTaken { .. }) => Ok(Outcome::NameTaken),
            Err(error) => Err(error.into()),
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
