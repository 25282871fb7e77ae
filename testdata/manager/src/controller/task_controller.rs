// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Reconciles `Task` objects: panics or works for a while if the spec says so, and writes a status.
//!
//! Its watches end every few seconds, so that some watches end during every test. Two tasks and two probe
//! checks run beside it.

use std::convert::Infallible;
use std::time::Duration;

use api::v1;
use k8s_openapi::jiff::Timestamp;
use kbr_runtime::conditions::{self, ConditionStatus};
use kbr_runtime::{Action, Controller, Handle, Manager, Retry};
use kube::runtime::watcher;

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
    let namespace = std::env::var(NAMESPACE).ok();
    let config = watcher::Config::default().timeout(WATCH_SECONDS);
    let objects = manager.cache::<Object>(namespace.as_deref(), config);
    let controller = Controller::new(objects).pausable("probe.example.com/paused");
    manager.add(NAME, controller, reconcile);
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
// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

/// Moves the cluster toward the spec of `object`; runs again after every change to the object.
async fn reconcile(object: Handle<Object>) -> Result<Action, Error> {
    assert!(!object.spec.panic, "the spec wants it");
    match object.spec.failure {
        Some(v1::Failure::Plain) => return Err(Error::Wanted),
        Some(v1::Failure::Terminal) => return Err(Retry::never("the spec wants it").into()),
        Some(v1::Failure::Late) => {
            return Err(Retry::after(Duration::from_secs(5), "the spec wants it").into());
        }
        None => {}
    }
    if let Some(status) = new_status(&object, object.now()) {
        if let Some(millis) = object.spec.work_millis {
            tracing::info!("work begins");
            tokio::time::sleep(Duration::from_millis(millis.into())).await;
        }
        if object.apply_status(&status).await.map_err(Error::Status)? {
            tracing::info!("status written");
        }
    }
    let again = object.spec.again_millis.map(u64::from);
    Ok(again.map_or_else(Action::await_change, |millis| {
        Action::requeue(Duration::from_millis(millis))
    }))
}

/// The status that `object` should have, or `None` when it already has it.
fn new_status(object: &Object, now: Timestamp) -> Option<v1::TaskStatus> {
    let mut old = object.status.clone().unwrap_or_default();
    old.conditions = conditions::of_types(&old.conditions, &[READY]);
    let generation = object.metadata.generation;
    let mut new = old.clone();
    new.observed_generation = generation;
    let mut ready = conditions::new(
        READY,
        ConditionStatus::Unknown,
        "NotImplemented",
        generation,
        now,
    );
    if object.spec.restless {
        ready.message = format!("after version {:?}", object.metadata.resource_version);
    }
    conditions::set(&mut new.conditions, ready);
    (new != old).then_some(new)
}
