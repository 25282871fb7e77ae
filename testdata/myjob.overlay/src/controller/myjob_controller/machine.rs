// Copyright The myjob authors
// SPDX-License-Identifier: Apache-2.0

//! The lifecycle of a `MyJob` as a table: its phase and its Pod determine what to do next.
//!
//! | phase | no Pod | its Pod, active | its Pod, ended | a Pod that is not its own |
//! |---|---|---|---|---|
//! | none yet | pending | pending | pending | pending |
//! | pending | **create it** | running | completed | pending: the name is taken |
//! | running | completed: deleted | running | completed | completed: deleted |
//! | completed | stays | stays | stays | stays |
//!
//! The phase is needed: without it, a Pod that does not exist yet and one that was deleted look the same.
//! No request is sent here.

use std::slice;
use std::sync::Arc;

use api::v1beta1::Phase;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kbr_runtime::Problem;

/// The Pod that has the name of a MyJob.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    Nothing,
    /// Its Pod, which has not ended, and what keeps it from running, if anything.
    Active(Option<Problem>),
    /// Its Pod, which has ended.
    Ended(End),
    /// A Pod that it does not control.
    NotOurs,
}

/// How a Pod ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    Succeeded,
    /// Failed, and why.
    Failed(String),
    /// Somebody is deleting it, or has deleted it.
    Deleted,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Create the Pod.
    Create,
    /// Report this in the status.
    Report(State),
    /// Nothing: the state is final.
    Stay,
}

/// What the status says: the phase, and why it is that.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// The Pod is about to be created.
    New,
    /// There is a Pod of that name that it does not control.
    NameTaken,
    /// The API server rejects the Pod, and why.
    Refused(String),
    /// The Pod exists, and what keeps it from running, if anything.
    Running(Option<Problem>),
    Completed(End),
}

/// One cell of the table.
pub fn next(phase: Option<Phase>, seen: Seen) -> Next {
    match (phase, seen) {
        (None, _) => Next::Report(State::New),
        (Some(Phase::Completed), _) => Next::Stay,
        (Some(_), Seen::Active(problem)) => Next::Report(State::Running(problem)),
        (Some(_), Seen::Ended(end)) => Next::Report(State::Completed(end)),
        (Some(Phase::Pending), Seen::Nothing) => Next::Create,
        (Some(Phase::Pending), Seen::NotOurs) => Next::Report(State::NameTaken),
        (Some(Phase::Running), Seen::Nothing | Seen::NotOurs) => {
            Next::Report(State::Completed(End::Deleted))
        }
    }
}

/// The state of a Pod that the MyJob controls.
pub fn seen(pod: &Arc<Pod>) -> Seen {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_ref());
    match phase.map(String::as_str) {
        Some("Succeeded") => Seen::Ended(End::Succeeded),
        Some("Failed") => Seen::Ended(End::Failed(why_failed(pod))),
        _ if pod.metadata.deletion_timestamp.is_some() => Seen::Ended(End::Deleted),
        _ => Seen::Active(Problem::of_pods(slice::from_ref(pod))),
    }
}

/// Why a Pod has failed: the reason in its status, such as `Evicted`, or else its first failed container.
fn why_failed(pod: &Pod) -> String {
    let status = pod.status.clone().unwrap_or_default();
    if let Some(reason) = status.reason {
        let message = status.message.unwrap_or_default();
        return format!("{reason}: {message}");
    }
    let containers = status.container_statuses.iter().flatten();
    let mut failed = containers.filter_map(|container| Some((container, exit_code(container)?)));
    failed.find(|(_, code)| *code != 0).map_or_else(
        || "no container says why".to_owned(),
        |(container, code)| format!("container {} ended with exit code {code}", container.name),
    )
}

fn exit_code(container: &ContainerStatus) -> Option<i32> {
    let terminated = container.state.as_ref()?.terminated.as_ref()?;
    Some(terminated.exit_code)
}

impl State {
    pub fn phase(&self) -> Phase {
        match self {
            Self::New | Self::NameTaken | Self::Refused(_) => Phase::Pending,
            Self::Running(_) => Phase::Running,
            Self::Completed(_) => Phase::Completed,
        }
    }

    /// The reason of the conditions, and of the event. For a Pod that does not run, it is the Pod's own.
    pub fn reason(&self) -> &str {
        match self {
            Self::New => "PodPending",
            Self::NameTaken => "PodNameTaken",
            Self::Refused(_) => "PodRefused",
            Self::Running(None) => "PodCreated",
            Self::Running(Some(problem)) => &problem.reason,
            Self::Completed(End::Succeeded) => "PodSucceeded",
            Self::Completed(End::Failed(_)) => "PodFailed",
            Self::Completed(End::Deleted) => "PodDeleted",
        }
    }

    /// The message of the conditions, and of the event. It is the same for the same state, so that the
    /// status is not written again.
    pub fn message(&self, name: &str) -> String {
        match self {
            Self::New => format!("Pod {name} is about to be created"),
            Self::NameTaken => {
                format!(
                    "Pod {name} exists and is not controlled by this MyJob: \
                     delete it, or use another name"
                )
            }
            Self::Refused(why) | Self::Completed(End::Failed(why)) => why.clone(),
            Self::Running(None) => format!("created Pod {name}"),
            Self::Running(Some(problem)) => problem.message.clone(),
            Self::Completed(End::Succeeded) => format!("Pod {name} succeeded"),
            Self::Completed(End::Deleted) => format!("Pod {name} was deleted before it ended"),
        }
    }

    /// Whether its event is a warning; `None` if there is no event.
    pub fn warns(&self) -> Option<bool> {
        match self {
            Self::New => None,
            Self::Running(None) | Self::Completed(End::Succeeded) => Some(false),
            _ => Some(true),
        }
    }
}

#[cfg(test)]
mod tests;
