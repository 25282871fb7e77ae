// Copyright The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! What the status of a Guestbook says.

use std::sync::Arc;

use api::v1::{Guestbook, GuestbookStatus};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use kbr_runtime::conditions::{self, ConditionStatus};
use kbr_runtime::{OwnedError, Problem};
use kube::ResourceExt;

use super::pods;

/// The condition that says whether all pods exist, have the current settings, and are ready.
const READY: &str = "Ready";

/// Its reason while all pods are ready, and while some are not and nothing says why: they may be starting.
const PODS_READY: &str = "PodsReady";
const PODS_NOT_READY: &str = "PodsNotReady";

/// The conditions that this controller writes. All others in the status belong to other writers.
const CONDITIONS: [&str; 1] = [READY];

/// What happened to the Deployment.
pub enum Outcome {
    /// It is in its desired state. Its pods may not be.
    Applied(Arc<Deployment>),
    /// Pods need the ConfigMap to start, and it does not exist. The Deployment was left as it is.
    ConfigMapMissing,
    /// There is a Deployment of that name that the Guestbook does not control.
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

/// What this controller has written to the status of `guestbook`.
pub fn written(guestbook: &Guestbook) -> GuestbookStatus {
    let mut status = guestbook.status.clone().unwrap_or_default();
    status.conditions = conditions::of_types(&status.conditions, &CONDITIONS);
    status
}

/// The status that `guestbook` should have, given its pods.
pub fn of(
    guestbook: &Guestbook,
    outcome: &Outcome,
    pods: &[Arc<Pod>],
    now: Timestamp,
) -> GuestbookStatus {
    let problem = match outcome {
        Outcome::Applied(deployment) => Problem::of_deployment(deployment, pods),
        _ => None,
    };
    let pods = by_age(pods);
    let (is_ready, reason, message) = verdict(guestbook, outcome, &pods);
    // What keeps pods from running says more than their number.
    let (reason, message) = match problem.filter(|_| !is_ready) {
        Some(problem) => (problem.reason, format!("{message}; {}", problem.message)),
        None => (reason.to_owned(), message),
    };
    let is_ready = if is_ready {
        ConditionStatus::True
    } else {
        ConditionStatus::False
    };
    let generation = guestbook.metadata.generation;
    let mut ready = conditions::new(READY, is_ready, &reason, generation, now);
    ready.message = message;

    let mut status = written(guestbook);
    conditions::set(&mut status.conditions, ready);
    let active = pods.iter().find(|pod| pods::is_ready(pod));
    status.active = active.map(|pod| pod.name_any()).unwrap_or_default();
    let others = pods.iter().map(|pod| pod.name_any());
    status.standby = others.filter(|name| status.active != *name).collect();
    status.standby.sort();
    status.observed_generation = generation;
    status
}

/// What keeps the Guestbook from being ready, if its current status has another reason for that.
pub fn new_problem<'a>(
    guestbook: &Guestbook,
    status: &'a GuestbookStatus,
) -> Option<&'a Condition> {
    let new = conditions::find(&status.conditions, READY)?;
    let old = guestbook.status.as_ref();
    let old = old.and_then(|old| conditions::find(&old.conditions, READY));
    let is_new = old.is_none_or(|old| old.reason != new.reason);
    let is_problem = ![PODS_READY, PODS_NOT_READY].contains(&new.reason.as_str());
    (is_new && is_problem).then_some(new)
}

/// The pods that count, the oldest first; those of the same second are sorted by name.
fn by_age(pods: &[Arc<Pod>]) -> Vec<&Pod> {
    let mut pods: Vec<_> = pods.iter().map(AsRef::as_ref).collect();
    pods.retain(|pod| pods::is_alive(pod));
    pods.sort_by_key(|pod| (pod.creation_timestamp(), pod.name_any()));
    pods
}

/// Whether the Guestbook is ready, the reason, and the message.
fn verdict(
    guestbook: &Guestbook,
    outcome: &Outcome,
    pods: &[&Pod],
) -> (bool, &'static str, String) {
    let (name, size) = (guestbook.name_any(), guestbook.spec.size);
    match outcome {
        Outcome::ConfigMapMissing => {
            let message = format!("there is no ConfigMap {}", guestbook.spec.config_map_name);
            (false, "ConfigMapMissing", message)
        }
        Outcome::NameTaken => {
            let message =
                format!("Deployment {name} exists and is not controlled by this Guestbook");
            (false, "NameTaken", message)
        }
        Outcome::Refused(why) => (false, "Refused", why.clone()),
        Outcome::Applied(deployment) => {
            let ready = pods.iter().filter(|pod| pods::is_ready(pod)).count();
            let updated = updated(deployment);
            let expected = [size; 3];
            let is_ready = [updated, count(ready), count(pods.len())] == expected;
            let message = format!("{updated} of {size} pods are up to date, {ready} are ready");
            match is_ready {
                true => (true, PODS_READY, message),
                false => (false, PODS_NOT_READY, message),
            }
        }
    }
}

/// How many pods have the current template, which Kubernetes may not have observed yet.
fn updated(deployment: &Deployment) -> i32 {
    let status = deployment.status.as_ref();
    let status = status.filter(|s| s.observed_generation == deployment.metadata.generation);
    status.and_then(|s| s.updated_replicas).unwrap_or_default()
}

fn count(pods: usize) -> i32 {
    i32::try_from(pods).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests;
