// Copyright The myjob authors
// SPDX-License-Identifier: Apache-2.0

//! Reconciles `MyJob` objects: each has one Pod of its own name, and a phase that follows it.
//!
//! [`machine`] decides what to do next, without a server.

pub mod machine;

use std::sync::Arc;
use std::time::Duration;

use api::v1beta1::{self, Phase};
use k8s_openapi::api::core::v1::Pod;
use kbr_runtime::conditions::{self, ConditionStatus};
use kbr_runtime::{Clock, Controller, Manager, apply_status, is_controlled_by};
use kube::api::{ObjectMeta, PostParams};
use kube::core::NamespaceResourceScope;
use kube::runtime::controller::Action;
use kube::runtime::events::{Event, EventType, Recorder};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Config;
use kube::{Api, Client, Resource, ResourceExt};

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

/// How long to wait for the watch to catch up.
const A_MOMENT: Duration = Duration::from_secs(1);

/// What each reconcile gets besides the object.
pub struct Context {
    client: Client,
    clock: Clock,
}

/// Why a reconcile failed. The object is retried with a growing delay.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not read Pod {name}")]
    ReadPod {
        name: String,
        #[source]
        reason: kube::Error,
    },
    #[error("could not read the MyJob")]
    Read(#[source] kube::Error),
    #[error("could not create Pod {name}")]
    Create {
        name: String,
        #[source]
        reason: kube::Error,
    },
    #[error("could not write the status")]
    Status(#[source] kube::Error),
}

/// Adds this controller to `manager`.
pub fn register(manager: &mut Manager) {
    let (client, clock) = (manager.client(), manager.clock());
    let objects = Api::<Object>::all(client.clone());
    // A MyJob refers to its Pod by its own name. So the deletion of a Pod that has taken the name triggers
    // a reconcile, which `owns` would not do.
    let pods = Api::<Pod>::all(client.clone());
    let controller = Controller::new(objects, Config::default()).references(
        pods,
        Config::default(),
        |object: &Object| [ObjectRef::<Pod>::new(&object.name_any())],
    );
    let context = Context { client, clock };
    manager.add(NAME, controller, reconcile, Arc::new(context));
}

// +kbr:rbac:groups=myjob.github.com,resources=myjobs,verbs=get;list;watch
// +kbr:rbac:groups=myjob.github.com,resources=myjobs/status,verbs=patch
// +kbr:rbac:groups="",resources=pods,verbs=get;list;watch;create
// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create

/// Takes one step in the lifecycle of `object`; runs again after every change to it or to the Pod of its
/// name.
async fn reconcile(object: Arc<Object>, context: Arc<Context>) -> Result<Action, Error> {
    let phase = phase(&object);
    // Completed is final, and Kubernetes deletes the Pod of a MyJob that is deleted.
    if object.metadata.deletion_timestamp.is_some() || phase == Some(Phase::Completed) {
        return Ok(Action::await_change());
    }
    match machine::next(phase, context.observe(&object).await?) {
        Next::Stay => Ok(Action::await_change()),
        Next::Report(state) => context.report(&object, &state).await,
        Next::Create => context.create(&object).await,
    }
}

/// The phase in the status, which is the memory of the operator.
fn phase(object: &Object) -> Option<Phase> {
    object.status.as_ref()?.phase
}

impl Context {
    /// Reads the Pod with the name of the MyJob from the API server: a cache may be stale, and each change
    /// to that Pod triggers a reconcile anyway.
    async fn observe(&self, object: &Object) -> Result<Seen, Error> {
        let name = object.name_any();
        let pod = self.api::<Pod>(object).get_opt(&name).await;
        let pod = pod.map_err(|reason| Error::ReadPod { name, reason })?;
        Ok(match pod {
            None => Seen::Nothing,
            Some(pod) if is_controlled_by(&pod, object) => machine::seen(&pod),
            Some(_) => Seen::NotOurs,
        })
    }

    /// Creates the Pod, unless `object` is older than in the API server: then the Pod may already have
    /// existed and been deleted.
    async fn create(&self, object: &Object) -> Result<Action, Error> {
        let name = object.name_any();
        let stored = self.api::<Object>(object).get_opt(&name).await;
        let is_current = stored.map_err(Error::Read)?.is_some_and(|stored| {
            stored.uid() == object.uid()
                && stored.metadata.deletion_timestamp.is_none()
                && phase(&stored) == Some(Phase::Pending)
        });
        if !is_current {
            return Ok(Action::requeue(A_MOMENT));
        }
        let pod = pod_of(object);
        let pods = self.api::<Pod>(object);
        match pods.create(&PostParams::default(), &pod).await {
            Ok(_) => {
                tracing::info!(pod = name, "created");
                self.report(object, &State::Running).await
            }
            // It was created after it was looked for.
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                Ok(Action::requeue(A_MOMENT))
            }
            Err(reason) => {
                if let kube::Error::Api(status) = &reason
                    && (400..429).contains(&status.code)
                {
                    self.report(object, &State::Refused(status.message.clone()))
                        .await?;
                }
                Err(Error::Create { name, reason })
            }
        }
    }

    /// Writes the status if `state` is new, and then its event.
    async fn report(&self, object: &Object, state: &State) -> Result<Action, Error> {
        if let Some(status) = new_status(object, state, &self.clock) {
            let is_new = reason(object) != Some(state.reason());
            let api = self.api::<Object>(object);
            // Unless `object` has changed since it was read: then the API server responds with 409
            // Conflict, and the retry sees the newer object.
            let written = apply_status(&api, object, NAME, &status).await;
            written.map_err(Error::Status)?;
            tracing::info!(phase = ?state.phase(), reason = state.reason(), "status written");
            if is_new {
                self.publish(object, state).await;
            }
        }
        Ok(Action::await_change())
    }

    /// Publishes the event of `state`. A failure is only logged: nothing depends on events.
    async fn publish(&self, object: &Object, state: &State) {
        let Some(warns) = state.warns() else { return };
        let event = Event {
            type_: if warns {
                EventType::Warning
            } else {
                EventType::Normal
            },
            reason: state.reason().to_owned(),
            note: Some(state.message(&object.name_any())),
            action: "Reconcile".to_owned(),
            secondary: None,
        };
        let recorder = Recorder::new(self.client.clone(), NAME.into());
        let published = recorder.publish(&event, &object.object_ref(&())).await;
        if let Err(error) = published {
            tracing::warn!(%error, reason = event.reason, "event not published");
        }
    }

    /// The objects of kind `K` in the namespace of `object`.
    fn api<K>(&self, object: &Object) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        let namespace = object.namespace().unwrap_or_default();
        Api::namespaced(self.client.clone(), &namespace)
    }
}

/// The Pod of a MyJob: built from the template, with the name of the MyJob and owned by it.
fn pod_of(object: &Object) -> Pod {
    let template = object.spec.template.clone();
    let metadata = template.metadata.unwrap_or_default();
    Pod {
        metadata: ObjectMeta {
            name: object.metadata.name.clone(),
            labels: metadata.labels,
            annotations: metadata.annotations,
            owner_references: object.controller_owner_ref(&()).map(|owner| vec![owner]),
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

/// The status that reports `state`, or `None` if the object already has it.
fn new_status(object: &Object, state: &State, clock: &Clock) -> Option<v1beta1::MyJobStatus> {
    let mut old = object.status.clone().unwrap_or_default();
    old.conditions = conditions::of_types(&old.conditions, &CONDITIONS);

    let generation = object.metadata.generation;
    let mut new = old.clone();
    new.observed_generation = generation;
    new.phase = Some(state.phase());
    let (completed, succeeded) = match state {
        State::Completed(End::Succeeded) => (ConditionStatus::True, ConditionStatus::True),
        State::Completed(_) => (ConditionStatus::True, ConditionStatus::False),
        _ => (ConditionStatus::False, ConditionStatus::Unknown),
    };
    for (type_, status) in [(COMPLETED, completed), (SUCCEEDED, succeeded)] {
        let mut condition = conditions::new(type_, status, state.reason(), generation, clock.now());
        condition.message = state.message(&object.name_any());
        conditions::set(&mut new.conditions, condition);
    }
    (new != old).then_some(new)
}

#[cfg(test)]
mod tests;
