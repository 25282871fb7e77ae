// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! `env.kubelet()` together with Kubernetes' own controllers, which treat its writes as those of a
//! kubelet.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kbr_testing::{Kubelet, TestEnv};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::conditions::is_deleted;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::env;
use crate::support::PATIENCE;

/// A namespace, and the pods in it.
struct Place {
    env: &'static TestEnv,
    namespace: String,
    pods: Api<Pod>,
}

impl Place {
    async fn new() -> Self {
        let (env, namespace) = (env(), env().namespace().await);
        let pods = Api::namespaced(env.admin(), &namespace);
        Self {
            env,
            namespace,
            pods,
        }
    }

    /// A namespace where every pod runs.
    async fn running() -> Self {
        let place = Self::new().await;
        place.env.kubelet().run_all_in(&place.namespace).unwrap();
        place
    }

    /// What `kubectl get` shows of the pod: how many containers are ready, its state, and its restarts.
    fn shows(&self) -> String {
        let output = env()
            .kubectl()
            .args(["get", "pod", "sample", "--no-headers", "--namespace"])
            .arg(&self.namespace)
            .output();
        let line = String::from_utf8(output.unwrap().stdout).unwrap();
        let words: Vec<_> = line.split_whitespace().skip(1).take(3).collect();
        words.join(" ")
    }

    async fn pod(&self, policy: &str) -> Pod {
        let pod = json!({ "metadata": { "name": "sample" }, "spec": spec(policy) });
        let pod = serde_json::from_value(pod).unwrap();
        self.pods
            .create(&PostParams::default(), &pod)
            .await
            .unwrap()
    }

    async fn deployment(&self, change: Value) -> Api<Deployment> {
        let mut object = json!({
            "metadata": { "name": "sample" },
            "spec": {
                "replicas": 3,
                "selector": { "matchLabels": { "app": "sample" } },
                "template": { "metadata": { "labels": { "app": "sample" } }, "spec": spec("Always") },
            },
        });
        for (key, value) in change.as_object().unwrap() {
            object["spec"][key] = value.clone();
        }
        let api = Api::namespaced(self.env.admin(), &self.namespace);
        let object = serde_json::from_value(object).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
        api
    }

    async fn job(&self, policy: &str, backoff_limit: i32) -> Api<Job> {
        let object = json!({
            "metadata": { "name": "sample" },
            "spec": { "backoffLimit": backoff_limit, "template": { "spec": spec(policy) } },
        });
        let api = Api::namespaced(self.env.admin(), &self.namespace);
        let object = serde_json::from_value(object).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
        api
    }

    /// The first pod that satisfies the condition, once there is one.
    async fn find(&self, is_match: impl Fn(&Pod) -> bool) -> Pod {
        let found = async {
            loop {
                let pods = self.pods.list(&ListParams::default()).await.unwrap();
                if let Some(pod) = pods.items.into_iter().find(&is_match) {
                    return pod;
                }
                sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(PATIENCE, found).await.unwrap()
    }
}

fn spec(policy: &str) -> Value {
    let container = json!({ "name": "main", "image": "busybox" });
    json!({ "restartPolicy": policy, "containers": [container] })
}

fn phase(pod: &Pod) -> &str {
    let status = pod.status.as_ref();
    status
        .and_then(|status| status.phase.as_deref())
        .unwrap_or_default()
}

fn condition(pod: &Pod, type_: &str) -> String {
    let conditions = pod.status.iter().flat_map(|status| &status.conditions);
    let mut conditions = conditions
        .flatten()
        .filter(|condition| condition.type_ == type_);
    conditions
        .next()
        .map(|condition| condition.status.clone())
        .unwrap_or_default()
}

fn has_available(count: i32) -> impl Fn(Option<&Deployment>) -> bool {
    move |deployment| {
        let status = deployment.and_then(|deployment| deployment.status.as_ref());
        status
            .and_then(|status| status.available_replicas)
            .unwrap_or_default()
            == count
    }
}

fn kubelet() -> Kubelet<'static> {
    env().kubelet()
}

/// The message with which a step panics.
async fn refusal<T: Send + 'static>(step: impl Future<Output = T> + Send + 'static) -> String {
    let Err(refused) = tokio::spawn(step).await else {
        panic!("the step did not panic");
    };
    *refused.into_panic().downcast::<String>().unwrap()
}

#[tokio::test]
async fn a_pod_runs_and_completes() {
    let place = Place::new().await;
    let pod = place.pod("Never").await;

    let running = kubelet().run(&pod).await;
    let completed = kubelet().complete(&pod).await;

    assert_eq!(phase(&running), "Running");
    assert_eq!(running.spec.unwrap().node_name.unwrap(), "testenv");
    let stored = place.pods.get("sample").await.unwrap();
    assert_eq!(stored, completed);
    assert_eq!(phase(&stored), "Succeeded");
    // The API server wrote this condition when the pod got its node.
    assert_eq!(condition(&stored, "PodScheduled"), "True");
}

#[tokio::test]
async fn the_first_step_starts_a_pod_and_kubectl_shows_it_as_in_a_cluster() {
    let place = Place::new().await;
    let shows = || place.shows();
    let pod = place.pod("OnFailure").await;
    assert_eq!(shows(), "0/1 Pending 0");
    kubelet().ready(&pod, false).await;
    assert_eq!(shows(), "0/1 Running 0");
    kubelet().ready(&pod, true).await;
    assert_eq!(shows(), "1/1 Running 0");
    kubelet().fail(&pod, 3).await;
    assert_eq!(shows(), "1/1 Running 1");
    kubelet().evict(&pod).await;
    // Its containers were killed; `kubectl describe` says why.
    assert_eq!(shows(), "0/1 Error 1");
    let reason = place
        .pods
        .get("sample")
        .await
        .unwrap()
        .status
        .unwrap()
        .reason;
    assert_eq!(reason.as_deref(), Some("Evicted"));
}

#[tokio::test]
async fn kubectl_shows_why_a_pod_does_not_run() {
    let place = Place::new().await;
    let pod = place.pod("Always").await;

    let unscheduled = kubelet()
        .unschedulable(&pod, "0/1 nodes are available")
        .await;
    assert_eq!(place.shows(), "0/1 Pending 0");
    assert_eq!(condition(&unscheduled, "PodScheduled"), "False");
    let waiting = kubelet().fail_to_start(&pod, "ImagePullBackOff", "no such image");
    let waiting = waiting.await;
    assert_eq!(place.shows(), "0/1 ImagePullBackOff 0");
    assert_eq!(condition(&waiting, "PodScheduled"), "True");
    kubelet().run(&pod).await;
    assert_eq!(place.shows(), "1/1 Running 0");
    kubelet().crash_loop(&pod, 64).await;
    assert_eq!(place.shows(), "0/1 CrashLoopBackOff 0");
    kubelet().run(&pod).await;
    assert_eq!(place.shows(), "1/1 Running 1");
    kubelet().kill_for_memory(&pod).await;
    assert_eq!(place.shows(), "0/1 CrashLoopBackOff 1");
}

#[tokio::test]
async fn a_pod_that_is_not_restarted_ends_when_it_is_killed() {
    let place = Place::new().await;
    let pod = place.pod("Never").await;

    kubelet().kill_for_memory(&pod).await;

    assert_eq!(place.shows(), "0/1 OOMKilled 0");
}

#[tokio::test]
async fn a_deleted_pod_is_removed_when_its_containers_have_ended() {
    let place = Place::new().await;
    let pod = place.pod("Always").await;
    kubelet().run(&pod).await;

    place
        .pods
        .delete("sample", &DeleteParams::default())
        .await
        .unwrap();

    let deleted = place.pods.get("sample").await.unwrap();
    assert_eq!(deleted.metadata.deletion_grace_period_seconds, Some(30));
    assert_eq!(condition(&deleted, "Ready"), "True");
    kubelet().terminate(&pod).await;
    assert_eq!(place.pods.get_opt("sample").await.unwrap(), None);
}

#[tokio::test]
async fn a_pod_with_a_finalizer_is_terminated_and_stays() {
    let place = Place::new().await;
    let pod = place.pod("Always").await;
    kubelet().run(&pod).await;
    let finalizers = |names: &[&str]| Patch::Merge(json!({ "metadata": { "finalizers": names } }));
    let (params, held) = (PatchParams::default(), finalizers(&["example.com/held"]));
    place.pods.patch("sample", &params, &held).await.unwrap();
    place
        .pods
        .delete("sample", &DeleteParams::default())
        .await
        .unwrap();

    kubelet().terminate(&pod).await;
    kubelet().terminate(&pod).await;

    let held = place.pods.get("sample").await.unwrap();
    assert_eq!(
        (phase(&held), held.metadata.deletion_grace_period_seconds),
        ("Failed", Some(0))
    );
    place
        .pods
        .patch("sample", &params, &finalizers(&[]))
        .await
        .unwrap();
    assert_eq!(place.pods.get_opt("sample").await.unwrap(), None);
}

#[tokio::test]
async fn an_impossible_step_panics_with_the_reason() {
    let place = Place::new().await;
    let name = format!("the kubelet of Pod {}/sample: ", place.namespace);
    let pod = place.pod("Never").await;

    let (not_deleted, no_failure) = (pod.clone(), pod.clone());
    let not_deleted = refusal(async move { kubelet().terminate(&not_deleted).await }).await;
    let no_failure = refusal(async move { kubelet().fail(&no_failure, 0).await }).await;
    let no_loop = pod.clone();
    let no_loop = refusal(async move { kubelet().crash_loop(&no_loop, 1).await }).await;
    kubelet().run(&pod).await;
    let (placed, started) = (pod.clone(), pod.clone());
    let placed = refusal(async move { kubelet().unschedulable(&placed, "").await }).await;
    let started = refusal(async move { kubelet().fail_to_start(&started, "A", "").await }).await;
    kubelet().fail(&pod, 1).await;
    let ended = pod.clone();
    let ended = refusal(async move { kubelet().run(&ended).await }).await;
    place
        .pods
        .delete("sample", &DeleteParams::default())
        .await
        .unwrap();
    let gone = pod.clone();
    let gone = refusal(async move { kubelet().run(&gone).await }).await;
    place.pod("Never").await;
    let another = refusal(async move { kubelet().run(&pod).await }).await;

    assert_eq!(not_deleted, format!("{name}it is not being deleted"));
    assert!(
        no_failure.contains("exit code 0 is a success: use `complete`"),
        "{no_failure}"
    );
    assert!(
        no_loop.contains("does not restart containers that end with 1"),
        "{no_loop}"
    );
    assert_eq!(placed, format!("{name}it is on the node testenv"));
    assert_eq!(started, format!("{name}its containers run"));
    assert_eq!(ended, format!("{name}it has ended, its phase is Failed"));
    assert_eq!(gone, format!("{name}it is gone"));
    assert_eq!(another, format!("{name}it is gone"));
}

#[tokio::test]
async fn concurrent_steps_for_one_pod_all_take_effect() {
    let place = Place::new().await;
    let pod = place.pod("Always").await;
    let fail = || kubelet().fail(&pod, 1);

    tokio::join!(fail(), fail(), fail(), fail());

    let pod = place.pods.get("sample").await.unwrap();
    let containers = pod.status.unwrap().container_statuses.unwrap();
    assert_eq!(containers[0].restart_count, 4);
}

#[tokio::test]
async fn a_deployment_becomes_available_and_its_pods_are_replaced() {
    let place = Place::running().await;
    let deployments = place.deployment(json!({})).await;
    place
        .env
        .wait_for(&deployments, "sample", has_available(3))
        .await;

    let pod = place.find(|_| true).await;
    kubelet().ready(&pod, false).await;
    place
        .env
        .wait_for(&deployments, "sample", has_available(2))
        .await;
    kubelet().evict(&pod).await;
    place
        .env
        .wait_for(&deployments, "sample", has_available(3))
        .await;

    // It is deleted after its template has changed and the pods of the old template have ended.
    let image = json!([{ "name": "main", "image": "other" }]);
    let change =
        Patch::Strategic(json!({ "spec": { "template": { "spec": { "containers": image } } } }));
    let params = PatchParams::default();
    let changed = deployments.patch("sample", &params, &change).await.unwrap();
    let is_rolled_out = |deployment: Option<&Deployment>| {
        let status = deployment.and_then(|deployment| deployment.status.clone());
        let status = status.unwrap_or_default();
        (
            status.observed_generation,
            status.updated_replicas,
            status.replicas,
            status.available_replicas,
        ) == (changed.metadata.generation, Some(3), Some(3), Some(3))
    };
    place
        .env
        .wait_for(&deployments, "sample", is_rolled_out)
        .await;

    let background = DeleteParams::background();
    deployments.delete("sample", &background).await.unwrap();
    for pod in place.pods.list(&ListParams::default()).await.unwrap() {
        let uid = pod.uid().unwrap();
        let gone = is_deleted(&uid);
        place.env.wait_for(&place.pods, &pod.name_any(), gone).await;
    }
}

#[tokio::test]
async fn a_pod_that_is_never_ready_keeps_the_old_ones_in_place() {
    let place = Place::new().await;
    let change = json!({ "replicas": 1, "progressDeadlineSeconds": 1 });
    let deployments = place.deployment(change).await;
    let old = place.find(|_| true).await;
    kubelet().run(&old).await;
    place
        .env
        .wait_for(&deployments, "sample", has_available(1))
        .await;

    let change = Patch::Merge(
        json!({ "spec": { "template": { "metadata": { "labels": { "new": "1" } } } } }),
    );
    deployments
        .patch("sample", &PatchParams::default(), &change)
        .await
        .unwrap();
    let new = place.find(|pod| pod.labels().contains_key("new")).await;
    kubelet().ready(&new, false).await;

    let is_stuck = |deployment: Option<&Deployment>| {
        let conditions =
            deployment.and_then(|deployment| deployment.status.as_ref()?.conditions.clone());
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|condition| condition.reason.as_deref() == Some("ProgressDeadlineExceeded"))
    };
    place.env.wait_for(&deployments, "sample", is_stuck).await;
    assert!(has_available(1)(Some(
        &deployments.get("sample").await.unwrap()
    )));
}

#[tokio::test]
async fn a_job_completes_when_its_pod_does() {
    let place = Place::running().await;
    let jobs = place.job("OnFailure", 6).await;
    let running = |job: Option<&Job>| {
        let status = job.and_then(|job| job.status.as_ref());
        status.is_some_and(|status| status.ready == Some(1))
    };
    place.env.wait_for(&jobs, "sample", running).await;
    let pod = place.find(|_| true).await;
    // Its container is restarted, and the Job continues.
    kubelet().fail(&pod, 1).await;

    kubelet().complete(&pod).await;

    place
        .env
        .wait_for(&jobs, "sample", has_condition("Complete"))
        .await;
}

#[tokio::test]
async fn a_job_fails_when_its_pods_do() {
    let place = Place::running().await;
    let jobs = place.job("Never", 1).await;

    for _ in 0..2 {
        let pod = place.find(|pod| phase(pod) == "Running").await;
        kubelet().fail(&pod, 1).await;
    }

    let failed = place
        .env
        .wait_for(&jobs, "sample", has_condition("Failed"))
        .await;
    assert_eq!(failed.unwrap().status.unwrap().failed, Some(2));
}

fn has_condition(type_: &str) -> impl Fn(Option<&Job>) -> bool {
    move |job| {
        let status = job.and_then(|job| job.status.as_ref());
        let conditions = status.and_then(|status| status.conditions.as_ref());
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|condition| condition.type_ == type_ && condition.status == "True")
    }
}

#[tokio::test]
async fn a_pod_with_a_scheduling_gate_waits_for_it() {
    let place = Place::running().await;
    let mut gated = spec("Always");
    gated["schedulingGates"] = json!([{ "name": "example.com/gate" }]);
    let gated = json!({ "metadata": { "name": "gated" }, "spec": gated });
    let gated = serde_json::from_value(gated).unwrap();
    place
        .pods
        .create(&PostParams::default(), &gated)
        .await
        .unwrap();

    // A later pod runs, so this one has been seen.
    place.pod("Always").await;
    let runs = |pod: Option<&Pod>| pod.is_some_and(|pod| phase(pod) == "Running");
    place.env.wait_for(&place.pods, "sample", runs).await;
    assert_eq!(phase(&place.pods.get("gated").await.unwrap()), "Pending");

    let open = Patch::Merge(json!({ "spec": { "schedulingGates": [] } }));
    place
        .pods
        .patch("gated", &PatchParams::default(), &open)
        .await
        .unwrap();
    place.env.wait_for(&place.pods, "gated", runs).await;
}
