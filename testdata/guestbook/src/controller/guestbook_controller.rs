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

use api::v1;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kbr_runtime::{Action, Cache, Controller, Handle, Manager, OwnedError};
use kube::runtime::events::EventType;
use kube::runtime::reflector::ObjectRef;

use status::Outcome;

/// The kind that this controller reconciles.
type Object = v1::Guestbook;

/// The name of the controller in logs, and in `managedFields` of what it applies.
const NAME: &str = "guestbook";

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
    #[error("could not write the status")]
    Status(#[source] kube::Error),
}

/// Adds this controller to `manager`.
pub fn register(manager: &mut Manager) {
    let pods = pods::cache(manager);
    let controller = Controller::new(manager.all::<Object>())
        // The ConfigMap is only referenced: any change to it triggers a reconcile of every Guestbook that
        // refers to it.
        .references(manager.metadata::<ConfigMap>(), |guestbook| {
            [ObjectRef::new(&guestbook.spec.config_map_name)]
        })
        .owns(manager.all::<Deployment>())
        .watches(pods.clone(), pods::guestbook_of);
    manager.add(NAME, controller, move |object| {
        reconcile(object, pods.clone())
    });
}

// +kbr:rbac:groups=webapp.my.domain,resources=guestbooks,verbs=list;watch
// +kbr:rbac:groups=webapp.my.domain,resources=guestbooks/status,verbs=patch
// +kbr:rbac:groups=webapp.my.domain,resources=guestbooks/finalizers,verbs=update
// +kbr:rbac:groups="",resources=configmaps,verbs=get;list;watch
// +kbr:rbac:groups="",resources=pods,verbs=list;watch
// +kbr:rbac:groups=apps,resources=deployments,verbs=list;watch;create;patch
// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

/// Applies the Deployment that `object` and its ConfigMap call for, and reports its pods.
///
/// Runs after every change to `object`, to the ConfigMap that it refers to, to its Deployment and to its
/// pods.
async fn reconcile(object: Handle<Object>, pods: Cache<Pod>) -> Result<Action, Error> {
    if object.metadata.deletion_timestamp.is_some() {
        // Kubernetes deletes what the object controls.
        return Ok(Action::await_change());
    }
    let (outcome, refused) = apply(&object).await?;
    let pods = pods::of(&object, &pods)?;
    let status = status::of(&object, &outcome, &pods, object.now());
    if object.apply_status(&status).await.map_err(Error::Status)?
        && let Some(problem) = status::new_problem(&object, &status)
    {
        let (reason, note) = (&problem.reason, &problem.message);
        object.event(EventType::Warning, reason, note);
    }
    // There is a watch for everything that may be missing. Nothing tells when a quota has room again: that is retried.
    refused.map_or_else(|| Ok(Action::await_change()), |error| Err(error.into()))
}

/// Applies the Deployment, if the ConfigMap that its pods need to start exists. Also returns the error if it was refused.
async fn apply(object: &Handle<Object>) -> Result<(Outcome, Option<OwnedError>), Error> {
    let name = &object.spec.config_map_name;
    let config_map = object.api::<ConfigMap>().get_opt(name).await;
    let config_map = config_map.map_err(|reason| Error::ConfigMap {
        name: name.clone(),
        reason,
    })?;
    let Some(config_map) = config_map else {
        return Ok((Outcome::ConfigMapMissing, None));
    };
    match object.apply(&deployment::of(object, &config_map)).await {
        Ok(applied) => Ok((Outcome::Applied(applied.object), None)),
        // The object is reconciled when the name becomes free.
        Err(OwnedError::NameTaken { .. }) => Ok((Outcome::NameTaken, None)),
        Err(error) => match status::refusal(&error) {
            Some(why) => Ok((Outcome::Refused(why), Some(error))),
            None => Err(error.into()),
        },
    }
}
