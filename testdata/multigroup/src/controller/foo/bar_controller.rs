// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! Reconciles `Bar` objects.

use std::sync::Arc;

use api::foo::v1;
use kbr_runtime::conditions::{self, ConditionStatus};
use kbr_runtime::{Clock, Controller, Manager, apply_status};
use kube::runtime::controller::Action;
use kube::runtime::watcher;
use kube::{Api, Client, ResourceExt};

/// The kind that this controller reconciles.
type Object = v1::Bar;

/// The name of the controller in logs, and in `managedFields` of what it applies.
const NAME: &str = "foo-bar";

/// Whether the object matches its spec.
pub const READY: &str = "Ready";

/// The conditions that this controller writes. All others in the status belong to other writers.
const CONDITIONS: [&str; 1] = [READY];

/// What each reconcile gets besides the object.
pub struct Context {
    client: Client,
    clock: Clock,
}

/// Why a reconcile failed. The object is retried with a growing delay.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not write the status")]
    Status(#[source] kube::Error),
}

/// Adds this controller to `manager`.
pub fn register(manager: &mut Manager) {
    let (client, clock) = (manager.client(), manager.clock());
    // To watch objects that a reconcile creates, add `.owns(..)`; see `kbr_runtime::guide`.
    let objects = Api::<Object>::all(client.clone());
    let controller = Controller::new(objects, watcher::Config::default());
    let context = Context { client, clock };
    manager.add(NAME, controller, reconcile, Arc::new(context));
}

// +kbr:rbac:groups=foo.testproject.org,resources=bars,verbs=list;watch
// +kbr:rbac:groups=foo.testproject.org,resources=bars/status,verbs=patch

/// Moves the cluster toward the spec of `object`; runs again after every change to the object.
async fn reconcile(object: Arc<Object>, context: Arc<Context>) -> Result<Action, Error> {
    if object.metadata.deletion_timestamp.is_some() {
        // Clean up here if the object has a finalizer; see `kbr_runtime::guide`.
        return Ok(Action::await_change());
    }

    // Create, update and delete here what `object.spec` asks for.

    if let Some(status) = new_status(&object, &context.clock) {
        let namespace = object.namespace().unwrap_or_default();
        let api = Api::<Object>::namespaced(context.client.clone(), &namespace);
        let written = apply_status(&api, &object, NAME, &status).await;
        written.map_err(Error::Status)?;
        tracing::info!("status written");
    }
    Ok(Action::await_change())
}

/// The status to write, or `None` if the object already has it.
fn new_status(object: &Object, clock: &Clock) -> Option<v1::BarStatus> {
    let mut old = object.status.clone().unwrap_or_default();
    old.conditions = conditions::of_types(&old.conditions, &CONDITIONS);

    let generation = object.metadata.generation;
    let mut new = old.clone();
    new.observed_generation = generation;
    // Report `True` or `False` once `reconcile` does what the spec asks for.
    let mut ready = conditions::new(
        READY,
        ConditionStatus::Unknown,
        "NotImplemented",
        generation,
        clock.now(),
    );
    ready.message = "The controller does nothing for this object yet".to_owned();
    conditions::set(&mut new.conditions, ready);
    (new != old).then_some(new)
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
    fn nothing_is_claimed_about_a_new_object() {
        let status = new_status(&object(1), &Clock::system()).unwrap();

        assert_eq!(status.observed_generation, Some(1));
        assert_eq!(status.conditions.len(), 1);
        assert_eq!(status.conditions[0].type_, READY);
        assert_eq!(status.conditions[0].status, "Unknown");
    }

    #[test]
    fn a_reconciled_object_is_not_written_again() {
        let mut object = object(1);
        object.status = new_status(&object, &Clock::system());

        assert_eq!(new_status(&object, &Clock::system()), None);
    }

    #[test]
    fn a_change_to_the_spec_is_observed() {
        let mut object = object(1);
        object.status = new_status(&object, &Clock::system());
        object.metadata.generation = Some(2);

        let status = new_status(&object, &Clock::system()).unwrap();

        assert_eq!(status.observed_generation, Some(2));
        assert_eq!(status.conditions[0].observed_generation, Some(2));
    }

    #[test]
    fn conditions_of_others_are_not_written() {
        let mut object = object(1);
        let mut status = new_status(&object, &Clock::system()).unwrap();
        status.conditions[0].type_ = "Other".to_owned();
        object.status = Some(status);

        let status = new_status(&object, &Clock::system()).unwrap();

        assert_eq!(status.conditions.len(), 1);
        assert_eq!(status.conditions[0].type_, READY);
    }
}
