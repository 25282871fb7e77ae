// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Watches end, and the versions that they would resume from are compacted: the operator continues.

use std::time::Instant;

use api::v1::Task;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::{Api, ResourceExt};

use crate::support::{Operator, PATIENCE, create_and_wait, servers, until};

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
    let others = Api::<ConfigMap>::namespaced(servers().admin(), &namespace);
    let mut other = ConfigMap::default();
    other.metadata.generate_name = Some("other-".to_owned());
    let start = Instant::now();
    while !is_gone(&namespace, &last.resource_version().unwrap()) {
        others.create(&PostParams::default(), &other).await.unwrap();
        assert!(start.elapsed() < PATIENCE, "etcd was not compacted");
    }

    // Nobody needs to act on it.
    assert_eq!(operator.find("a watch failed and will be retried"), None);
    create_and_wait(servers(), &api, "after").await;
    until("another list", || {
        (requests(&namespace, "list") > 1).then_some(())
    });
    assert!(operator.is_running());
}

/// Whether the API server responds with 410 Gone to a watch from the given version.
fn is_gone(namespace: &str, version: &str) -> bool {
    let path = format!(
        "/apis/probe.example.com/v1/namespaces/{namespace}/tasks?watch=true&timeoutSeconds=1&resourceVersion={version}"
    );
    let output = servers().kubectl().args(["get", "--raw", &path]).output();
    String::from_utf8(output.unwrap().stdout)
        .unwrap()
        .contains(r#""code":410"#)
}
