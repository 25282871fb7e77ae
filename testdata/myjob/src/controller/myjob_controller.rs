// Copyright The myjob authors
// SPDX-License-Identifier: Apache-2.0

//! Reconciles `MyJob` objects: each has one Pod of its own name, and a phase that follows it.
//!
//! [`machine`] decides what to do next, without a server.

pub mod machine;

use api::v1beta1::{self, Phase};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use kbr_runtime::conditions::{self, ConditionStatus};
use kbr_runtime::{Action, Controller, Handle, Manager, OwnedError};
use kube::ResourceExt;
use kube::api::ObjectMeta;
use kube::runtime::events::EventType;

use machine::{End, Next, Seen, State};

/// The kind that this controller reconciles.
type Object = v1beta1::MyJob;

/// The name of the controller in logs and events, and in `managedFields` of what it applies.
const NAME: &str = "myjob";

/// Whether the Pod has ended, and whether it succeeded.
const COMPLETED: &str = "Completed";
const SUCCEEDED: &str = "Succeeded";

/// The conditions that this controller writes. All others in the status belong to other writers.
const CONDITIONS: [&str; 2] = [COMPLETED, SUCCEEDED];

/// Why a reconcile failed. The object is retried with a growing delay.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Pod(#[from] OwnedError),
    #[error("could not write the status")]
    Status(#[source] kube::Error),
}

/// Adds this controller to `manager`.
pub fn register(manager: &mut Manager) {
    let controller = Controller::new(manager.all::<Object>()).owns(manager.all::<Pod>());
    manager.add(NAME, controller, reconcile);
}

// +kbr:rbac:groups=myjob.github.com,resources=myjobs,verbs=list;watch
// +kbr:rbac:groups=myjob.github.com,resources=myjobs/status,verbs=patch
// +kbr:rbac:groups=myjob.github.com,resources=myjobs/finalizers,verbs=update
// +kbr:rbac:groups="",resources=pods,verbs=list;watch;create
// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

/// Takes one step in the lifecycle of `object`; runs again after every change to it or to its Pod, and
/// when its name becomes free for its Pod.
async fn reconcile(object: Handle<Object>) -> Result<Action, Error> {
    let phase = phase(&object);
    // Completed is final, and Kubernetes deletes the Pod of a MyJob that is deleted.
    if object.metadata.deletion_timestamp.is_some() || phase == Some(Phase::Completed) {
        return Ok(Action::await_change());
    }
    let mut next = machine::next(phase, observe(&object)?);
    if next == Next::Create {
        next = machine::next(phase, create(&object).await?);
    }
    if let Next::Report(state) = next {
        tracing::debug!(?state, "decided");
        report(&object, &state).await?;
    }
    Ok(Action::await_change())
}

/// The phase in the status, which is the memory of the operator.
fn phase(object: &Object) -> Option<Phase> {
    object.status.as_ref()?.phase
}

/// Finds the Pod in the cache, which has no Pods of others: [`create`] finds those.
///
/// Neither the Pod nor the phase has to be read from the API server. The caches have what this process has
/// written, whatever their watches have shown. And a new leader lists MyJobs and Pods after the Lease of
/// the last one has expired: if a phase is running by then, its Pod is in the list, or was deleted.
///
/// One case is left, and a read would not find it either: a Pod is created again if it was deleted before
/// its phase was written, because the operator crashed or the request was late.
fn observe(object: &Handle<Object>) -> Result<Seen, OwnedError> {
    let (name, pods) = (object.name_any(), object.owned::<Pod>()?);
    let pod = pods.iter().find(|pod| pod.name_any() == name);
    Ok(pod.map_or(Seen::Nothing, machine::seen))
}

/// Creates the Pod. Returns what has the name then.
async fn create(object: &Handle<Object>) -> Result<Seen, Error> {
    match object.create(&pod_of(object)).await {
        Ok(Some(pod)) => Ok(machine::seen(&pod)),
        // It was created after it was looked for.
        Ok(None) => Ok(observe(object)?),
        Err(OwnedError::NameTaken { .. }) => Ok(Seen::NotOurs),
        Err(error) => {
            if let Some(refusal) = refusal(&error) {
                report(object, &State::Refused(refusal)).await?;
            }
            Err(error.into())
        }
    }
}

/// Why the API server rejects the Pod.
fn refusal(error: &OwnedError) -> Option<String> {
    let OwnedError::Apply { reason, .. } = error else {
        return None;
    };
    let kube::Error::Api(status) = reason else {
        return None;
    };
    let is_refusal = (400..429).contains(&status.code) && !status.is_already_exists();
    is_refusal.then(|| status.message.clone())
}

/// Writes the status if `state` is new, and then its event.
async fn report(object: &Handle<Object>, state: &State) -> Result<(), Error> {
    let status = status_of(object, state, object.now());
    if !object.apply_status(&status).await.map_err(Error::Status)? {
        return Ok(());
    }
    // The Pod was created before, and runs again.
    let is_again = phase(object) == Some(Phase::Running) && *state == State::Running(None);
    if reason(object) != Some(state.reason())
        && !is_again
        && let Some(warns) = state.warns()
    {
        let type_ = match warns {
            true => EventType::Warning,
            false => EventType::Normal,
        };
        let note = state.message(&object.name_any());
        object.event(type_, state.reason(), note);
    }
    Ok(())
}

/// The Pod of a MyJob: built from the template, with the name of the MyJob.
fn pod_of(object: &Object) -> Pod {
    let template = object.spec.template.clone();
    let metadata = template.metadata.unwrap_or_default();
    Pod {
        metadata: ObjectMeta {
            name: object.metadata.name.clone(),
            labels: metadata.labels,
            annotations: metadata.annotations,
            ..ObjectMeta::default()
        },
        spec: template.spec,
        status: None,
    }
}

/// The current reason in the status.
fn reason(object: &Object) -> Option<&str> {
    let status = object.status.as_ref()?;
    let completed = conditions::find(&status.conditions, COMPLETED)?;
    Some(&completed.reason)
}

/// The status that reports `state`.
fn status_of(object: &Object, state: &State, now: Timestamp) -> v1beta1::MyJobStatus {
    let mut status = object.status.clone().unwrap_or_default();
    status.conditions = conditions::of_types(&status.conditions, &CONDITIONS);
    let generation = object.metadata.generation;
    status.observed_generation = generation;
    status.phase = Some(state.phase());
    let (completed, succeeded) = match state {
        State::Completed(End::Succeeded) => (ConditionStatus::True, ConditionStatus::True),
        State::Completed(_) => (ConditionStatus::True, ConditionStatus::False),
        _ => (ConditionStatus::False, ConditionStatus::Unknown),
    };
    for (type_, value) in [(COMPLETED, completed), (SUCCEEDED, succeeded)] {
        let mut condition = conditions::new(type_, value, state.reason(), generation, now);
        condition.message = state.message(&object.name_any());
        conditions::set(&mut status.conditions, condition);
    }
    status
}

#[cfg(test)]
mod tests;
