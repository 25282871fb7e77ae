// Copyright The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! The ConfigMap that a Guestbook refers to: it belongs to somebody else, and may be created, changed and
//! deleted.

use api::v1::Guestbook;
use k8s_openapi::api::apps::v1::Deployment;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::json;

use crate::env;
use crate::support::{SETTINGS, World, config_hash, names, ready, replicas, roles, uids};

#[tokio::test]
async fn there_is_no_deployment_until_the_config_map_exists() {
    let world = World::new(env()).await;
    env().kubelet().run_all_in(&world.namespace).unwrap();

    let spec = json!({ "size": 2, "configMapName": SETTINGS });
    world.create("sample", spec).await;

    let guestbook = world.wait_for("sample", "ConfigMapMissing").await;
    let refusal = ready(&guestbook).unwrap();
    assert_eq!(refusal.status, "False");
    assert_eq!(refusal.message, "there is no ConfigMap settings");
    assert_eq!(roles(&guestbook), (None, [].as_slice()));
    let deployments = world.deployments.list(&ListParams::default()).await;
    assert!(deployments.unwrap().items.is_empty());

    world.quiet().await;
    world.create_settings(SETTINGS, "Hello").await;

    world.ready("sample", 2).await;
}

#[tokio::test]
async fn new_data_replaces_all_pods() {
    let world = World::running(env()).await;
    world.start("sample", 3).await;
    let before = world.deployments.get("sample").await.unwrap();
    let old = names(&world.living_pods().await);

    world.quiet().await;
    world.greet(SETTINGS, "Welcome").await;

    let is_other = |now: &Deployment| config_hash(now) != config_hash(&before);
    let after = world.wait_deployment("sample", is_other).await;
    // No old pod is left in the status by the time it becomes ready again.
    let is_ready = |now: &Guestbook| ready(now).is_some_and(|ready| ready.status == "True");
    let is_old = |name: &str| old.iter().any(|pod| pod == name);
    let is_renewed = |now: &Guestbook| {
        let (active, standbys) = roles(now);
        let mut pods = active
            .into_iter()
            .chain(standbys.iter().map(String::as_str));
        is_ready(now) && !pods.any(is_old)
    };
    world.wait("sample", is_renewed).await;
    let pods = world.living_pods().await;
    assert_eq!(pods.len(), 3);
    for pod in pods {
        let hash = &pod.annotations()["webapp.my.domain/config-hash"];
        assert_eq!(Some(hash), config_hash(&after));
    }
}

#[tokio::test]
async fn a_guestbook_is_not_ready_while_pods_are_replaced() {
    // Nothing runs the pods here, so the rollout does not progress by itself.
    let world = World::new(env()).await;
    world.create_settings(SETTINGS, "Hello").await;
    world
        .create("sample", json!({ "size": 1, "configMapName": SETTINGS }))
        .await;
    world.run_pods(1).await;
    world.ready("sample", 1).await;

    world.greet(SETTINGS, "Welcome").await;

    // The old pod serves until the new one does.
    let guestbook = world.wait_for("sample", "PodsNotReady").await;
    let old = roles(&guestbook).0.map(str::to_owned);
    let has_both = |now: &Guestbook| {
        let (active, standbys) = roles(now);
        active == old.as_deref() && standbys.len() == 1
    };
    let guestbook = world.wait("sample", has_both).await;
    assert_eq!(ready(&guestbook).unwrap().status, "False");
    env().kubelet().run_all_in(&world.namespace).unwrap();

    let guestbook = world.ready("sample", 1).await;
    assert_ne!(roles(&guestbook).0, old.as_deref());
}

#[tokio::test]
async fn only_data_replaces_pods() {
    let world = World::running(env()).await;
    world.start("sample", 1).await;
    let before = world.deployments.get("sample").await.unwrap();

    for change in [
        json!({ "metadata": { "labels": { "team": "blue" } } }),
        json!({ "binaryData": { "picture": "AAAA" } }),
    ] {
        world
            .reconciling(world.patch_settings(SETTINGS, change))
            .await;
    }

    let after = world.deployments.get("sample").await.unwrap();
    assert_eq!(after.metadata.generation, before.metadata.generation);
}

#[tokio::test]
async fn a_deleted_config_map_leaves_the_pods_as_they_are_until_it_is_back() {
    let world = World::running(env()).await;
    let guestbook = world.start("sample", 2).await;
    let before = world.deployments.get("sample").await.unwrap();
    let pods = uids(&world.living_pods().await);

    world.quiet().await;
    world.delete_settings(SETTINGS).await;

    let missing = world.wait_for("sample", "ConfigMapMissing").await;
    assert_eq!(roles(&missing), roles(&guestbook));
    // Another pod could not start.
    world
        .patch("sample", json!({ "spec": { "size": 3 } }))
        .await;
    world.wait_for("sample", "ConfigMapMissing").await;
    let after = world.deployments.get("sample").await.unwrap();
    assert_eq!(after.metadata.generation, before.metadata.generation);

    world.quiet().await;
    // With the same data the pods stay, and with the new size there is one more.
    world.create_settings(SETTINGS, "Hello").await;

    world.ready("sample", 3).await;
    let now = uids(&world.living_pods().await);
    assert!(pods.iter().all(|pod| now.contains(pod)));
    let after = world.deployments.get("sample").await.unwrap();
    assert_eq!(replicas(&after), Some(3));
    assert_eq!(config_hash(&after), config_hash(&before));
}

#[tokio::test]
async fn a_reference_to_another_config_map_is_followed() {
    let world = World::running(env()).await;
    world.create_settings("others", "Hello").await;
    world.start("sample", 1).await;
    let before = world.deployments.get("sample").await.unwrap();

    let reference = json!({ "spec": { "configMapName": "others" } });
    world.patch("sample", reference).await;

    world.ready("sample", 1).await;
    let other = world.deployments.get("sample").await.unwrap();
    // The same data has the same hash in another ConfigMap.
    assert_eq!(config_hash(&other), config_hash(&before));
    let from = &json!(other.spec)["template"]["spec"]["containers"][0]["envFrom"];
    assert_eq!(*from, json!([{ "configMapRef": { "name": "others" } }]));

    world.quiet().await;
    world.delete_settings(SETTINGS).await;
    world.greet("others", "Welcome").await;

    let is_other = |now: &Deployment| config_hash(now) != config_hash(&before);
    world.wait_deployment("sample", is_other).await;
    world.ready("sample", 1).await;
}

#[tokio::test]
async fn every_guestbook_that_refers_to_a_config_map_follows_it() {
    let world = World::running(env()).await;
    world.start("one", 1).await;
    world.start("two", 1).await;
    let before = world.deployments.get("one").await.unwrap();

    world.quiet().await;
    world.greet(SETTINGS, "Welcome").await;

    let is_other = |now: &Deployment| config_hash(now) != config_hash(&before);
    let one = world.wait_deployment("one", is_other).await;
    let two = world.wait_deployment("two", is_other).await;
    assert_eq!(config_hash(&one), config_hash(&two));
}

#[tokio::test]
async fn a_config_map_of_another_namespace_does_not_count() {
    let (here, there) = (World::running(env()).await, World::running(env()).await);
    here.start("sample", 1).await;
    there.start("sample", 1).await;
    let before = here.deployments.get("sample").await.unwrap();

    here.quiet().await;
    let reads = here.reads();
    there.reconciling(there.greet(SETTINGS, "Welcome")).await;

    here.quiet().await;
    assert_eq!(here.reads(), reads);
    let after = here.deployments.get("sample").await.unwrap();
    assert_eq!(config_hash(&after), config_hash(&before));
    let other = there.deployments.get("sample").await.unwrap();
    assert_ne!(config_hash(&other), config_hash(&before));
}

#[tokio::test]
async fn a_config_map_is_read_and_never_written() {
    let world = World::running(env()).await;
    let before = world.config_maps.get(SETTINGS).await.unwrap();

    world.start("sample", 1).await;
    world.quiet().await;

    assert_eq!(world.config_maps.get(SETTINGS).await.unwrap(), before);
    assert!(before.owner_references().is_empty());
}
