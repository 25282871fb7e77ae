// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! Reconciles `Captain` objects; `kbr_runtime::guide` explains how.

use api::crew::v1;
use k8s_openapi::jiff::Timestamp;
use kbr_runtime::conditions::{self, ConditionStatus};
use kbr_runtime::{Action, Controller, Handle, Manager};

/// The kind that this controller reconciles.
type Object = v1::Captain;

/// Whether the object matches its spec.
pub const READY: &str = "CaptainBackupReady";

/// Adds this controller to `manager`.
pub fn register(manager: &mut Manager) {
    let controller = Controller::new(manager.all());
    manager.add("captain-backup", controller, reconcile);
}

// +kbr:rbac:groups=crew.testproject.org,resources=captains,verbs=list;watch
// +kbr:rbac:groups=crew.testproject.org,resources=captains/status,verbs=patch
// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

/// Moves the cluster toward the spec of `object`; runs again after every change to the object.
async fn reconcile(object: Handle<Object>) -> kube::Result<Action> {
    if object.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    // Create, update and delete here what `object.spec` asks for.

    let status = new_status(&object, object.now());
    object.apply_status(&status).await?;
    Ok(Action::await_change())
}

/// The status of `object`. Report `True` or `False` once `reconcile` does what the spec asks for.
fn new_status(object: &Object, now: Timestamp) -> v1::CaptainStatus {
    let mut status = object.status.clone().unwrap_or_default();
    status.conditions = conditions::of_types(&status.conditions, &[READY]);
    status.observed_generation = object.metadata.generation;
    let (is_ready, reason) = (ConditionStatus::Unknown, "NotImplemented");
    let mut ready = conditions::new(READY, is_ready, reason, object.metadata.generation, now);
    ready.message = "The controller does nothing for this object yet".to_owned();
    conditions::set(&mut status.conditions, ready);
    status
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
        let status = new_status(&object(1), Timestamp::UNIX_EPOCH);

        assert_eq!(status.observed_generation, Some(1));
        assert_eq!(status.conditions.len(), 1);
        assert_eq!(status.conditions[0].type_, READY);
        assert_eq!(status.conditions[0].status, "Unknown");
    }

    #[test]
    fn a_reconciled_object_is_not_written_again() {
        let mut object = object(1);
        object.status = Some(new_status(&object, Timestamp::UNIX_EPOCH));

        assert_eq!(Some(new_status(&object, Timestamp::MAX)), object.status);
    }

    #[test]
    fn a_change_to_the_spec_is_observed() {
        let mut object = object(1);
        object.status = Some(new_status(&object, Timestamp::UNIX_EPOCH));
        object.metadata.generation = Some(2);

        let status = new_status(&object, Timestamp::UNIX_EPOCH);

        assert_eq!(status.observed_generation, Some(2));
        assert_eq!(status.conditions[0].observed_generation, Some(2));
    }

    #[test]
    fn conditions_of_others_are_not_written() {
        let mut object = object(1);
        let mut status = new_status(&object, Timestamp::UNIX_EPOCH);
        status.conditions[0].type_ = "Other".to_owned();
        object.status = Some(status);

        let status = new_status(&object, Timestamp::UNIX_EPOCH);

        assert_eq!(status.conditions.len(), 1);
        assert_eq!(status.conditions[0].type_, READY);
    }
}
