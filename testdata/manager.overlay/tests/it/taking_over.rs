// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Objects that an operator in Go has written before: with updates, as controller-runtime writes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use api::v1::{Task, TaskSpec, TaskStatus};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v1::Scale;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use kbr_runtime::conditions::{self, ConditionStatus};
use kbr_runtime::{Action, Controller, Handle, Manager, ManagerError, OwnedError};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::wait::conditions::is_deleted;
use kube::{Api, Client, Config, Resource, ResourceExt};
use serde_json::{Value, json};

use crate::support::{Running, create, manager, manager_of, servers};

/// What an operator in Go is called as a field manager, and how it says so.
#[derive(Clone, Copy)]
enum Go {
    /// It says so in each request.
    Named,
    /// client-go says in the header `User-Agent` which program it is.
    Unnamed,
}

impl Go {
    async fn client(self) -> Client {
        let kubeconfig = Kubeconfig::read_from(servers().kubeconfig()).unwrap();
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options);
        let mut config = config.await.unwrap();
        let agent = "manager/v0.0.0 (linux/amd64) kubernetes/$Format";
        config
            .headers
            .push(("user-agent".parse().unwrap(), agent.parse().unwrap()));
        config.try_into().unwrap()
    }

    fn params(self) -> PostParams {
        PostParams {
            field_manager: match self {
                Self::Named => Some("manager".to_owned()),
                Self::Unnamed => None,
            },
            ..PostParams::default()
        }
    }
}

const BOTH: [(&str, Go); 2] = [("named", Go::Named), ("unnamed", Go::Unnamed)];

/// Whether the operator in Go still owns something in it.
fn is_of_go(object: &impl Resource) -> bool {
    let mut managers = object.meta().managed_fields.iter().flatten();
    managers.any(|entry| entry.manager.as_deref() == Some("manager"))
}

fn condition(type_: &str, reason: &str) -> Condition {
    let now = Timestamp::UNIX_EPOCH;
    conditions::new(type_, ConditionStatus::True, reason, Some(1), now)
}

/// What the controller reports, depending on the spec. Returns whether it was written.
async fn report(task: Handle<Task>) -> kube::Result<bool> {
    let mut conditions = vec![condition("Ready", "Rust")];
    conditions.retain(|_| task.spec.priority.is_none());
    let status = TaskStatus {
        observed_generation: task.spec.priority.map(i64::from),
        conditions,
    };
    task.apply_status(&status).await
}

fn reasons(task: &Task) -> BTreeMap<&str, &str> {
    let conditions = task.status.iter().flat_map(|status| &status.conditions);
    conditions
        .map(|it| (it.type_.as_str(), it.reason.as_str()))
        .collect()
}

async fn merge<K>(api: &Api<K>, name: &str, change: Value)
where
    K: Clone + std::fmt::Debug + k8s_openapi::serde::de::DeserializeOwned,
{
    let params = PatchParams::default();
    api.patch(name, &params, &Patch::Merge(change))
        .await
        .unwrap();
}

#[tokio::test]
async fn what_go_wrote_in_the_status_and_is_not_wanted_goes_within_one_reconcile() {
    let namespace = servers().namespace().await;
    let api = Api::<Task>::namespaced(servers().admin(), &namespace);
    for (name, go) in BOTH {
        let mut task = create(&api, name, TaskSpec::default()).await;
        task.status = Some(TaskStatus {
            observed_generation: Some(7),
            conditions: vec![condition("Ready", "Go"), condition("Synced", "Go")],
        });
        let tasks = Api::<Task>::namespaced(go.client().await, &namespace);
        let written = tasks.replace_status(name, &go.params(), &task).await;
        let written = written.unwrap();
        assert!(is_of_go(&written));
    }
    let mut manager = manager(servers()).await;
    let controller = Controller::new(manager.namespaced::<Task>(&namespace));
    let written = Arc::new(AtomicUsize::new(0));
    let writes = written.clone();
    manager.add("report", controller, move |task| {
        let writes = writes.clone();
        async move {
            let is_written = report(task).await?;
            writes.fetch_add(is_written.into(), Ordering::SeqCst);
            Ok::<_, kube::Error>(Action::await_change())
        }
    });
    let running = Running::start(manager);

    for (name, _) in BOTH {
        let is_taken = |task: Option<&Task>| {
            let status = task.and_then(|task| task.status.as_ref());
            status.is_some_and(|status| status.observed_generation.is_none())
        };
        let task = servers().wait_for(&api, name, is_taken).await.unwrap();
        let expected = BTreeMap::from([("Ready", "Rust"), ("Synced", "Go")]);
        assert_eq!(reasons(&task), expected);

        // Of a condition that it does not want any more, Go has written a part, which cannot stay alone.
        let alone = Patch::Apply(json!({
            "apiVersion": Task::api_version(&()),
            "kind": Task::kind(&()),
            "status": { "observedGeneration": 1 },
        }));
        let params = PatchParams::apply("report").force().dry_run();
        let refused = api.patch_status(name, &params, &alone).await.unwrap_err();
        assert!(matches!(refused, kube::Error::Api(status) if status.code == 422));
        merge(&api, name, json!({ "spec": { "priority": 1 } })).await;
        let is_gone =
            |task: Option<&Task>| task.is_some_and(|task| !reasons(task).contains_key("Ready"));
        let task = servers().wait_for(&api, name, is_gone).await.unwrap();
        assert_eq!(reasons(&task), BTreeMap::from([("Synced", "Go")]));
    }
    running.stop().await;
    assert_eq!(written.load(Ordering::SeqCst), 4);
}

/// What the new operator wants of its Deployment: the replicas are an autoscaler's.
fn wanted(name: &str) -> Deployment {
    let wanted = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": name, "labels": { "by": "rust" } },
        "spec": {
            "selector": { "matchLabels": { "app": "a" } },
            "template": {
                "metadata": { "labels": { "app": "a" } },
                "spec": { "containers": [{
                    "name": "a",
                    "image": "b",
                    "ports": [{ "name": "http", "containerPort": 8081 }],
                }] },
            },
        },
    });
    serde_json::from_value(wanted).unwrap()
}

/// The Deployment as the operator in Go has created it.
fn of_go(owner: &Task) -> Deployment {
    let created = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": owner.name_any(),
            "labels": { "by": "go", "old": "label" },
            "finalizers": ["example.com/old"],
            "ownerReferences": [owner.controller_owner_ref(&())],
        },
        "spec": {
            "replicas": 2,
            "minReadySeconds": 5,
            "selector": { "matchLabels": { "app": "a" } },
            "template": {
                "metadata": { "labels": { "app": "a" } },
                "spec": { "nodeSelector": { "old": "node" }, "containers": [{
                    "name": "a",
                    "image": "a",
                    "env": [{ "name": "OLD", "value": "1" }],
                    "ports": [{ "name": "http", "containerPort": 8080 }],
                }, { "name": "old", "image": "a" }] },
            },
        },
    });
    serde_json::from_value(created).unwrap()
}

fn add(manager: &mut Manager, namespace: &str, managers: &[&str]) {
    let controller = Controller::new(manager.namespaced::<Task>(namespace))
        .owns(manager.namespaced::<Deployment>(namespace))
        .takes_over(managers.iter().copied());
    manager.add("deploy", controller, |task: Handle<Task>| async move {
        task.apply(&wanted(&task.name_any())).await?;
        Ok::<_, OwnedError>(Action::await_change())
    });
}

#[tokio::test]
async fn what_go_wrote_in_a_child_and_is_not_wanted_goes_and_the_rest_stays() {
    let namespace = servers().namespace().await;
    let tasks = Api::<Task>::namespaced(servers().admin(), &namespace);
    let api = Api::<Deployment>::namespaced(servers().admin(), &namespace);
    for (name, go) in BOTH {
        let task = create(&tasks, name, TaskSpec::default()).await;
        let deployments = Api::<Deployment>::namespaced(go.client().await, &namespace);
        let created = deployments.create(&go.params(), &of_go(&task)).await;
        assert!(is_of_go(&created.unwrap()));

        let kubectl = PatchParams {
            field_manager: Some("kubectl-label".to_owned()),
            ..PatchParams::default()
        };
        let label = json!({ "metadata": { "labels": { "team": "a" } } });
        let labelled = api.patch(name, &kubectl, &Patch::Merge(label)).await;
        labelled.unwrap();
        let autoscaler = PatchParams {
            field_manager: Some("autoscaler".to_owned()),
            ..PatchParams::default()
        };
        let scale = Patch::Merge(json!({ "spec": { "replicas": 5 } }));
        let scaled = api.patch_scale(name, &autoscaler, &scale).await;
        let _: Scale = scaled.unwrap();
    }
    let mut manager = manager(servers()).await;
    add(&mut manager, &namespace, &["manager"]);
    let running = Running::start(manager);

    for (name, _) in BOTH {
        let is_applied = |it: Option<&Deployment>| {
            it.is_some_and(|it| it.labels().get("by").is_some_and(|by| by == "rust"))
        };
        let deployment = servers().wait_for(&api, name, is_applied).await.unwrap();

        let labels = [("by", "rust"), ("team", "a")];
        let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(*deployment.labels(), BTreeMap::from(labels));
        assert!(deployment.finalizers().is_empty());
        let spec = &deployment.spec;
        assert_eq!(spec.replicas, Some(5));
        assert_eq!(spec.min_ready_seconds, None);
        let pod = spec.template.spec.as_ref().unwrap();
        assert_eq!(pod.node_selector, None);
        assert_eq!(pod.containers.len(), 1);
        assert!(pod.containers[0].env.as_ref().is_none_or(Vec::is_empty));
        let ports = pod.containers[0].ports.as_ref().unwrap();
        assert_eq!(ports.len(), 1);
        assert_eq!(ports[0].container_port, 8081);
        assert!(!is_of_go(&deployment));
    }
    running.stop().await;
}

/// Of a take-over, no dry run shows what it removes.
#[tokio::test]
async fn a_plan_says_that_fields_of_go_that_are_not_wanted_go() {
    let namespace = servers().namespace().await;
    let tasks = Api::<Task>::namespaced(servers().admin(), &namespace);
    let task = create(&tasks, "task", TaskSpec::default()).await;
    let deployments = Api::<Deployment>::namespaced(Go::Named.client().await, &namespace);
    let created = deployments.create(&Go::Named.params(), &of_go(&task)).await;
    created.unwrap();
    let mut manager = manager_of(servers().admin_config(), |flags| flags.plan = true);
    add(&mut manager, &namespace, &["manager"]);

    let error = manager.run_until_stopped().await.unwrap_err();

    let ManagerError::WouldChange { summary } = error else {
        panic!("{error}");
    };
    assert_eq!(summary, "The plan: 1 not known. Nothing was written.");
    let deployment = deployments.get("task").await.unwrap();
    assert_eq!(deployment.labels()["by"], "go");
}

/// Removes the label of the operator in Go, which has the same finalizer.
async fn finalize(task: Handle<Task>) -> kube::Result<Action> {
    let applied = async {
        if task.labels().contains_key("old") {
            let labels = json!({ "old": null, "new": "label" });
            task.patch(json!({ "metadata": { "labels": labels } }))
                .await?;
        }
        Ok(Action::await_change())
    };
    task.finalizer("example.com/a", applied, async { Ok(()) })
        .await
}

#[tokio::test]
async fn labels_and_finalizers_of_the_object_itself_are_changed_whoever_wrote_them() {
    let namespace = servers().namespace().await;
    let api = Api::<Task>::namespaced(servers().admin(), &namespace);
    let mut task = Task::new("task", TaskSpec::default());
    task.labels_mut()
        .insert("old".to_owned(), "label".to_owned());
    task.finalizers_mut().push("example.com/a".to_owned());
    let tasks = Api::<Task>::namespaced(Go::Named.client().await, &namespace);
    let created = tasks.create(&Go::Named.params(), &task).await.unwrap();
    let mut manager = manager(servers()).await;
    let controller = Controller::new(manager.namespaced::<Task>(&namespace));
    manager.add("finalize", controller, finalize);
    let running = Running::start(manager);

    let is_changed = |task: Option<&Task>| task.is_some_and(|it| it.labels().contains_key("new"));
    let task = servers().wait_for(&api, "task", is_changed).await.unwrap();
    assert!(!task.labels().contains_key("old"));
    assert_eq!(task.finalizers(), ["example.com/a"]);

    api.delete("task", &DeleteParams::default()).await.unwrap();
    let uid = created.uid().unwrap();
    let is_gone = is_deleted(&uid);
    servers().wait_for(&api, "task", is_gone).await;
    running.stop().await;
}
