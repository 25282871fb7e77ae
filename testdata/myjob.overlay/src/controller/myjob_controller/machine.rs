// Copyright The myjob authors
// SPDX-License-Identifier: Apache-2.0

//! The life of a `MyJob` as a table: the phase that it is in and the Pod that is seen say what is next.
//!
//! | phase | no Pod | its Pod, active | its Pod, ended | a Pod that is not its own |
//! |---|---|---|---|---|
//! | none yet | pending | pending | pending | pending |
//! | pending | **create it** | running | completed | pending: the name is taken |
//! | running | completed: deleted | running | completed | completed: deleted |
//! | completed | stays | stays | stays | stays |
//!
//! The phase is needed: without it, a Pod that is not there yet and one that is gone look the same. No
//! server is asked here.

use api::v1beta1::Phase;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};

/// What there is under the name of a MyJob.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    Nothing,
    /// Its Pod, which is not at its end.
    Active,
    /// Its Pod, at its end.
    Ended(End),
    /// A Pod that it does not control.
    NotOurs,
}

/// How a Pod came to its end.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    Succeeded,
    /// And why.
    Failed(String),
    /// Somebody deletes it, or has.
    Deleted,
}

/// What is next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// The Pod is created.
    Create,
    /// The status says this.
    Say(State),
    /// Nothing ever changes again.
    Stay,
}

/// What the status says: the phase, and why it is that.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// The Pod is about to be created.
    New,
    /// There is a Pod of another with its name.
    NameTaken,
    /// The API server does not take the Pod, and why.
    Refused(String),
    Running,
    Completed(End),
}

/// One cell of the table.
pub fn next(phase: Option<Phase>, seen: Seen) -> Next {
    match (phase, seen) {
        (None, _) => Next::Say(State::New),
        (Some(Phase::Completed), _) => Next::Stay,
        (Some(_), Seen::Active) => Next::Say(State::Running),
        (Some(_), Seen::Ended(end)) => Next::Say(State::Completed(end)),
        (Some(Phase::Pending), Seen::Nothing) => Next::Create,
        (Some(Phase::Pending), Seen::NotOurs) => Next::Say(State::NameTaken),
        (Some(Phase::Running), Seen::Nothing | Seen::NotOurs) => {
            Next::Say(State::Completed(End::Deleted))
        }
    }
}

/// What is seen of a Pod that the MyJob controls.
pub fn seen(pod: &Pod) -> Seen {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_ref());
    match phase.map(String::as_str) {
        Some("Succeeded") => Seen::Ended(End::Succeeded),
        Some("Failed") => Seen::Ended(End::Failed(why_failed(pod))),
        _ if pod.metadata.deletion_timestamp.is_some() => Seen::Ended(End::Deleted),
        _ => Seen::Active,
    }
}

/// Why a Pod has failed: what its node says, such as `Evicted`, or else its first container that failed.
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
            Self::Running => Phase::Running,
            Self::Completed(_) => Phase::Completed,
        }
    }

    /// The reason of the conditions, and of the event.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::New => "PodPending",
            Self::NameTaken => "PodNameTaken",
            Self::Refused(_) => "PodRefused",
            Self::Running => "PodCreated",
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
                    "Pod {name} exists and is not of this MyJob: delete it, or use another name"
                )
            }
            Self::Refused(why) | Self::Completed(End::Failed(why)) => why.clone(),
            Self::Running => format!("created Pod {name}"),
            Self::Completed(End::Succeeded) => format!("Pod {name} succeeded"),
            Self::Completed(End::Deleted) => format!("Pod {name} was deleted before its end"),
        }
    }

    /// Whether its event is a warning; `None` if there is no event.
    pub fn warns(&self) -> Option<bool> {
        match self {
            Self::New => None,
            Self::Running | Self::Completed(End::Succeeded) => Some(false),
            Self::NameTaken | Self::Refused(_) | Self::Completed(_) => Some(true),
        }
    }
}

#[cfg(test)]
mod tests;
