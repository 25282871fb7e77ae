// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! An operator for `tests/planted.rs`, which creates a ConfigMap for each Task and reports that in the status. The
//! variable `BUG` chooses what is wrong with it.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use api::v1::{Task, TaskStatus};
use clap::Parser;
use k8s_openapi::api::core::v1::{ConfigMap, Event, PersistentVolumeClaim};
use kbr_runtime::conditions::{self, ConditionStatus};
use kbr_runtime::{Action, Controller, Flags, Handle, Manager, ManagerError};
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::json;

type Outcome = kube::Result<Action>;

type Reconcile = fn(Handle<Task>, Client) -> Pin<Box<dyn Future<Output = Outcome> + Send>>;

const BUGS: [(&str, Reconcile); 12] = [
    ("", |task, client| Box::pin(nothing_wrong(task, client))),
    ("adoption", |task, client| Box::pin(adoption(task, client))),
    ("claim", |task, client| Box::pin(claim(task, client))),
    ("cleanup", |task, client| Box::pin(cleanup(task, client))),
    ("counter", |task, client| Box::pin(counter(task, client))),
    ("event", |task, client| Box::pin(event(task, client))),
    ("finalizer", |task, client| {
        Box::pin(finalizer(task, client))
    }),
    ("generated-name", |task, client| {
        Box::pin(generated_name(task, client))
    }),
    ("memory", |task, client| Box::pin(memory(task, client))),
    ("no-second-look", |task, client| {
        Box::pin(no_second_look(task, client))
    }),
    ("stale-read", |task, client| {
        Box::pin(stale_read(task, client))
    }),
    ("status-first", |task, client| {
        Box::pin(status_first(task, client))
    }),
];

const FINALIZER: &str = "probe.example.com/planted";

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    manager: Flags,
}

#[tokio::main]
async fn main() {
    kbr_runtime::exit(run(Args::parse()).await)
}

async fn run(args: Args) -> Result<(), ManagerError> {
    let bug = std::env::var("BUG").unwrap_or_default();
    let Some((_, reconcile)) = BUGS.iter().find(|(name, _)| *name == bug) else {
        panic!("there is no bug `{bug}`");
    };
    let mut manager = Manager::new(args.manager).await?;
    let client = manager.client();
    let controller = Controller::new(manager.all());
    manager.add("planted", controller, move |task| {
        reconcile(task, client.clone())
    });
    manager.run().await
}

/// The name follows from the Task, so that a second attempt finds the ConfigMap of the first one.
async fn nothing_wrong(task: Handle<Task>, client: Client) -> Outcome {
    if is_deleted(&task) || is_reported(&task) {
        return Ok(Action::await_change());
    }
    create_once(&task, &client).await?;
    report(&task).await
}

/// Nothing is wrong: it applies a claim each time, and deletes it when the Task is deleted.
async fn claim(task: Handle<Task>, client: Client) -> Outcome {
    let claims = Api::<PersistentVolumeClaim>::namespaced(client.clone(), &namespace(&task));
    let name = task.name_any();
    if is_deleted(&task) {
        match claims.delete(&name, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            deleted => drop(deleted?),
        }
        return set_finalizers(&task, &client, &[]).await;
    }
    if task.finalizers().is_empty() {
        return set_finalizers(&task, &client, &[FINALIZER]).await;
    }
    let claim = Patch::Apply(json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": { "name": name },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": { "requests": { "storage": "1Mi" } },
        },
    }));
    claims
        .patch(&name, &PatchParams::apply("planted").force(), &claim)
        .await?;
    Ok(Action::await_change())
}

/// The API server makes up the name: after a create whose answer is lost, nobody knows it.
async fn generated_name(task: Handle<Task>, client: Client) -> Outcome {
    if is_deleted(&task) || is_reported(&task) {
        return Ok(Action::await_change());
    }
    let mut map = child(&task);
    map.metadata.generate_name = Some(format!("{}-", task.name_any()));
    map.metadata.name = None;
    maps(&task, &client)
        .create(&PostParams::default(), &map)
        .await?;
    report(&task).await
}

/// The status says that the ConfigMap exists before it does, and then nobody creates it.
async fn status_first(task: Handle<Task>, client: Client) -> Outcome {
    if is_deleted(&task) || is_reported(&task) {
        return Ok(Action::await_change());
    }
    report(&task).await?;
    create_once(&task, &client).await?;
    Ok(Action::await_change())
}

/// A ConfigMap that an earlier attempt has created is an error, at each further attempt.
async fn no_second_look(task: Handle<Task>, client: Client) -> Outcome {
    if is_deleted(&task) || is_reported(&task) {
        return Ok(Action::await_change());
    }
    let maps = maps(&task, &client);
    maps.create(&PostParams::default(), &child(&task)).await?;
    report(&task).await
}

/// `observedGeneration` counts the attempts instead of saying what was observed.
async fn counter(task: Handle<Task>, client: Client) -> Outcome {
    if is_deleted(&task) || is_reported(&task) {
        return Ok(Action::await_change());
    }
    let mut status = task.status.clone().unwrap_or_default();
    status.observed_generation = Some(status.observed_generation.unwrap_or_default() + 1);
    task.apply_status(&status).await?;
    create_once(&task, &client).await?;
    task.apply_status(&reported(&task, status)).await?;
    Ok(Action::await_change())
}

/// The ConfigMap belongs to nobody, and is deleted when the Task is. Once it is deleted, it cannot be deleted again.
async fn cleanup(task: Handle<Task>, client: Client) -> Outcome {
    let maps = maps(&task, &client);
    if is_deleted(&task) {
        maps.delete(&task.name_any(), &DeleteParams::default())
            .await?;
        return set_finalizers(&task, &client, &[]).await;
    }
    with_finalizer(&task, &client).await
}

/// The finalizer is gone before the ConfigMap is, so that nobody deletes it after a crash.
async fn finalizer(task: Handle<Task>, client: Client) -> Outcome {
    if is_deleted(&task) {
        let outcome = set_finalizers(&task, &client, &[]).await?;
        let maps = maps(&task, &client);
        match maps
            .delete(&task.name_any(), &DeleteParams::default())
            .await
        {
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            deleted => drop(deleted?),
        }
        return Ok(outcome);
    }
    with_finalizer(&task, &client).await
}

/// All Tasks want the same ConfigMap. Whoever comes second takes that of another Task for its own.
async fn adoption(task: Handle<Task>, client: Client) -> Outcome {
    if is_deleted(&task) || is_reported(&task) {
        return Ok(Action::await_change());
    }
    let mut map = child(&task);
    map.metadata.name = Some("shared".to_owned());
    create(&task, &client, &map).await?;
    report(&task).await
}

/// The Task in the cache may be old: then a ConfigMap that its status says nothing about is not a leftover.
async fn stale_read(task: Handle<Task>, client: Client) -> Outcome {
    if is_deleted(&task) || is_reported(&task) {
        return Ok(Action::await_change());
    }
    let (maps, name) = (maps(&task, &client), task.name_any());
    if maps.get_opt(&name).await?.is_some() {
        maps.delete(&name, &DeleteParams::default()).await?;
    }
    create_once(&task, &client).await?;
    // The cache knows the writes of a `Handle` at once, but not those of a client.
    let status = reported(&task, task.status.clone().unwrap_or_default());
    let patch = Patch::Merge(json!({ "status": status }));
    let tasks = tasks(&task, &client);
    tasks
        .patch_status(&name, &PatchParams::default(), &patch)
        .await?;
    Ok(Action::requeue(Duration::from_millis(500)))
}

/// An Event says that the ConfigMap exists.
async fn event(task: Handle<Task>, client: Client) -> Outcome {
    if is_deleted(&task) || is_reported(&task) {
        return Ok(Action::await_change());
    }
    let name = format!("{}-created", task.name_any());
    let events = Api::<Event>::namespaced(client.clone(), &namespace(&task));
    if events.get_opt(&name).await?.is_none() {
        let mut event = Event::default();
        event.metadata.name = Some(name);
        event.metadata.namespace = Some(namespace(&task));
        event.involved_object.namespace = Some(namespace(&task));
        events.create(&PostParams::default(), &event).await?;
        create_once(&task, &client).await?;
    }
    report(&task).await
}

/// Which ConfigMap belongs to which Task is known to the process alone.
async fn memory(task: Handle<Task>, client: Client) -> Outcome {
    static KNOWN: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let uid = task.uid().unwrap_or_default();
    let maps = maps(&task, &client);
    if is_deleted(&task) {
        let name = known().remove(&uid);
        if let Some(name) = name {
            maps.delete(&name, &DeleteParams::default()).await?;
        }
        return set_finalizers(&task, &client, &[]).await;
    }
    if is_reported(&task) {
        return Ok(Action::await_change());
    }
    let outcome = with_finalizer(&task, &client).await?;
    known().insert(uid, task.name_any());
    Ok(outcome)
}

fn is_deleted(task: &Task) -> bool {
    task.metadata.deletion_timestamp.is_some()
}

fn is_reported(task: &Task) -> bool {
    let status = task.status.as_ref();
    status.is_some_and(|status| !status.conditions.is_empty())
}

fn namespace(task: &Task) -> String {
    task.namespace().unwrap_or_default()
}

fn maps(task: &Task, client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), &namespace(task))
}

fn tasks(task: &Task, client: &Client) -> Api<Task> {
    Api::namespaced(client.clone(), &namespace(task))
}

/// The ConfigMap of `task`, which belongs to it.
fn child(task: &Task) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(task.name_any()),
            owner_references: Some(task.controller_owner_ref(&()).into_iter().collect()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

/// Creates the ConfigMap, unless it exists.
async fn create_once(task: &Task, client: &Client) -> kube::Result<()> {
    create(task, client, &child(task)).await
}

async fn create(task: &Task, client: &Client, map: &ConfigMap) -> kube::Result<()> {
    match maps(task, client).create(&PostParams::default(), map).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        created => created.map(drop),
    }
}

/// Creates a ConfigMap that the garbage collector does not delete, after the finalizer is there.
async fn with_finalizer(task: &Handle<Task>, client: &Client) -> Outcome {
    if task.finalizers().is_empty() {
        set_finalizers(task, client, &[FINALIZER]).await?;
    }
    if is_reported(task) {
        return Ok(Action::await_change());
    }
    let mut map = child(task);
    map.metadata.owner_references = None;
    create(task, client, &map).await?;
    report(task).await
}

async fn set_finalizers(task: &Task, client: &Client, names: &[&str]) -> Outcome {
    let patch = Patch::Merge(json!({ "metadata": { "finalizers": names } }));
    let params = PatchParams::default();
    match tasks(task, client)
        .patch(&task.name_any(), &params, &patch)
        .await
    {
        // The last finalizer is gone, and the Task with it.
        Err(kube::Error::Api(status)) if status.is_not_found() => {}
        patched => drop(patched?),
    }
    Ok(Action::await_change())
}

/// Reports in the status that the ConfigMap exists.
async fn report(task: &Handle<Task>) -> Outcome {
    let status = task.status.clone().unwrap_or_default();
    task.apply_status(&reported(task, status)).await?;
    Ok(Action::await_change())
}

fn reported(task: &Handle<Task>, mut status: TaskStatus) -> TaskStatus {
    let (is_ready, generation) = (ConditionStatus::True, task.metadata.generation);
    let mut ready = conditions::new("Ready", is_ready, "Created", generation, task.now());
    ready.message = "The ConfigMap exists".to_owned();
    conditions::set(&mut status.conditions, ready);
    status
}
