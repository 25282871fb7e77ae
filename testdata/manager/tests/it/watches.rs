// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Watches end, and the versions that they would resume from are compacted: the operator continues.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use api::v1::Task;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kbr_runtime::{Action, Controller, Handle, OwnedError};
use kbr_testing::{FaultProxy, ProxiedRequest};
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use kube::runtime::watcher::Config;
use kube::{Api, ResourceExt};

use crate::support::{
    Operator, PATIENCE, Running, create_and_wait, eventually, manager_of, servers, until,
};

/// How many requests the manager has sent for the Tasks of `namespace` with the given verb.
fn requests(namespace: &str, verb: &str) -> usize {
    let mut requests = servers().requests();
    requests.retain(|request| {
        request.resource == "tasks"
            && request.namespace.as_deref() == Some(namespace)
            && request.verb == verb
    });
    requests.len()
}

#[tokio::test]
async fn an_object_created_after_the_end_of_a_watch_is_reconciled() {
    let namespace = servers().namespace().await;
    let api = Api::<Task>::namespaced(servers().admin(), &namespace);
    let mut operator = Operator::start(servers(), &namespace, &[]);
    create_and_wait(servers(), &api, "before").await;

    // It has one watch at a time.
    until("the end of a watch", || {
        (requests(&namespace, "watch") > 1).then_some(())
    });
    create_and_wait(servers(), &api, "after").await;
    assert!(operator.is_running());
}

#[tokio::test]
async fn objects_are_listed_again_without_a_restart_when_a_version_is_gone() {
    let namespace = servers().namespace().await;
    let api = Api::<Task>::namespaced(servers().admin(), &namespace);
    let mut operator = Operator::start(servers(), &namespace, &[]);
    let last = create_and_wait(servers(), &api, "before").await;

    // Versions are cluster-wide, and compacted when newer ones are written. The operator sees none of
    // these, so it resumes from the version of the Task when its watch has ended.
    let tasks = format!("/apis/probe.example.com/v1/namespaces/{namespace}/tasks");
    compact(&namespace, &tasks, &last.resource_version().unwrap()).await;

    // Nobody needs to act on it.
    assert_eq!(operator.find("a watch failed and will be retried"), None);
    create_and_wait(servers(), &api, "after").await;
    until("another list", || {
        (requests(&namespace, "list") > 1).then_some(())
    });
    assert!(operator.is_running());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_deleted_while_its_watch_was_cut_triggers_its_owner_by_the_next_list() {
    let namespace = servers().namespace().await;
    let faults = FaultProxy::start(servers()).unwrap();
    let mut manager = manager_of(faults.config(servers().admin_config()), |_| {});
    // The objects that are written so that versions are compacted are not its own.
    let owners = Config::default().labels("test=owner");
    let owners = manager.cache::<ConfigMap>(Some(&namespace), owners);
    let controller = Controller::new(owners).owns(manager.namespaced::<Secret>(&namespace));
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    manager.add("owner", controller, move |owner: Handle<ConfigMap>| {
        counted.fetch_add(1, Ordering::Relaxed);
        async move {
            let mut child = Secret::default();
            child.metadata.name = Some("child".to_owned());
            owner.apply(&child).await?;
            Ok::<_, OwnedError>(Action::await_change())
        }
    });
    let running = Running::start(manager);
    let owner = ConfigMap {
        metadata: ObjectMeta {
            name: Some("owner".to_owned()),
            labels: Some([("test".to_owned(), "owner".to_owned())].into()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    };
    let owners = Api::<ConfigMap>::namespaced(servers().admin(), &namespace);
    owners.create(&PostParams::default(), &owner).await.unwrap();
    let secrets = Api::<Secret>::namespaced(servers().admin(), &namespace);
    let exists = |child: Option<&Secret>| child.is_some();
    let child = servers().wait_for(&secrets, "child", exists).await.unwrap();

    let is_watch_of_secrets =
        |request: &ProxiedRequest| request.is_watch && request.path.ends_with("/secrets");
    faults.refuse(is_watch_of_secrets, 503, None);
    faults.cut_requests(is_watch_of_secrets);
    eventually("a watch that is refused", || {
        (faults.hits() > 1).then_some(())
    })
    .await;
    let before = count.load(Ordering::Relaxed);
    let params = DeleteParams::default();
    secrets.delete("child", &params).await.unwrap();
    let path = format!("/api/v1/namespaces/{namespace}/secrets");
    compact(&namespace, &path, &child.resource_version().unwrap()).await;
    assert_eq!(count.load(Ordering::Relaxed), before);
    faults.heal();

    let is_new = |new: Option<&Secret>| new.is_some_and(|new| new.uid() != child.uid());
    let new = servers().wait_for(&secrets, "child", is_new).await.unwrap();
    let owner = owners.get("owner").await.unwrap();
    assert_eq!(Some(&new.owner_references()[0].uid), owner.uid().as_ref());
    running.stop().await;
}

/// Writes objects until the API server has compacted the given version of the objects at `path`.
async fn compact(namespace: &str, path: &str, version: &str) {
    let others = Api::<ConfigMap>::namespaced(servers().admin(), namespace);
    let mut other = ConfigMap::default();
    other.metadata.generate_name = Some("other-".to_owned());
    let start = Instant::now();
    while !is_gone(path, version) {
        others.create(&PostParams::default(), &other).await.unwrap();
        assert!(start.elapsed() < PATIENCE, "etcd was not compacted");
    }
}

/// Whether the API server responds with 410 Gone to a watch of `path` from the given version.
fn is_gone(path: &str, version: &str) -> bool {
    let path = format!("{path}?watch=true&timeoutSeconds=1&resourceVersion={version}");
    let output = servers().kubectl().args(["get", "--raw", &path]).output();
    String::from_utf8(output.unwrap().stdout)
        .unwrap()
        .contains(r#""code":410"#)
}
