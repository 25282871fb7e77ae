// Copyright The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! Which pod is active and which are standbys. Each test plays the kubelet for its pods.

use std::collections::BTreeMap;

use api::v1::Guestbook;
use k8s_openapi::api::core::v1::{Pod, ResourceQuota};
use k8s_openapi::api::events::v1::Event;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::env;
use crate::support::{SETTINGS, World, names, ready, roles};

/// A Guestbook with three pods, none of which runs; the pods are sorted by age.
async fn three() -> (World, Vec<Pod>) {
    let world = World::new(env()).await;
    world.create_settings(SETTINGS, "Hello").await;
    let spec = json!({ "size": 3, "configMapName": SETTINGS });
    world.create("sample", spec).await;
    let mut pods = world.wait_pods(3).await;
    pods.sort_by_key(|pod| (pod.creation_timestamp(), pod.name_any()));
    (world, pods)
}

/// A Guestbook with three running pods, sorted by age.
async fn three_running() -> (World, Vec<Pod>) {
    let (world, pods) = three().await;
    for pod in &pods {
        env().kubelet().run(pod).await;
    }
    world.ready("sample", 3).await;
    (world, pods)
}

/// Creates a pod manually, with the given labels.
async fn create(world: &World, name: &str, labels: &BTreeMap<String, String>) -> Pod {
    let pod = json!({
        "metadata": { "name": name, "labels": labels },
        "spec": { "containers": [{ "name": "main", "image": "busybox" }] },
    });
    let pod = serde_json::from_value(pod).unwrap();
    world
        .pods
        .create(&PostParams::default(), &pod)
        .await
        .unwrap()
}

/// Waits until `active` is the active pod, and `standbys` are the standbys.
async fn wait_for_roles(world: &World, active: Option<&Pod>, standbys: &[&Pod]) {
    let active = active.map(ResourceExt::name_any);
    let mut standbys: Vec<_> = standbys.iter().map(|pod| pod.name_any()).collect();
    standbys.sort();
    let expected = (active.as_deref(), standbys.as_slice());
    world.wait("sample", |now| roles(now) == expected).await;
}

#[tokio::test]
async fn a_pod_is_active_until_an_older_one_is_ready() {
    let (world, pods) = three().await;
    let [a, b, c] = pods.as_slice() else {
        panic!("three pods");
    };
    wait_for_roles(&world, None, &[a, b, c]).await;

    env().kubelet().ready(b, false).await;
    env().kubelet().run(c).await;
    wait_for_roles(&world, Some(c), &[a, b]).await;
    env().kubelet().ready(b, true).await;
    wait_for_roles(&world, Some(b), &[a, c]).await;
    let message = "3 of 3 pods are up to date, 2 are ready";
    let says = |now: &Guestbook| ready(now).is_some_and(|ready| ready.message == message);
    let guestbook = world.wait("sample", says).await;
    assert_eq!(ready(&guestbook).unwrap().reason, "PodsNotReady");

    env().kubelet().run(a).await;
    wait_for_roles(&world, Some(a), &[b, c]).await;
    world.ready("sample", 3).await;
}

/// How many events with that reason there are about `sample`, repetitions included.
async fn events(world: &World, reason: &str) -> i32 {
    let events = Api::<Event>::namespaced(env().admin(), &world.namespace);
    let events = events.list(&ListParams::default()).await.unwrap();
    let about = events.into_iter().filter(|event| {
        let regarding = event.regarding.as_ref();
        let is_about = regarding.is_some_and(|it| it.name.as_deref() == Some("sample"));
        is_about && event.reason.as_deref() == Some(reason)
    });
    let counts = about.map(|event| event.series.map_or(1, |series| series.count));
    counts.sum()
}

/// Waits until `sample` is not ready for this reason, with this text in the message.
async fn wait_for_problem(world: &World, reason: &str, text: &str) {
    let is_so = |now: &Guestbook| {
        ready(now).is_some_and(|ready| ready.reason == reason && ready.message.contains(text))
    };
    let guestbook = world.wait("sample", is_so).await;
    assert_eq!(ready(&guestbook).unwrap().status, "False");
}

#[tokio::test]
async fn a_pod_that_does_not_run_says_why() {
    let (world, pods) = three().await;
    let [a, b, c] = pods.as_slice() else {
        panic!("three pods");
    };
    let kubelet = env().kubelet();
    let message = "0/3 nodes are available: 3 Insufficient memory.";
    kubelet.unschedulable(a, message).await;
    let text = "3 of 3 pods are up to date, 0 are ready; pod ";
    wait_for_problem(&world, "Unschedulable", text).await;
    wait_for_problem(&world, "Unschedulable", message).await;

    let message = "configmap \"settings\" not found";
    kubelet
        .fail_to_start(a, "CreateContainerConfigError", message)
        .await;
    wait_for_problem(&world, "CreateContainerConfigError", message).await;
    kubelet
        .fail_to_start(a, "ImagePullBackOff", "not found")
        .await;
    wait_for_problem(&world, "ImagePullBackOff", "not found").await;
    for pod in [a, b, c] {
        kubelet.run(pod).await;
    }
    world.ready("sample", 3).await;

    kubelet.crash_loop(b, 1).await;
    wait_for_problem(&world, "CrashLoopBackOff", "exit code 1").await;
    kubelet.run(b).await;
    world.ready("sample", 3).await;
    kubelet.kill_for_memory(b).await;
    wait_for_problem(&world, "OOMKilled", "exit code 137").await;
    kubelet.run(b).await;
    world.ready("sample", 3).await;
    // It begins again, which is counted in the same event.
    kubelet.crash_loop(b, 1).await;
    wait_for_problem(&world, "CrashLoopBackOff", "exit code 1").await;

    world.quiet().await;
    for (reason, count) in [
        ("Unschedulable", 1),
        ("CreateContainerConfigError", 1),
        ("ImagePullBackOff", 1),
        ("OOMKilled", 1),
        ("CrashLoopBackOff", 2),
    ] {
        assert_eq!(events(&world, reason).await, count, "{reason}");
    }
}

#[tokio::test]
async fn pods_that_a_quota_does_not_allow_are_reported() {
    let world = World::new(env()).await;
    let quotas = Api::<ResourceQuota>::namespaced(env().admin(), &world.namespace);
    let none = json!({ "metadata": { "name": "none" }, "spec": { "hard": { "pods": "0" } } });
    let none = serde_json::from_value(none).unwrap();
    quotas.create(&PostParams::default(), &none).await.unwrap();
    // The controller of quotas would do this, but does not run here.
    let used = json!({ "status": { "hard": { "pods": "0" }, "used": { "pods": "0" } } });
    let (params, used) = (PatchParams::default(), Patch::Merge(used));
    quotas.patch_status("none", &params, &used).await.unwrap();
    world.create_settings(SETTINGS, "Hello").await;

    let spec = json!({ "size": 1, "configMapName": SETTINGS });
    world.create("sample", spec).await;

    wait_for_problem(&world, "FailedCreate", "exceeded quota: none").await;
    world.quiet().await;
    assert_eq!(events(&world, "FailedCreate").await, 1);
}

#[tokio::test]
async fn an_active_pod_that_is_no_longer_ready_becomes_a_standby() {
    let (world, pods) = three_running().await;
    let [a, b, c] = pods.as_slice() else {
        panic!("three pods");
    };
    wait_for_roles(&world, Some(a), &[b, c]).await;

    env().kubelet().ready(a, false).await;

    wait_for_roles(&world, Some(b), &[a, c]).await;
    world.wait_for("sample", "PodsNotReady").await;
}

#[tokio::test]
async fn a_deleted_pod_is_replaced_and_the_next_one_is_active() {
    let (world, pods) = three_running().await;
    let [a, b, c] = pods.as_slice() else {
        panic!("three pods");
    };

    let params = DeleteParams::default();
    world.pods.delete(&a.name_any(), &params).await.unwrap();

    // It is being deleted, but still exists: its containers have not ended.
    let is_next = |now: &Guestbook| {
        let (active, standbys) = roles(now);
        active == Some(&b.name_any()) && standbys.len() == 2 && standbys.contains(&c.name_any())
    };
    let guestbook = world.wait("sample", is_next).await;
    assert!(!roles(&guestbook).1.contains(&a.name_any()));
    world.run_pods(3).await;
    world.ready("sample", 3).await;
}

#[tokio::test]
async fn an_evicted_pod_does_not_count_though_it_exists() {
    let (world, pods) = three_running().await;
    let [a, b, _] = pods.as_slice() else {
        panic!("three pods");
    };

    env().kubelet().evict(a).await;

    let is_next = |now: &Guestbook| {
        let (active, standbys) = roles(now);
        active == Some(&b.name_any()) && standbys.len() == 2
    };
    world.wait("sample", is_next).await;
    env().kubelet().run_all_in(&world.namespace).unwrap();
    let guestbook = world.ready("sample", 3).await;
    let all = names(&world.living_pods().await);
    assert!(all.contains(&a.name_any()));
    assert!(!roles(&guestbook).1.contains(&a.name_any()));
}

#[tokio::test]
async fn a_pod_of_a_namesake_does_not_count() {
    let (world, pods) = three_running().await;
    let [a, b, c] = pods.as_slice() else {
        panic!("three pods");
    };
    let before = world.guestbooks.get("sample").await.unwrap();

    // All labels but the uid are those of the Guestbook, as if there had been an earlier one.
    let mut labels = a.labels().clone();
    let other = "014dbd28-1f25-42cb-a79c-955b98409d02".to_owned();
    labels.insert("webapp.my.domain/guestbook-uid".to_owned(), other);
    world
        .reconciling(async {
            let pod = create(&world, "a-namesake", &labels).await;
            env().kubelet().run(&pod).await;
        })
        .await;

    wait_for_roles(&world, Some(a), &[b, c]).await;
    let after = world.guestbooks.get("sample").await.unwrap();
    assert_eq!(after.status, before.status);
}

#[tokio::test]
async fn a_pod_counts_by_its_labels_and_triggers_a_reconcile_by_itself() {
    let (world, pods) = three_running().await;
    let [a, b, c] = pods.as_slice() else {
        panic!("three pods");
    };
    world.quiet().await;

    // It has no ReplicaSet, so the Deployment does not know of it, and does not change.
    let mut labels = a.labels().clone();
    labels.remove("pod-template-hash");
    let other = create(&world, "a-stranger", &labels).await;

    wait_for_roles(&world, Some(a), &[b, c, &other]).await;
    world.wait_for("sample", "PodsNotReady").await;
    let params = DeleteParams::default();
    world.pods.delete("a-stranger", &params).await.unwrap();

    wait_for_roles(&world, Some(a), &[b, c]).await;
    world.ready("sample", 3).await;
}
