// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Reconciles `Task` objects: panics or works for a while if the spec says so, and writes a status.
//!
//! Its watches end every few seconds, so that some watches end during every test. Two tasks and two probe
//! checks run beside it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use api::v1;
use kbr_runtime::conditions::{self, ConditionStatus};
use kbr_runtime::{Clock, Controller, Manager, Retry, apply_status};
use kube::runtime::controller::Action;
use kube::runtime::watcher;
use kube::{Api, Client, ResourceExt};

/// The kind that this controller reconciles.
type Object = v1::Task;

/// The name of the controller in logs, and in `managedFields` of what it applies.
const NAME: &str = "task";

/// Whether the object matches its spec.
pub const READY: &str = "Ready";

/// The variable with the namespace to watch; without it all namespaces are watched.
const NAMESPACE: &str = "WATCH_NAMESPACE";

/// The variable that says what fails: `task`, `healthz` or `readyz`.
const FAILING: &str = "FAILING";

/// After how many seconds the API server ends a watch.
const WATCH_SECONDS: u32 = 5;

/// What each reconcile gets besides the object.
pub struct Context {
    client: Client,
    clock: Clock,
}

/// Why a reconcile failed. The object is retried with a growing delay.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the spec wants it")]
    Wanted,
    #[error("could not write the status")]
    Status(#[source] kube::Error),
    #[error(transparent)]
    Retry(#[from] Retry),
}

/// Adds this controller to `manager`.
pub fn register(manager: &mut Manager) {
    let (client, clock) = (manager.client(), manager.clock());
    // Watch the objects that a reconcile creates with `.owns(..)`, as in any kube controller.
    let objects = match std::env::var(NAMESPACE) {
        Ok(namespace) => Api::<Object>::namespaced(client.clone(), &namespace),
        Err(_) => Api::all(client.clone()),
    };
    let config = watcher::Config::default().timeout(WATCH_SECONDS);
    let controller = Controller::new(objects, config).pausable("probe.example.com/paused");
    let context = Context { client, clock };
    manager.add(NAME, controller, reconcile, Arc::new(context));
    add_others(manager);
}

/// Adds the tasks and checks that run beside the controller.
fn add_others(manager: &mut Manager) {
    let fails = |what| std::env::var(FAILING).is_ok_and(|failing| failing == what);
    manager.add_task("leader", |stop| async move {
        tracing::info!("the leader's task runs");
        stop.cancelled().await;
        tracing::info!("the leader's task ends");
        Ok::<_, Infallible>(())
    });
    let fails_soon = fails("task");
    manager.add_task_on_every_replica("everyone", move |stop| async move {
        tracing::info!("everyone's task runs");
        let time = stop.run_until_cancelled(tokio::time::sleep(Duration::from_secs(1)));
        if time.await.is_some() && fails_soon {
            return Err("the test wants it");
        }
        Ok(())
    });
    let check = |fails: bool| {
        move || async move {
            if fails {
                Err("the test wants it")
            } else {
                Ok(())
            }
        }
    };
    manager.add_health_check("sample", check(fails("healthz")));
    manager.add_ready_check("sample", check(fails("readyz")));
}

// +kbr:rbac:groups=probe.example.com,resources=tasks,verbs=list;watch
// +kbr:rbac:groups=probe.example.com,resources=tasks/status,verbs=patch

/// Moves the cluster toward the spec of `object`; runs again after every change to the object.
async fn reconcile(object: Arc<Object>, context: Arc<Context>) -> Result<Action, Error> {
    assert!(!object.spec.panic, "the spec wants it");
    match object.spec.failure {
        Some(v1::Failure::Plain) => return Err(Error::Wanted),
        Some(v1::Failure::Terminal) => return Err(Retry::never("the spec wants it").into()),
        Some(v1::Failure::Late) => {
            return Err(Retry::after(Duration::from_secs(5), "the spec wants it").into());
        }
        None => {}
    }
    if let Some(status) = new_status(&object, &context.clock) {
        if let Some(millis) = object.spec.work_millis {
            tracing::info!("work begins");
            tokio::time::sleep(Duration::from_millis(millis.into())).await;
        }
        let namespace = object.namespace().unwrap_or_default();
        let api = Api::<Object>::namespaced(context.client.clone(), &namespace);
        let written = apply_status(&api, &object, NAME, &status).await;
        written.map_err(Error::Status)?;
        tracing::info!("status written");
    }
    let again = object.spec.again_millis.map(u64::from);
    Ok(again.map_or_else(Action::await_change, |millis| {
        Action::requeue(Duration::from_millis(millis))
    }))
}

/// The status that `object` should have, or `None` when it already has it.
fn new_status(object: &Object, clock: &Clock) -> Option<v1::TaskStatus> {
    let mut old = object.status.clone().unwrap_or_default();
    old.conditions = conditions::of_types(&old.conditions, &[READY]);
    let generation = object.metadata.generation;
    let mut new = old.clone();
    new.observed_generation = generation;
    let ready = conditions::new(
        READY,
        ConditionStatus::Unknown,
        "NotImplemented",
        generation,
        clock.now(),
    );
    conditions::set(&mut new.conditions, ready);
    (new != old).then_some(new)
}
