// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Objects that are not reconciled while an annotation pauses them.

use std::convert::Infallible;
use std::fmt::Debug;
use std::future::ready;
use std::sync::{Arc, Mutex};

use api::v1::{Task, TaskSpec};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{ConfigMap, ResourceQuota};
use k8s_openapi::serde::Serialize;
use k8s_openapi::serde::de::DeserializeOwned;
use kbr_runtime::{Action, Controller, Handle};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::watcher::Config;
use kube::{Api, Resource, ResourceExt};
use serde_json::{Value, json};

use crate::support::{Operator, create, eventually, is_reconciled, manager, servers};

const ANNOTATION: &str = "probe.example.com/paused";

fn paused(value: &Value) -> Value {
    json!({ "metadata": { "annotations": { ANNOTATION: value } } })
}

async fn change<K>(api: &Api<K>, name: &str, change: Value) -> K
where
    K: Clone + Debug + DeserializeOwned,
{
    let params = PatchParams::default();
    api.patch(name, &params, &Patch::Merge(change))
        .await
        .unwrap()
}

/// The status and the reason of a condition.
fn condition(task: &Task, type_: &str) -> Option<(String, String)> {
    let status = task.status.as_ref()?;
    let conditions = &mut status.conditions.iter();
    let condition = conditions.find(|condition| condition.type_ == type_)?;
    Some((condition.status.clone(), condition.reason.clone()))
}

fn pair(status: &str, reason: &str) -> Option<(String, String)> {
    Some((status.to_owned(), reason.to_owned()))
}

fn is_paused(task: Option<&Task>) -> bool {
    task.is_some_and(|task| condition(task, "Paused") == pair("True", "Paused"))
}

/// How often a status has been written.
fn statuses(namespace: &str) -> usize {
    let mut requests = servers().requests();
    requests.retain(|request| {
        request.resource == "tasks/status" && request.namespace.as_deref() == Some(namespace)
    });
    requests.len()
}

#[tokio::test]
async fn a_paused_object_is_left_alone_and_reconciled_when_it_is_resumed() {
    let namespace = servers().namespace().await;
    let api = Api::<Task>::namespaced(servers().admin(), &namespace);
    let mut operator = Operator::start(servers(), &namespace, &[]);
    let mut task = Task::new("task", TaskSpec::default());
    task.annotations_mut()
        .insert(ANNOTATION.to_owned(), "true".to_owned());
    api.create(&PostParams::default(), &task).await.unwrap();

    let task = servers().wait_for(&api, "task", is_paused).await.unwrap();

    assert_eq!(condition(&task, "Ready"), None);
    operator.logged("paused: not reconciled until it is resumed");
    // Changes are ignored meanwhile, and nothing is written again.
    change(&api, "task", json!({ "spec": { "priority": 1 } })).await;
    let label = json!({ "metadata": { "labels": { "a": "b" } } });
    change(&api, "task", label).await;
    create(&api, "other", TaskSpec::default()).await;
    servers().wait_for(&api, "other", is_reconciled).await;
    assert_eq!(statuses(&namespace), 2);
    let task = api.get("task").await.unwrap();
    assert_eq!(task.status.unwrap().observed_generation, None);

    change(&api, "task", paused(&json!("false"))).await;

    let task = servers()
        .wait_for(&api, "task", is_reconciled)
        .await
        .unwrap();
    assert_eq!(condition(&task, "Paused"), pair("False", "NotPaused"));
    assert_eq!(condition(&task, "Ready"), pair("Unknown", "NotImplemented"));
    operator.logged("resumed");
    assert!(operator.levels(&["ERROR", "WARN"]).is_empty());
    let conflict = "the object was changed meanwhile";
    assert_eq!(operator.find(conflict), None);
}

#[tokio::test]
async fn the_status_of_a_paused_object_stays() {
    let namespace = servers().namespace().await;
    let api = Api::<Task>::namespaced(servers().admin(), &namespace);
    let operator = Operator::start(servers(), &namespace, &[]);
    create(&api, "task", TaskSpec::default()).await;
    let before = servers()
        .wait_for(&api, "task", is_reconciled)
        .await
        .unwrap();

    change(&api, "task", paused(&json!("true"))).await;

    let task = servers().wait_for(&api, "task", is_paused).await.unwrap();
    let (before, mut after) = (before.status.unwrap(), task.status.unwrap());
    after
        .conditions
        .retain(|condition| condition.type_ != "Paused");
    assert_eq!(before, after);
    // An object that was resumed while no operator ran is not shown as paused forever.
    drop(operator);
    change(&api, "task", paused(&Value::Null)).await;
    let _operator = Operator::start(servers(), &namespace, &[]);
    let is_resumed = |task: Option<&Task>| {
        task.is_some_and(|task| condition(task, "Paused") == pair("False", "NotPaused"))
    };
    servers().wait_for(&api, "task", is_resumed).await;
}

/// The operator had another name when it paused the object, so the condition has another field manager.
#[tokio::test]
async fn the_condition_of_an_operator_with_another_name_is_taken_over() {
    let namespace = servers().namespace().await;
    let api = Api::<Task>::namespaced(servers().admin(), &namespace);
    create(&api, "task", TaskSpec::default()).await;
    let condition = json!({
        "type": "Paused",
        "status": "True",
        "reason": "Paused",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let status = json!({
        "apiVersion": Task::api_version(&()),
        "kind": Task::kind(&()),
        "status": { "conditions": [condition] },
    });
    let params = PatchParams::apply("former/task-pause");
    api.patch_status("task", &params, &Patch::Apply(status))
        .await
        .unwrap();

    let operator = Operator::start(servers(), &namespace, &[]);

    let is_resumed = |task: Option<&Task>| {
        task.is_some_and(|task| self::condition(task, "Paused") == pair("False", "NotPaused"))
    };
    servers().wait_for(&api, "task", is_resumed).await;
    assert!(operator.levels(&["ERROR", "WARN"]).is_empty());
}

#[tokio::test]
async fn the_deletion_of_a_paused_object_is_reconciled() {
    let namespace = servers().namespace().await;
    let api = Api::<Task>::namespaced(servers().admin(), &namespace);
    let _operator = Operator::start(servers(), &namespace, &[]);
    let mut task = Task::new("task", TaskSpec::default());
    task.annotations_mut()
        .insert(ANNOTATION.to_owned(), "true".to_owned());
    task.finalizers_mut().push("example.com/test".to_owned());
    api.create(&PostParams::default(), &task).await.unwrap();
    servers().wait_for(&api, "task", is_paused).await;

    api.delete("task", &DeleteParams::default()).await.unwrap();

    servers().wait_for(&api, "task", is_reconciled).await;
    change(&api, "task", json!({ "metadata": { "finalizers": null } })).await;
}

/// Pauses an object of a kind that cannot have the condition, and resumes it.
async fn pause_without_a_condition<K>(object: K)
where
    K: Clone + Debug + DeserializeOwned + Send + Serialize + Sync + 'static,
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    let namespace = servers().namespace().await;
    let api = Api::<K>::namespaced(servers().admin(), &namespace);
    let mut manager = manager(servers()).await;
    let stop = manager.stop_token();
    let config = Config::default().labels("test=pause");
    let objects = manager.cache::<K>(Some(&namespace), config);
    let controller = Controller::new(objects).pausable(ANNOTATION);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    let reconcile = move |object: Handle<K>| {
        noted.lock().unwrap().push(object.name_any());
        ready(Ok::<_, Infallible>(Action::await_change()))
    };
    manager.add("plain", controller, reconcile);
    let running = tokio::spawn(async move { manager.run_until_stopped().await });
    let new = |name: &str, value: &str| {
        let mut object = object.clone();
        object.meta_mut().name = Some(name.to_owned());
        object
            .labels_mut()
            .insert("test".to_owned(), "pause".to_owned());
        object
            .annotations_mut()
            .insert(ANNOTATION.to_owned(), value.to_owned());
        object
    };
    let names = || seen.lock().unwrap().clone();
    let params = PostParams::default();
    let seen_last = |name: &'static str| {
        let names = &names;
        move || (names().last().map(String::as_str) == Some(name)).then_some(())
    };

    api.create(&params, &new("held", "true")).await.unwrap();
    api.create(&params, &new("other", "no")).await.unwrap();
    eventually("the other object", seen_last("other")).await;
    change(
        &api,
        "held",
        json!({ "metadata": { "labels": { "a": "b" } } }),
    )
    .await;
    api.create(&params, &new("third", "no")).await.unwrap();
    eventually("the third object", seen_last("third")).await;
    assert!(!names().contains(&"held".to_owned()), "{:?}", names());

    change(&api, "held", paused(&Value::Null)).await;
    eventually("the object that is resumed", seen_last("held")).await;
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_kind_without_a_status_can_be_paused() {
    pause_without_a_condition(ConfigMap::default()).await;
}

#[tokio::test]
async fn a_kind_without_conditions_can_be_paused() {
    pause_without_a_condition(ResourceQuota::default()).await;
}

/// The code and the message of the response to a write of the condition.
async fn response<K>(mut object: K, field: &str) -> (u16, String)
where
    K: Clone + Debug + DeserializeOwned + Serialize,
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    let namespace = servers().namespace().await;
    let api = Api::<K>::namespaced(servers().admin(), &namespace);
    object.meta_mut().name = Some("sample".to_owned());
    api.create(&PostParams::default(), &object).await.unwrap();
    let patch = json!({
        "apiVersion": K::api_version(&()),
        "kind": K::kind(&()),
        "status": { field: [{ "type": "Paused", "status": "True" }] },
    });
    let params = PatchParams::apply("test");
    match api
        .patch_status("sample", &params, &Patch::Apply(&patch))
        .await
    {
        Ok(object) => (200, format!("{object:?}")),
        Err(kube::Error::Api(status)) => (status.code, status.message.clone()),
        Err(error) => panic!("{error}"),
    }
}

/// How the runtime recognizes a kind that cannot have the condition.
#[tokio::test]
async fn the_api_server_says_that_a_kind_has_no_conditions() {
    let (code, message) = response(ConfigMap::default(), "conditions").await;
    assert_eq!(code, 404, "{message}");
    let (code, message) = response(ResourceQuota::default(), "conditions").await;
    assert_eq!(code, 500, "{message}");
    assert!(
        message.contains("field not declared in schema"),
        "{message}"
    );
    let (code, message) = response(Task::new("", TaskSpec::default()), "others").await;
    assert_eq!(code, 500, "{message}");
    assert!(
        message.contains("field not declared in schema"),
        "{message}"
    );
}
