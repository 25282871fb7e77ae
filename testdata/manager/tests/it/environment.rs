// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! An environment provides a test with what a cluster would.

use std::path::Path;

use api::v1::{Task, TaskSpec};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::wait::conditions;
use kube::{Api, Client, Config, Resource, ResourceExt};
use serde_json::json;

use crate::env;
use crate::support::{MANAGER, create, create_and_wait, until};

#[tokio::test]
async fn each_namespace_is_new() {
    let first = env().namespace().await;
    let second = env().namespace().await;

    assert_ne!(first, second);
    let api = |namespace: &str| Api::<Task>::namespaced(env().admin(), namespace);
    create(&api(&first), "sample", TaskSpec::default()).await;
    assert_eq!(api(&second).get_opt("sample").await.unwrap(), None);
}

#[test]
fn both_kubeconfigs_work_with_kubectl_too() {
    let name = |kubeconfig: &Path| {
        let output = env()
            .kubectl()
            .args(["auth", "whoami"])
            .args(["-o", "jsonpath={.status.userInfo.username}"])
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };

    assert_eq!(name(env().kubeconfig()), "admin");
    assert_eq!(name(env().manager_kubeconfig()), MANAGER);
}

#[tokio::test]
async fn the_requests_of_the_manager_are_recorded_with_their_responses() {
    let namespace = env().namespace().await;
    let tasks = Api::<Task>::namespaced(env().manager(), &namespace);
    let admin = Api::<Task>::namespaced(env().admin(), &namespace);
    create_and_wait(env(), &admin, "sample").await;

    tasks.list(&ListParams::default()).await.unwrap();
    tasks.get("sample").await.unwrap_err();

    let requests = || {
        let mut requests = env().requests();
        requests.retain(|request| request.namespace.as_ref() == Some(&namespace));
        // The effect of a request may be visible a moment before it is logged.
        (requests.len() == 3).then_some(requests)
    };
    let mut requests = until("three requests", requests);
    requests.sort_by_key(|request| request.code);
    let logged = requests.iter().map(|request| {
        assert_eq!(request.group, "probe.example.com");
        let name = request.name.as_deref();
        (&*request.verb, &*request.resource, name, request.code)
    });
    let logged: Vec<_> = logged.collect();
    assert!(
        logged.contains(&("patch", "tasks/status", Some("sample"), 200)),
        "{logged:?}"
    );
    assert!(logged.contains(&("list", "tasks", None, 200)), "{logged:?}");
    assert_eq!(logged[2], ("get", "tasks", Some("sample"), 403));
    assert_eq!(
        requests[2].url,
        format!("/apis/probe.example.com/v1/namespaces/{namespace}/tasks/sample")
    );
}

/// A ConfigMap that belongs to `owner`, and blocks its foreground deletion if `blocks`.
fn dependent(owner: &Task, name: &str, blocks: bool) -> ConfigMap {
    let mut reference = owner.controller_owner_ref(&()).unwrap();
    reference.block_owner_deletion = Some(blocks);
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    object.metadata.owner_references = Some(vec![reference]);
    object
}

/// The kubeconfig of a new ServiceAccount that may create ConfigMaps and nothing else.
async fn writer(namespace: &str) -> std::path::PathBuf {
    let account = format!("--serviceaccount={namespace}:writer");
    for words in [
        &["serviceaccount", "writer"][..],
        &["role", "writer", "--verb=create", "--resource=configmaps"],
        &["rolebinding", "writer", "--role=writer", &account],
    ] {
        let mut kubectl = env().kubectl();
        kubectl.args(["create", "--namespace", namespace]);
        assert!(kubectl.args(words).status().unwrap().success(), "{words:?}");
    }
    let kubeconfig = env().kubeconfig_of(namespace, "writer").await.unwrap();
    until("the role to take effect", || {
        let mut kubectl = env().kubectl();
        kubectl.args(["auth", "can-i", "--quiet", "create", "configmaps"]);
        kubectl.args(["--namespace", namespace, "--kubeconfig"]);
        let status = kubectl.arg(&kubeconfig).status();
        status.unwrap().success().then_some(())
    });
    kubeconfig
}

#[tokio::test]
async fn blocking_the_deletion_of_an_owner_needs_permission_to_update_its_finalizers() {
    let namespace = env().namespace().await;
    let tasks = Api::namespaced(env().admin(), &namespace);
    let owner = create(&tasks, "owner", TaskSpec::default()).await;
    let kubeconfig = Kubeconfig::read_from(writer(&namespace).await).unwrap();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options);
    let client = Client::try_from(config.await.unwrap()).unwrap();
    let objects = Api::<ConfigMap>::namespaced(client, &namespace);
    let new = PostParams::default();

    let free = dependent(&owner, "free", false);
    let blocking = dependent(&owner, "blocking", true);
    objects.create(&new, &free).await.unwrap();
    let Err(kube::Error::Api(status)) = objects.create(&new, &blocking).await else {
        panic!("not rejected");
    };

    assert_eq!(status.code, 403);
    assert_eq!(
        status.message,
        "configmaps \"blocking\" is forbidden: cannot set blockOwnerDeletion if an \
         ownerReference refers to a resource you can't set finalizers on: , <nil>"
    );
}

#[tokio::test]
async fn a_dependent_is_deleted_with_its_owner() {
    let namespace = env().namespace().await;
    let owners = Api::namespaced(env().admin(), &namespace);
    let owner = create(&owners, "owner", TaskSpec::default()).await;
    let dependents = Api::<ConfigMap>::namespaced(env().admin(), &namespace);
    let created = dependents
        .create(
            &PostParams::default(),
            &dependent(&owner, "dependent", true),
        )
        .await
        .unwrap();

    let background = DeleteParams::background();
    owners.delete("owner", &background).await.unwrap();

    let uid = created.uid().unwrap();
    let is_deleted = conditions::is_deleted(&uid);
    env().wait_for(&dependents, "dependent", is_deleted).await;
}

#[tokio::test]
async fn a_job_gets_its_pod() {
    let namespace = env().namespace().await;
    let container = json!({ "name": "main", "image": "busybox" });
    let pod = json!({ "restartPolicy": "Never", "containers": [container] });
    let job = json!({ "metadata": { "name": "sample" }, "spec": { "template": { "spec": pod } } });
    let job: Job = serde_json::from_value(job).unwrap();
    let jobs = Api::<Job>::namespaced(env().admin(), &namespace);
    jobs.create(&PostParams::default(), &job).await.unwrap();

    let is_active = |job: Option<&Job>| {
        let status = job.and_then(|job| job.status.as_ref());
        status.is_some_and(|status| status.active == Some(1))
    };
    env().wait_for(&jobs, "sample", is_active).await;

    let pods = Api::<Pod>::namespaced(env().admin(), &namespace);
    let of_job = ListParams::default().labels("batch.kubernetes.io/job-name=sample");
    assert_eq!(pods.list(&of_job).await.unwrap().items.len(), 1);
}

#[tokio::test]
async fn a_sample_comes_with_the_other_documents_of_its_file() {
    let api = Api::<Task>::namespaced(env().admin(), &env().namespace().await);
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "before" } });
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "after" } });
    let task = std::fs::read_to_string("config/samples/probe_v1_task.yaml").unwrap();
    let file = env().logs().join("three.yaml");
    std::fs::write(&file, format!("{secret}\n---\n{task}\n---\n{map}\n")).unwrap();

    let sample = env().sample(&api, &file).await;

    assert_eq!(sample, env().read(&file));
    assert_eq!(sample.name_any(), "task-sample");
    assert_eq!(api.get_opt("task-sample").await.unwrap(), None);
    let namespace = api.namespace().unwrap();
    let secrets = Api::<Secret>::namespaced(env().admin(), namespace);
    secrets.get("before").await.unwrap();
    let maps = Api::<ConfigMap>::namespaced(env().admin(), namespace);
    maps.get("after").await.unwrap();
}
