// Copyright The multiversion authors
// SPDX-License-Identifier: Apache-2.0

//! Reconciles `CronJob` objects.

use std::sync::Arc;

use api::v1;
use kube::api::{Patch, PatchParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::watcher;
use kube::{Api, Client, Resource, ResourceExt};
use runtime::Manager;
use runtime::conditions::{self, Status};
use serde_json::json;

/// The kind that this controller reconciles.
type Object = v1::CronJob;

/// Names the controller in logs, and in `managedFields` of what it applies.
const NAME: &str = "cronjob";

/// What every reconcile is given besides the object.
pub struct Context {
    client: Client,
}

/// Why a reconcile failed. The object is retried with a growing delay.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not write the status: {0}")]
    Status(#[source] kube::Error),
}

/// Adds this controller to `manager`.
pub fn register(manager: &mut Manager) {
    let client = manager.client();
    // Watch the objects that a reconcile creates with `.owns(..)`, as in any kube controller, or
    // with `.owns_stream(..)` of a `runtime::Owned`, from which the reconcile can read them.
    let objects = Api::<Object>::all(client.clone());
    let controller = Controller::new(objects, watcher::Config::default());
    manager.add(NAME, controller, reconcile, Arc::new(Context { client }));
}

// +kbr:rbac:groups=batch.tutorial.kubebuilder.io,resources=cronjobs,verbs=list;watch
// +kbr:rbac:groups=batch.tutorial.kubebuilder.io,resources=cronjobs/status,verbs=patch

/// Brings the cluster closer to what `object` asks for; runs again after every change of it.
async fn reconcile(object: Arc<Object>, context: Arc<Context>) -> Result<Action, Error> {
    // Create, update and delete here what `object.spec` asks for.

    if let Some(status) = new_status(&object) {
        apply_status(&object, &status, &context).await?;
        tracing::info!("status written");
    }
    Ok(Action::await_change())
}

/// The status that `object` should have, or `None` when it already has it.
fn new_status(object: &Object) -> Option<v1::CronJobStatus> {
    let generation = object.metadata.generation;
    let mut status = object.status.clone().unwrap_or_default();
    status.observed_generation = generation;
    conditions::set(
        &mut status.conditions,
        conditions::new("Ready", Status::True, "Reconciled", generation),
    );
    (object.status.as_ref() != Some(&status)).then_some(status)
}

/// Applies `status`, unless `object` has changed since it was read: then the server answers
/// 409 Conflict and the retry sees the newer object.
async fn apply_status(
    object: &Object,
    status: &v1::CronJobStatus,
    context: &Context,
) -> Result<(), Error> {
    let namespace = object.namespace().unwrap_or_default();
    let api = Api::<Object>::namespaced(context.client.clone(), &namespace);
    let patch = json!({
        "apiVersion": Object::api_version(&()),
        "kind": Object::kind(&()),
        "metadata": { "resourceVersion": object.resource_version() },
        "status": status,
    });
    let params = PatchParams::apply(NAME).force();
    api.patch_status(&object.name_any(), &params, &Patch::Apply(&patch))
        .await
        .map_err(Error::Status)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(generation: i64) -> Object {
        let mut object = Object::new("sample", Default::default());
        object.metadata.generation = Some(generation);
        object
    }

    #[test]
    fn a_new_object_becomes_ready() {
        let status = new_status(&object(1)).unwrap();

        assert_eq!(status.observed_generation, Some(1));
        assert_eq!(status.conditions.len(), 1);
        assert_eq!(status.conditions[0].type_, "Ready");
        assert_eq!(status.conditions[0].status, "True");
    }

    #[test]
    fn a_reconciled_object_is_not_written_again() {
        let mut object = object(1);
        object.status = new_status(&object);

        assert_eq!(new_status(&object), None);
    }

    #[test]
    fn a_change_of_the_spec_is_observed() {
        let mut object = object(1);
        object.status = new_status(&object);
        object.metadata.generation = Some(2);

        let status = new_status(&object).unwrap();

        assert_eq!(status.observed_generation, Some(2));
        assert_eq!(status.conditions[0].observed_generation, Some(2));
    }
}
