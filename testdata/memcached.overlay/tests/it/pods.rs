// Copyright The memcached authors
// SPDX-License-Identifier: Apache-2.0

//! What happens to a Memcached where Kubernetes' own controllers run: pods, their names in the status, and
//! what is deleted with it.

use api::v1::Memcached;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, ResourceQuota, Service};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::kubernetes;

/// A namespace of its own, with one Memcached.
struct World {
    memcacheds: Api<Memcached>,
    pods: Api<Pod>,
    namespace: String,
}

impl World {
    async fn new(size: usize) -> Self {
        let namespace = kubernetes().namespace().await;
        let world = Self {
            memcacheds: Api::namespaced(kubernetes().admin(), &namespace),
            pods: Api::namespaced(kubernetes().admin(), &namespace),
            namespace,
        };
        let mut memcached: Memcached =
            kubernetes().read("config/samples/memcached_v1_memcached.yaml");
        memcached.metadata.name = Some("sample".to_owned());
        memcached.spec.size = i32::try_from(size).unwrap();
        let params = PostParams::default();
        world.memcacheds.create(&params, &memcached).await.unwrap();
        world.wait_for(size).await;
        world
    }

    /// Waits until the Memcached is available with `size` pods.
    async fn wait_for(&self, size: usize) -> Vec<String> {
        let is_so = |memcached: Option<&Memcached>| {
            let status = memcached.and_then(|memcached| memcached.status.as_ref());
            status.is_some_and(|status| {
                let mut conditions = status.conditions.iter();
                let is_available =
                    conditions.any(|it| it.type_ == "Available" && it.status == "True");
                is_available && status.nodes.len() == size
            })
        };
        let found = kubernetes().wait_for(&self.memcacheds, "sample", is_so);
        found.await.unwrap().status.unwrap().nodes
    }

    /// Waits until the condition `Degraded` has this reason and a message with this text.
    async fn wait_for_problem(&self, reason: &str, text: &str) {
        let is_so = |memcached: Option<&Memcached>| {
            let status = memcached.and_then(|memcached| memcached.status.as_ref());
            status.is_some_and(|status| {
                let mut conditions = status.conditions.iter();
                conditions.any(|it| {
                    it.type_ == "Degraded" && it.reason == reason && it.message.contains(text)
                })
            })
        };
        kubernetes()
            .wait_for(&self.memcacheds, "sample", is_so)
            .await;
    }

    async fn resize(&self, size: usize) {
        let size = Patch::Merge(json!({ "spec": { "size": size } }));
        let params = PatchParams::default();
        let changed = self.memcacheds.patch("sample", &params, &size).await;
        changed.unwrap();
    }

    /// The names of the pods that are not being deleted.
    async fn names(&self) -> Vec<String> {
        let pods = self.pods.list(&ListParams::default()).await.unwrap();
        let pods = pods.into_iter();
        let pods = pods.filter(|pod| pod.metadata.deletion_timestamp.is_none());
        let mut names: Vec<_> = pods.map(|pod| pod.name_any()).collect();
        names.sort();
        names
    }
}

#[tokio::test]
async fn the_status_lists_the_pods_when_scaling_up_and_down() {
    let world = World::new(3).await;
    assert_eq!(world.wait_for(3).await, world.names().await);

    for size in [5, 2, 0, 1] {
        world.resize(size).await;
        assert_eq!(world.wait_for(size).await, world.names().await);
    }
}

#[tokio::test]
async fn a_deleted_pod_is_replaced() {
    let world = World::new(2).await;
    let old = world.names().await;

    let params = DeleteParams::default();
    world.pods.delete(&old[0], &params).await.unwrap();

    let is_replaced = |memcached: Option<&Memcached>| {
        let status = memcached.and_then(|memcached| memcached.status.as_ref());
        let pods = status.map(|status| &status.nodes);
        pods.is_some_and(|pods| pods.len() == 2 && !pods.contains(&old[0]))
    };
    kubernetes()
        .wait_for(&world.memcacheds, "sample", is_replaced)
        .await;
    assert!(world.names().await.contains(&old[1]));
}

#[tokio::test]
async fn pods_that_crash_are_reported_until_they_run_again() {
    let world = World::new(2).await;
    let pod = world.pods.get(&world.names().await[1]).await.unwrap();
    let kubelet = kubernetes().kubelet();

    kubelet.crash_loop(&pod, 64).await;
    let text = format!(
        "container memcached of pod {} ended with exit code 64",
        pod.name_any()
    );
    world.wait_for_problem("CrashLoopBackOff", &text).await;
    kubelet.kill_for_memory(&pod).await;
    world.wait_for_problem("OOMKilled", "137").await;

    kubelet.run(&pod).await;
    world.wait_for_problem("AsWanted", "").await;
    world.wait_for(2).await;
}

/// The Deployment's own controllers report that, as they do in a cluster.
#[tokio::test]
async fn pods_that_a_quota_does_not_allow_are_reported() {
    let world = World::new(1).await;
    let quotas = Api::<ResourceQuota>::namespaced(kubernetes().admin(), &world.namespace);
    let one = json!({ "metadata": { "name": "one" }, "spec": { "hard": { "pods": "1" } } });
    let one = serde_json::from_value(one).unwrap();
    quotas.create(&PostParams::default(), &one).await.unwrap();
    // The controller of quotas would do this, but does not run here.
    let used = json!({ "status": { "hard": { "pods": "1" }, "used": { "pods": "1" } } });
    let params = PatchParams::default();
    let used = Patch::Merge(used);
    quotas.patch_status("one", &params, &used).await.unwrap();

    world.resize(2).await;

    let text = "exceeded quota: one, requested: pods=1, used: pods=1, limited: pods=1";
    world.wait_for_problem("FailedCreate", text).await;
}

#[tokio::test]
async fn a_pod_of_another_memcached_is_not_counted() {
    let world = World::new(1).await;
    let other = json!({
        "metadata": {
            "name": "other",
            "labels": {
                "app.kubernetes.io/name": "memcached",
                "app.kubernetes.io/instance": "other",
                "app.kubernetes.io/managed-by": "memcached",
            },
        },
        "spec": { "containers": [{ "name": "other", "image": "other" }] },
    });
    let other = serde_json::from_value(other).unwrap();
    world
        .pods
        .create(&PostParams::default(), &other)
        .await
        .unwrap();

    world.resize(2).await;

    let pods = world.wait_for(2).await;
    assert!(!pods.contains(&"other".to_owned()), "{pods:?}");
}

#[tokio::test]
async fn owned_objects_are_deleted_after_the_memcached() {
    let world = World::new(1).await;
    let deployments = Api::<Deployment>::namespaced(kubernetes().admin(), &world.namespace);
    let services = Api::<Service>::namespaced(kubernetes().admin(), &world.namespace);

    let params = DeleteParams::default();
    world.memcacheds.delete("sample", &params).await.unwrap();

    let is_gone = |it: Option<&Deployment>| it.is_none();
    kubernetes().wait_for(&deployments, "sample", is_gone).await;
    let is_gone = |it: Option<&Service>| it.is_none();
    kubernetes().wait_for(&services, "sample", is_gone).await;
}
