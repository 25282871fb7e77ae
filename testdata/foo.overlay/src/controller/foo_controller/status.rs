// Copyright The foo authors
// SPDX-License-Identifier: Apache-2.0

//! What the status of a Foo says, and the events about it.

use std::sync::Arc;

use api::v1alpha1::{Foo, FooStatus};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use kbr_runtime::conditions::{self, ConditionStatus};
use kbr_runtime::{OwnedError, Problem};
use kube::ResourceExt;
use kube::runtime::events::{Event, EventType};

/// The condition that says whether the Deployment matches the spec.
const SYNCED: &str = "Synced";

/// The condition that says whether something keeps the pods from running.
const DEGRADED: &str = "Degraded";

/// The reason if the Deployment does not match the spec, and of the event about it.
const NAME_TAKEN: &str = "ErrResourceExists";

/// The reason if the API server does not accept the Deployment, and of the event about it.
const REFUSED: &str = "Refused";

/// The conditions that this controller writes. All others in the status belong to other writers.
const CONDITIONS: [&str; 2] = [SYNCED, DEGRADED];

/// How a reconcile went.
#[derive(Debug)]
pub enum Outcome {
    /// The Deployment is in its desired state; and what keeps its pods from running, if anything.
    Synced(Option<Problem>),
    /// There is a Deployment of that name that the Foo does not control.
    NameTaken,
    /// The API server has refused the Deployment, for this reason.
    Refused(String),
}

/// Why the API server has refused a write, if it will refuse it again: it is forbidden, such as by a quota, or invalid.
pub fn refusal(error: &OwnedError) -> Option<String> {
    match error {
        OwnedError::Apply {
            reason: kube::Error::Api(status),
            ..
        } if matches!(status.code, 403 | 422) => Some(format!("{error}: {}", status.message)),
        _ => None,
    }
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
    let generation = foo.metadata.generation;
    let condition = |type_, is_true, reason: &str, message: &str| {
        let status = if is_true {
            ConditionStatus::True
        } else {
            ConditionStatus::False
        };
        let mut condition = conditions::new(type_, status, reason, generation, now);
        message.clone_into(&mut condition.message);
        condition
    };
    let failed = |reason: &str, message: String| {
        let synced = condition(SYNCED, false, reason, &message);
        let reason = reason.to_owned();
        (synced, Some(Problem { reason, message }))
    };
    let (synced, problem) = match outcome {
        Outcome::Synced(problem) => {
            let message = format!("Deployment {name} matches the spec");
            (condition(SYNCED, true, SYNCED, &message), problem)
        }
        Outcome::NameTaken => {
            let message = format!("Deployment {name} exists and is not controlled by this Foo");
            failed(NAME_TAKEN, message)
        }
        Outcome::Refused(why) => failed(REFUSED, why),
    };
    let degraded = match problem {
        Some(problem) => condition(DEGRADED, true, &problem.reason, &problem.message),
        None => condition(DEGRADED, false, "AsWanted", ""),
    };
    let mut status = written(foo);
    conditions::set(&mut status.conditions, synced);
    conditions::set(&mut status.conditions, degraded);
    // A Deployment being deleted serves until its pods are deleted, but is no longer desired.
    let owned = owned
        .iter()
        .filter(|d| d.metadata.deletion_timestamp.is_none());
    let available = owned.filter_map(|d| d.status.as_ref()?.available_replicas);
    status.available_replicas = available.sum();
    status.observed_generation = generation;
    status
}

/// What keeps the pods from running, if the current status of `foo` has another reason for that.
pub fn new_problem<'a>(foo: &Foo, status: &'a FooStatus) -> Option<&'a Condition> {
    let new = conditions::find(&status.conditions, DEGRADED)?;
    let old = foo.status.as_ref();
    let old = old.and_then(|old| conditions::find(&old.conditions, DEGRADED));
    let is_new = old.is_none_or(|old| old.reason != new.reason);
    // There is another event about a Deployment that does not match the spec.
    let is_told = [NAME_TAKEN, REFUSED].contains(&new.reason.as_str());
    (is_new && new.status == "True" && !is_told).then_some(new)
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
