// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Why pods do not run, in their own words.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

const CRASH_LOOP: &str = "CrashLoopBackOff";

/// What keeps an object from its desired state, as a condition and an event report it.
///
/// ```
/// use std::sync::Arc;
///
/// use k8s_openapi::api::core::v1::Pod;
/// use kbr_runtime::Problem;
/// # use serde_json::json;
///
/// let pod = json!({
///     "metadata": { "name": "web-1" },
///     "status": {
///         "containerStatuses": [{
///             "name": "web",
///             "image": "web:2", "imageID": "", "ready": false, "restartCount": 0,
///             "state": { "waiting": { "reason": "ImagePullBackOff", "message": "no such image" } },
///         }],
///     },
/// });
/// let pod: Pod = serde_json::from_value(pod).unwrap();
///
/// let problem = Problem::of_pods(&[Arc::new(pod)]).unwrap();
/// assert_eq!(problem.reason, "ImagePullBackOff");
/// assert_eq!(problem.message, "container web of pod web-1: no such image");
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    /// A word in upper camel case, such as `ImagePullBackOff`.
    pub reason: String,
    /// What exactly is wrong, for people.
    pub message: String,
}

impl Problem {
    /// What keeps the pods of a Deployment from running: why they cannot be created, such as because of a quota or
    /// Pod Security (the condition `ReplicaFailure`, whose reason is `FailedCreate`); otherwise what
    /// [`Problem::of_pods`] finds; otherwise why the rollout does not progress (`ProgressDeadlineExceeded`).
    ///
    /// `pods` are the pods of the Deployment, such as those of [`Handle::pods`](crate::Handle::pods).
    #[must_use]
    pub fn of_deployment(deployment: &Deployment, pods: &[Arc<Pod>]) -> Option<Self> {
        let reported = |type_: &str, status: &str| {
            let mut conditions = deployment.status.as_ref()?.conditions.iter().flatten();
            let found = conditions
                .find(|it| is(it.type_.clone(), type_) && is(it.status.clone(), status))?;
            let (reason, message) = (found.reason.clone()?, found.message.clone()?);
            Some(Self { reason, message })
        };
        let pods = || Self::of_pods(pods);
        let failure = reported("ReplicaFailure", "True").or_else(pods);
        failure.or_else(|| reported("Progressing", "False"))
    }

    /// What keeps pods from running, according to the first of `pods` that does not run:
    ///
    /// - It is not scheduled: `Unschedulable`, with the scheduler's message.
    /// - A container cannot start: the reason for which it waits, such as `CreateContainerConfigError`, and its
    ///   message. `ErrImagePull` is reported as `ImagePullBackOff`: the two alternate.
    /// - A container has ended: the reason, such as `OOMKilled`, with the exit code and the container's termination
    ///   message. Instead of `Error` or `Completed`, the reason is `CrashLoopBackOff` as soon as the container was
    ///   restarted, and until it is ready again.
    ///
    /// Pods that are starting, that have ended, or that are being deleted have no problem. What only events say, such
    /// as that a volume cannot be mounted, is not found.
    #[must_use]
    pub fn of_pods(pods: &[Arc<Pod>]) -> Option<Self> {
        pods.iter().find_map(|pod| of_pod(pod))
    }
}

/// Whether a field is `text`. Since Kubernetes 1.37, some fields of conditions are an `Option` that were not before.
fn is(field: impl Into<Option<String>>, text: &str) -> bool {
    field.into().as_deref() == Some(text)
}

fn of_pod(pod: &Pod) -> Option<Problem> {
    let (name, status) = (pod.name_any(), pod.status.as_ref()?);
    let has_ended = matches!(status.phase.as_deref(), Some("Succeeded" | "Failed"));
    if has_ended || pod.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let conditions = || status.conditions.iter().flatten();
    let is_unscheduled = |it: &&PodCondition| it.type_ == "PodScheduled" && it.status == "False";
    if let Some(unscheduled) = conditions().find(is_unscheduled) {
        let message = format!("pod {name}: {}", unscheduled.message.as_ref()?);
        let reason = unscheduled.reason.clone()?;
        return Some(Problem { reason, message });
    }
    let ready = conditions().find(|it| it.type_ == "Ready");
    let unready_since = ready.and_then(|it| it.last_transition_time.as_ref());
    let init = status.init_container_statuses.iter();
    let mut containers = init.chain(&status.container_statuses).flatten();
    containers.find_map(|container| {
        let (reason, text) = of_container(container, unready_since)?;
        let message = format!("container {} of pod {name}{text}", container.name);
        Some(Problem { reason, message })
    })
}

/// The reason why a container does not run, and the text about it.
fn of_container(it: &ContainerStatus, unready_since: Option<&Time>) -> Option<(String, String)> {
    let state = it.state.as_ref().filter(|_| !it.ready)?;
    let before = it.last_state.as_ref().and_then(|it| it.terminated.as_ref());
    let text = |it: &Option<String>| it.as_ref().map_or_else(String::new, |it| format!(": {it}"));
    if let Some(waiting) = &state.waiting {
        let reason = match waiting.reason.as_deref()? {
            "ContainerCreating" | "PodInitializing" => return None,
            "ErrImagePull" => "ImagePullBackOff",
            reason => reason,
        };
        // The message of this back-off changes with each restart, and says less than how the container ended.
        if reason != CRASH_LOOP || before.is_none() {
            return Some((reason.to_owned(), text(&waiting.message)));
        }
    }
    let ended = match (&state.terminated, &state.running) {
        (Some(now), _) => Some(now).filter(|now| now.exit_code != 0),
        // A container that has been ready since it was restarted is not ready for another reason.
        (_, Some(now)) => before.filter(|_| now.started_at.as_ref() >= unready_since),
        _ => before,
    }?;
    // One reason for all phases of a loop, so that conditions do not alternate.
    let reason = match ended.reason.as_deref().unwrap_or("Error") {
        "Error" | "Completed" if before.is_some() => CRASH_LOOP,
        reason => reason,
    };
    let (code, text) = (ended.exit_code, text(&ended.message));
    let text = format!(" ended with exit code {code}{text}");
    Some((reason.to_owned(), text))
}
