// Copyright The myjob authors
// SPDX-License-Identifier: Apache-2.0

//! What happens to a MyJob, and to its Pod.

use api::v1beta1::{MyJob, Phase};
use k8s_openapi::api::core::v1::{Pod, ResourceQuota};
use kbr_runtime::is_controlled_by;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, PropagationPolicy};
use kube::runtime::wait::conditions::is_deleted;
use kube::{Api, Resource, ResourceExt};
use serde_json::json;

use crate::env;
use crate::support::{NAME, World, conditions, phase, pod_spec};

#[tokio::test]
async fn a_pod_has_everything_in_the_template_and_its_owner() {
    let world = World::new(env()).await;

    let pod = world.start(pod_spec()).await;

    let myjob = world.myjobs.get(NAME).await.unwrap();
    assert_eq!(pod.labels()["team"], "blue");
    assert_eq!(pod.annotations()["note"], "kept");
    assert!(is_controlled_by(&pod, &myjob));
    let spec = pod.spec.unwrap();
    assert_eq!(spec.restart_policy.unwrap(), "Never");
    assert_eq!(spec.containers[0].image.as_deref(), Some("busybox"));
    let event = ("Normal".to_owned(), "created Pod sample".to_owned());
    assert_eq!(world.event("PodCreated").await, event);
}

#[tokio::test]
async fn a_lifecycle_is_one_pod_and_three_phases() {
    let world = World::new(env()).await;
    let pod = world.start(pod_spec()).await;
    env().kubelet().complete(&pod).await;
    let completed = world.wait_for_reason("PodSucceeded").await;
    world.settle().await;

    let expected = [
        "Completed=True PodSucceeded: Pod sample succeeded",
        "Succeeded=True PodSucceeded: Pod sample succeeded",
    ];
    assert_eq!(conditions(&completed), expected);
    let event = ("Normal".to_owned(), "Pod sample succeeded".to_owned());
    assert_eq!(world.event("PodSucceeded").await, event);
    let requests = env().requests();
    let count = |verb: &str, resource: &str| {
        let requests = requests.iter().filter(|request| {
            (request.verb.as_str(), request.resource.as_str()) == (verb, resource)
                && request.namespace == pod.namespace()
                && request.name.as_deref() == Some(NAME)
        });
        requests.count()
    };
    assert_eq!(count("create", "pods"), 1);
    // Pending, running, completed.
    assert_eq!(count("patch", "myjobs/status"), 3);
}

#[tokio::test]
async fn a_pod_that_fails_completes_its_myjob_without_success() {
    let world = World::new(env()).await;
    let pod = world.start(pod_spec()).await;

    env().kubelet().fail(&pod, 3).await;

    let myjob = world.wait_for_reason("PodFailed").await;
    assert_eq!(phase(&myjob), Some(Phase::Completed));
    let why = "container main ended with exit code 3";
    let expected = [
        format!("Completed=True PodFailed: {why}"),
        format!("Succeeded=False PodFailed: {why}"),
    ];
    assert_eq!(conditions(&myjob), expected);
    assert_eq!(
        world.event("PodFailed").await,
        ("Warning".to_owned(), why.to_owned())
    );
}

#[tokio::test]
async fn an_eviction_is_reported() {
    let world = World::new(env()).await;
    let pod = world.start(pod_spec()).await;

    env().kubelet().evict(&pod).await;

    let myjob = world.wait_for_reason("PodFailed").await;
    let why = "Evicted: The node was low on resource: memory.";
    assert_eq!(
        conditions(&myjob)[1],
        format!("Succeeded=False PodFailed: {why}")
    );
}

#[tokio::test]
async fn a_restarted_container_does_not_complete_the_myjob() {
    let world = World::new(env()).await;
    let mut spec = pod_spec();
    spec["restartPolicy"] = json!("OnFailure");
    let pod = world.start(spec).await;

    env().kubelet().fail(&pod, 1).await;

    world.settle().await;
    let myjob = world.myjobs.get(NAME).await.unwrap();
    assert_eq!(phase(&myjob), Some(Phase::Running));
    env().kubelet().complete(&pod).await;
    world.wait_for_reason("PodSucceeded").await;
}

#[tokio::test]
async fn a_pod_that_does_not_run_says_why() {
    let world = World::new(env()).await;
    let mut spec = pod_spec();
    spec["restartPolicy"] = json!("OnFailure");
    let pod = world.start(spec).await;
    let kubelet = env().kubelet();
    let says = async |reason: &str, message: &str| {
        let myjob = world.wait_for_reason(reason).await;
        assert_eq!(phase(&myjob), Some(Phase::Running));
        let expected = format!("Completed=False {reason}: {message}");
        assert_eq!(conditions(&myjob)[0], expected);
        let event = ("Warning".to_owned(), message.to_owned());
        assert_eq!(world.event(reason).await, event);
    };

    kubelet.unschedulable(&pod, "0/1 nodes are available").await;
    says("Unschedulable", "pod sample: 0/1 nodes are available").await;
    kubelet
        .fail_to_start(&pod, "ImagePullBackOff", "not found")
        .await;
    let message = "container main of pod sample: not found";
    says("ImagePullBackOff", message).await;
    kubelet.crash_loop(&pod, 1).await;
    let message = "container main of pod sample ended with exit code 1";
    says("CrashLoopBackOff", message).await;
    kubelet.kill_for_memory(&pod).await;
    let message = "container main of pod sample ended with exit code 137";
    says("OOMKilled", message).await;

    // It runs again, which is not another Pod.
    kubelet.run(&pod).await;
    world.wait_for_reason("PodCreated").await;
    world.event("PodCreated").await;
    kubelet.complete(&pod).await;
    world.wait_for_reason("PodSucceeded").await;
}

#[tokio::test]
async fn a_pod_that_a_quota_does_not_allow_is_reported_and_retried() {
    let world = World::new(env()).await;
    let quotas = Api::<ResourceQuota>::namespaced(env().admin(), &world.namespace);
    let none = json!({ "metadata": { "name": "none" }, "spec": { "hard": { "pods": "0" } } });
    let none = serde_json::from_value(none).unwrap();
    quotas.create(&PostParams::default(), &none).await.unwrap();
    // The controller of quotas would do this, but does not run here.
    let used = json!({ "status": { "hard": { "pods": "0" }, "used": { "pods": "0" } } });
    let (params, used) = (PatchParams::default(), Patch::Merge(used));
    quotas.patch_status("none", &params, &used).await.unwrap();

    world.add(pod_spec()).await;

    let myjob = world.wait_for_reason("PodRefused").await;
    let refused = &conditions(&myjob)[0];
    assert!(refused.contains("exceeded quota: none"), "{refused}");
    let params = DeleteParams::default();
    quotas.delete("none", &params).await.unwrap();
    world.wait_for_reason("PodCreated").await;
}

#[tokio::test]
async fn a_myjob_is_completed_as_soon_as_its_pod_is_being_deleted() {
    let world = World::new(env()).await;
    let pod = world.start(pod_spec()).await;
    env().kubelet().run(&pod).await;

    world
        .pods
        .delete(NAME, &DeleteParams::default())
        .await
        .unwrap();

    let myjob = world.wait_for_reason("PodDeleted").await;
    assert_eq!(phase(&myjob), Some(Phase::Completed));
    assert!(
        world.pods.get_opt(NAME).await.unwrap().is_some(),
        "its containers still run"
    );
    // What happens to it then makes no difference, and there is no second one.
    env().kubelet().terminate(&pod).await;
    world.settle().await;
    assert_eq!(world.pods.get_opt(NAME).await.unwrap(), None);
    let why = "Pod sample was deleted before it ended";
    assert_eq!(
        conditions(&world.myjobs.get(NAME).await.unwrap()),
        [
            format!("Completed=True PodDeleted: {why}"),
            format!("Succeeded=False PodDeleted: {why}")
        ]
    );
    assert_eq!(
        world.event("PodDeleted").await,
        ("Warning".to_owned(), why.to_owned())
    );
}

#[tokio::test]
async fn a_pod_that_is_deleted_immediately_completes_its_myjob_too() {
    let world = World::new(env()).await;
    world.start(pod_spec()).await;

    // It never had a node, so the deletion does not wait for a kubelet.
    world
        .pods
        .delete(NAME, &DeleteParams::default())
        .await
        .unwrap();

    world.wait_for_reason("PodDeleted").await;
    assert_eq!(world.pods.get_opt(NAME).await.unwrap(), None);
}

#[tokio::test]
async fn a_completed_myjob_stays_completed_when_the_pod_is_deleted() {
    let world = World::new(env()).await;
    let pod = world.start(pod_spec()).await;
    env().kubelet().complete(&pod).await;
    let completed = world.wait_for_reason("PodSucceeded").await;

    world
        .pods
        .delete(NAME, &DeleteParams::default())
        .await
        .unwrap();
    world.settle().await;

    let myjob = world.myjobs.get(NAME).await.unwrap();
    assert_eq!(myjob.status, completed.status);
    assert_eq!(world.pods.get_opt(NAME).await.unwrap(), None);
}

#[tokio::test]
async fn a_pod_of_somebody_else_is_left_alone_until_it_is_deleted() {
    let world = World::new(env()).await;
    let other = world.add_pod().await;

    world.add(pod_spec()).await;

    let myjob = world.wait_for_reason("PodNameTaken").await;
    assert_eq!(phase(&myjob), Some(Phase::Pending));
    let why =
        "Pod sample exists and is not controlled by this MyJob: delete it, or use another name";
    assert_eq!(
        conditions(&myjob)[0],
        format!("Completed=False PodNameTaken: {why}")
    );
    assert_eq!(
        world.event("PodNameTaken").await,
        ("Warning".to_owned(), why.to_owned())
    );
    // Whatever happens to it does not affect the MyJob.
    env().kubelet().complete(&other).await;
    world.settle().await;
    assert_eq!(
        phase(&world.myjobs.get(NAME).await.unwrap()),
        Some(Phase::Pending)
    );
    let stored = world.pods.get(NAME).await.unwrap();
    assert_eq!(
        (stored.uid(), stored.owner_references()),
        (other.uid(), [].as_slice())
    );

    world
        .pods
        .delete(NAME, &DeleteParams::default())
        .await
        .unwrap();

    let myjob = world.wait_for_reason("PodCreated").await;
    assert!(is_controlled_by(
        &world.pods.get(NAME).await.unwrap(),
        &myjob
    ));
}

#[tokio::test]
async fn the_pod_of_an_earlier_myjob_of_the_same_name_is_left_alone() {
    let world = World::new(env()).await;
    let before = world.start(pod_spec()).await;
    // Kubernetes does not delete this Pod: it has lost its owner, but was orphaned on purpose.
    let orphan = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Orphan),
        ..DeleteParams::default()
    };
    let uid = world.myjobs.get(NAME).await.unwrap().uid().unwrap();
    world.myjobs.delete(NAME, &orphan).await.unwrap();
    env().wait_for(&world.myjobs, NAME, is_deleted(&uid)).await;

    world.add(pod_spec()).await;

    world.wait_for_reason("PodNameTaken").await;
    assert_eq!(world.pods.get(NAME).await.unwrap().uid(), before.uid());
}

#[tokio::test]
async fn a_pod_is_deleted_with_its_myjob() {
    let world = World::new(env()).await;
    let pod = world.start(pod_spec()).await;
    env().kubelet().run(&pod).await;

    world
        .myjobs
        .delete(NAME, &DeleteParams::background())
        .await
        .unwrap();

    let is_terminating =
        |pod: Option<&Pod>| pod.is_some_and(|pod| pod.meta().deletion_timestamp.is_some());
    env().wait_for(&world.pods, NAME, is_terminating).await;
    env().kubelet().terminate(&pod).await;
    assert_eq!(world.pods.get_opt(NAME).await.unwrap(), None);
    assert_eq!(world.myjobs.get_opt(NAME).await.unwrap(), None);
}

#[tokio::test]
async fn a_pod_that_the_api_server_rejects_is_reported_and_retried() {
    let world = World::new(env()).await;
    let mut spec = pod_spec();
    spec["activeDeadlineSeconds"] = json!(-1);

    world.add(spec).await;

    let myjob = world.wait_for_reason("PodRefused").await;
    assert_eq!(phase(&myjob), Some(Phase::Pending));
    let refused = &conditions(&myjob)[0];
    assert!(
        refused.contains("spec.activeDeadlineSeconds: Invalid value: -1"),
        "{refused}"
    );
    let (type_, note) = world.event("PodRefused").await;
    assert_eq!(type_, "Warning");
    assert!(refused.ends_with(&note), "{note}");
    let namespace = myjob.namespace();
    let requests = env().requests().into_iter().filter(|request| {
        (request.verb.as_str(), request.resource.as_str()) == ("create", "pods")
            && request.namespace == namespace
            && request.code == 422
    });
    assert!(requests.count() > 1);
}

#[tokio::test]
async fn a_state_that_returns_is_counted_in_its_first_event() {
    let world = World::new(env()).await;
    world.add_pod().await;
    let mut spec = pod_spec();
    spec["activeDeadlineSeconds"] = json!(-1);
    world.add(spec).await;
    world.wait_for_reason("PodNameTaken").await;
    world
        .pods
        .delete(NAME, &DeleteParams::default())
        .await
        .unwrap();
    world.wait_for_reason("PodRefused").await;

    world.add_pod().await;

    world.wait_for_reason("PodNameTaken").await;
    let events = world.events("PodNameTaken").await;
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(events[0].series.as_ref().unwrap().count, 2);
}

#[tokio::test]
async fn conditions_of_others_are_left_alone() {
    let world = World::new(env()).await;
    let pod = world.start(pod_spec()).await;
    let mut other = world
        .myjobs
        .get(NAME)
        .await
        .unwrap()
        .status
        .unwrap()
        .conditions
        .remove(0);
    other.type_ = "Other".to_owned();
    let patch = Patch::Apply(json!({
        "apiVersion": MyJob::api_version(&()),
        "kind": MyJob::kind(&()),
        "status": { "conditions": [other] },
    }));
    let params = PatchParams::apply("another");
    world
        .myjobs
        .patch_status(NAME, &params, &patch)
        .await
        .unwrap();

    env().kubelet().complete(&pod).await;

    let myjob = world.wait_for_reason("PodSucceeded").await;
    assert_eq!(myjob.status.unwrap().conditions.len(), 3);
}

#[tokio::test]
async fn kubectl_shows_the_phase_and_the_success() {
    let world = World::new(env()).await;
    let pod = world.start(pod_spec()).await;
    let shown = || {
        let namespace = format!("--namespace={}", pod.namespace().unwrap());
        let get = ["get", "myjobs", NAME, "--no-headers", &namespace];
        let output = env().kubectl().args(get).output().unwrap();
        let line = String::from_utf8(output.stdout).unwrap();
        let words: Vec<_> = line.split_whitespace().take(3).collect();
        words.join(" ")
    };
    assert_eq!(shown(), "sample running Unknown");

    env().kubelet().complete(&pod).await;

    world.wait_for_reason("PodSucceeded").await;
    assert_eq!(shown(), "sample completed True");
}
