// Copyright The foo authors
// SPDX-License-Identifier: Apache-2.0

//! What the status of a Foo says, and the events about it.

use std::sync::Arc;

use api::v1alpha1::{Foo, FooStatus};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::jiff::Timestamp;
use kbr_runtime::conditions::{self, ConditionStatus};
use kube::ResourceExt;
use kube::runtime::events::{Event, EventType};

/// The condition that says whether the Deployment matches the spec.
const SYNCED: &str = "Synced";

/// The reason if it does not, and of the event about it.
const NAME_TAKEN: &str = "ErrResourceExists";

/// The conditions that this controller writes. All others in the status belong to other writers.
const CONDITIONS: [&str; 1] = [SYNCED];

/// How a reconcile went.
#[derive(Clone, Copy)]
pub enum Outcome {
    /// The Deployment is in its desired state.
    Synced,
    /// There is a Deployment of that name that the Foo does not control.
    NameTaken,
}

/// What this controller has written to the status of `foo`.
fn written(foo: &Foo) -> FooStatus {
    let mut status = foo.status.clone().unwrap_or_default();
    status.conditions = conditions::of_types(&status.conditions, &CONDITIONS);
    status
}

/// The status that `foo` should have, given the Deployments that it controls.
pub fn of(foo: &Foo, owned: &[Arc<Deployment>], outcome: Outcome, now: Timestamp) -> FooStatus {
    let name = &foo.spec.deployment_name;
    let (status, reason, message) = match outcome {
        Outcome::Synced => (
            ConditionStatus::True,
            SYNCED,
            format!("Deployment {name} matches the spec"),
        ),
        Outcome::NameTaken => (
            ConditionStatus::False,
            NAME_TAKEN,
            format!("Deployment {name} exists and is not controlled by this Foo"),
        ),
    };
    let generation = foo.metadata.generation;
    let mut synced = conditions::new(SYNCED, status, reason, generation, now);
    synced.message = message;
    let mut status = written(foo);
    conditions::set(&mut status.conditions, synced);
    // A Deployment being deleted serves until its pods are deleted, but is no longer desired.
    let owned = owned
        .iter()
        .filter(|d| d.metadata.deletion_timestamp.is_none());
    let available = owned.filter_map(|d| d.status.as_ref()?.available_replicas);
    status.available_replicas = available.sum();
    status.observed_generation = generation;
    status
}

/// What the event says about a Foo whose Deployment matches its spec.
const SYNCED_NOTE: &str = "Foo synced successfully";

/// The event that reports `status`, unless the current status of `foo` says the same.
pub fn event(foo: &Foo, status: &FooStatus) -> Option<Event> {
    let new = conditions::find(&status.conditions, SYNCED)?;
    let old = foo.status.as_ref();
    let old = old.and_then(|old| conditions::find(&old.conditions, SYNCED));
    if old.is_some_and(|old| (&old.status, &old.message) == (&new.status, &new.message)) {
        return None;
    }
    let (type_, note) = if new.status == "True" {
        (EventType::Normal, SYNCED_NOTE)
    } else {
        (EventType::Warning, new.message.as_str())
    };
    Some(Event {
        type_,
        reason: new.reason.clone(),
        action: "Sync".to_owned(),
        note: Some(note.to_owned()),
        // Two taken names are two events.
        secondary: Some(ObjectReference {
            api_version: Some("apps/v1".to_owned()),
            kind: Some("Deployment".to_owned()),
            name: Some(foo.spec.deployment_name.clone()),
            namespace: foo.namespace(),
            ..ObjectReference::default()
        }),
    })
}

#[cfg(test)]
mod tests;
