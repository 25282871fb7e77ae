// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Reconciles `Task` objects: panics or works for a while if the spec says so, and writes a status.
//!
//! Its watches end every few seconds, so that every test runs across the end of some.

use std::sync::Arc;
use std::time::Duration;

use api::v1;
use kube::api::{Patch, PatchParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::watcher;
use kube::{Api, Client, Resource, ResourceExt};
use runtime::Manager;
use runtime::conditions::{self, Status};
use serde_json::json;

/// The kind that this controller reconciles.
type Object = v1::Task;

/// Names the controller in logs, and in `managedFields` of what it applies.
const NAME: &str = "task";

/// A variable that names the one namespace to watch; without it all are watched.
const NAMESPACE: &str = "WATCH_NAMESPACE";

/// The API server ends a watch after so many seconds.
const WATCH_SECONDS: u32 = 5;

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
    // Watch the objects that a reconcile creates with `.owns(..)`, as in any kube controller.
    let objects = match std::env::var(NAMESPACE) {
        Ok(namespace) => Api::<Object>::namespaced(client.clone(), &namespace),
        Err(_) => Api::all(client.clone()),
    };
    let config = watcher::Config::default().timeout(WATCH_SECONDS);
    let controller = Controller::new(objects, config);
    manager.add(NAME, controller, reconcile, Arc::new(Context { client }));
}

// +kbr:rbac:groups=probe.example.com,resources=tasks,verbs=list;watch
// +kbr:rbac:groups=probe.example.com,resources=tasks/status,verbs=patch

/// Brings the cluster closer to what `object` asks for; runs again after every change of it.
async fn reconcile(object: Arc<Object>, context: Arc<Context>) -> Result<Action, Error> {
    assert!(!object.spec.panic, "the spec wants it");
    if let Some(status) = new_status(&object) {
        if let Some(millis) = object.spec.work_millis {
            tracing::info!("work begins");
            tokio::time::sleep(Duration::from_millis(millis.into())).await;
        }
        apply_status(&object, &status, &context).await?;
        tracing::info!("status written");
    }
    Ok(Action::await_change())
}

/// The status that `object` should have, or `None` when it already has it.
fn new_status(object: &Object) -> Option<v1::TaskStatus> {
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
    status: &v1::TaskStatus,
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
