// Copyright The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! Shared by the tests: Guestbooks in a namespace of their own, and what happens to them.

use std::time::Duration;

use api::v1::Guestbook;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kbr_testing::{AuditedRequest, TestEnv};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

/// The name of the ConfigMap that most Guestbooks here refer to.
pub const SETTINGS: &str = "settings";

/// How long to wait for what only the audit log shows: far longer than it should take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A namespace, and the objects in it.
pub struct World {
    pub env: &'static TestEnv,
    pub namespace: String,
    pub guestbooks: Api<Guestbook>,
    pub deployments: Api<Deployment>,
    pub config_maps: Api<ConfigMap>,
    pub pods: Api<Pod>,
}

impl World {
    /// A namespace where no pod runs until the test says so.
    pub async fn new(env: &'static TestEnv) -> Self {
        let namespace = env.namespace().await;
        Self {
            env,
            guestbooks: Api::namespaced(env.admin(), &namespace),
            deployments: Api::namespaced(env.admin(), &namespace),
            config_maps: Api::namespaced(env.admin(), &namespace),
            pods: Api::namespaced(env.admin(), &namespace),
            namespace,
        }
    }

    /// A namespace where every pod runs, and the settings exist.
    pub async fn running(env: &'static TestEnv) -> Self {
        let world = Self::new(env).await;
        env.kubelet().run_all_in(&world.namespace).unwrap();
        world.create_settings(SETTINGS, "Hello").await;
        world
    }

    /// Creates a ConfigMap with one key.
    pub async fn create_settings(&self, name: &str, greeting: &str) -> ConfigMap {
        let settings = json!({ "metadata": { "name": name }, "data": { "GREETING": greeting } });
        let settings = serde_json::from_value(settings).unwrap();
        let params = PostParams::default();
        self.config_maps.create(&params, &settings).await.unwrap()
    }

    /// Changes a ConfigMap with a merge patch.
    pub async fn patch_settings(&self, name: &str, change: Value) -> ConfigMap {
        let (params, change) = (PatchParams::default(), Patch::Merge(change));
        let patched = self.config_maps.patch(name, &params, &change);
        patched.await.unwrap()
    }

    pub async fn greet(&self, name: &str, greeting: &str) -> ConfigMap {
        let change = json!({ "data": { "GREETING": greeting } });
        self.patch_settings(name, change).await
    }

    pub async fn delete_settings(&self, name: &str) {
        let params = DeleteParams::default();
        self.config_maps.delete(name, &params).await.unwrap();
    }

    /// Creates a Guestbook with the given spec.
    pub async fn create(&self, name: &str, spec: Value) -> Guestbook {
        let guestbook = Guestbook::new(name, serde_json::from_value(spec).unwrap());
        let params = PostParams::default();
        self.guestbooks.create(&params, &guestbook).await.unwrap()
    }

    /// Creates a Guestbook of the given size, and waits until it is ready.
    pub async fn start(&self, name: &str, size: i32) -> Guestbook {
        let spec = json!({ "size": size, "configMapName": SETTINGS });
        self.create(name, spec).await;
        self.ready(name, size).await
    }

    /// Changes a Guestbook with a merge patch.
    pub async fn patch(&self, name: &str, change: Value) -> Guestbook {
        let (params, change) = (PatchParams::default(), Patch::Merge(change));
        let patched = self.guestbooks.patch(name, &params, &change);
        patched.await.unwrap()
    }

    /// Waits until the Guestbook satisfies the condition.
    pub async fn wait(&self, name: &str, is_so: impl Fn(&Guestbook) -> bool) -> Guestbook {
        let is_so = |guestbook: Option<&Guestbook>| guestbook.is_some_and(&is_so);
        let guestbook = self.env.wait_for(&self.guestbooks, name, is_so).await;
        guestbook.unwrap()
    }

    /// Waits until the status has the given reason for the current spec.
    pub async fn wait_for(&self, name: &str, reason: &str) -> Guestbook {
        let is_so = |guestbook: &Guestbook| {
            let generation = guestbook.metadata.generation;
            ready(guestbook).is_some_and(|ready| {
                ready.reason == reason && ready.observed_generation == generation
            })
        };
        self.wait(name, is_so).await
    }

    /// Waits until the status reports that `size` pods of the current spec are ready.
    pub async fn ready(&self, name: &str, size: i32) -> Guestbook {
        let guestbook = self.wait_for(name, "PodsReady").await;
        assert_eq!(guestbook.spec.size, size);
        let pods = roles(&guestbook).1.len() + 1;
        assert_eq!(pods, usize::try_from(size).unwrap());
        guestbook
    }

    /// Waits until the Deployment satisfies the condition.
    pub async fn wait_deployment(
        &self,
        name: &str,
        is_so: impl Fn(&Deployment) -> bool,
    ) -> Deployment {
        let is_so = |deployment: Option<&Deployment>| deployment.is_some_and(&is_so);
        let deployment = self.env.wait_for(&self.deployments, name, is_so).await;
        deployment.unwrap()
    }

    /// Changes a Deployment manually, as anybody could.
    pub async fn patch_deployment(&self, name: &str, change: Value) -> Deployment {
        let (params, change) = (PatchParams::default(), Patch::Merge(change));
        let patched = self.deployments.patch(name, &params, &change);
        patched.await.unwrap()
    }

    /// The pods that are not being deleted, sorted by name.
    pub async fn living_pods(&self) -> Vec<Pod> {
        let mut pods = self.pods.list(&ListParams::default()).await.unwrap().items;
        pods.retain(|pod| pod.metadata.deletion_timestamp.is_none());
        pods.sort_by_key(ResourceExt::name_any);
        pods
    }

    /// Waits until there are `count` pods, and reports them as running.
    pub async fn run_pods(&self, count: usize) -> Vec<Pod> {
        let pods = self.wait_pods(count).await;
        for pod in &pods {
            self.env.kubelet().run(pod).await;
        }
        pods
    }

    /// Waits until the status of `sample` lists `count` pods, and returns them sorted by name.
    pub async fn wait_pods(&self, count: usize) -> Vec<Pod> {
        let has_pods = |guestbook: &Guestbook| {
            let (active, standbys) = roles(guestbook);
            standbys.len() + usize::from(active.is_some()) == count
        };
        self.wait("sample", has_pods).await;
        self.living_pods().await
    }

    /// Does something that triggers a reconcile of the Guestbook that refers to the settings, and waits
    /// until the reconcile has finished.
    pub async fn reconciling<T>(&self, action: impl Future<Output = T>) -> T {
        self.quiet().await;
        let before = self.reads();
        let done = action.await;
        let read = async {
            while self.reads() == before {
                sleep(Duration::from_millis(50)).await;
            }
        };
        let was_read = timeout(PATIENCE, read).await;
        assert!(
            was_read.is_ok(),
            "no reconcile: it would first read the settings"
        );
        self.quiet().await;
        done
    }

    /// Waits until nothing is left to reconcile. Objects are reconciled one after another: once another
    /// Guestbook has had its turn, so have all before it.
    pub async fn quiet(&self) {
        loop {
            let before = self.reads();
            let spec = json!({ "size": 1, "configMapName": "none" });
            let mut other = Guestbook::new("", serde_json::from_value(spec).unwrap());
            other.metadata.name = None;
            other.metadata.generate_name = Some("other-".to_owned());
            let other = self.guestbooks.create(&PostParams::default(), &other).await;
            let other = other.unwrap().name_any();
            self.wait_for(&other, "ConfigMapMissing").await;
            if self.reads() == before {
                return;
            }
        }
    }

    /// How often the operator has read the settings.
    pub fn reads(&self) -> usize {
        let requests = self.requests();
        let reads = requests
            .iter()
            .filter(|r| r.verb == "get" && r.name.as_deref() == Some(SETTINGS));
        reads.count()
    }

    /// The requests of the operator in this namespace.
    pub fn requests(&self) -> Vec<AuditedRequest> {
        let mut requests = self.env.requests();
        requests.retain(|request| request.namespace.as_ref() == Some(&self.namespace));
        requests
    }
}

/// The condition `Ready` in the status.
pub fn ready(guestbook: &Guestbook) -> Option<&Condition> {
    let mut conditions = guestbook
        .status
        .iter()
        .flat_map(|status| &status.conditions);
    conditions.find(|condition| condition.type_ == "Ready")
}

/// The active pod, and the standbys.
pub fn roles(guestbook: &Guestbook) -> (Option<&str>, &[String]) {
    let status = guestbook.status.as_ref();
    let active = status.map(|status| status.active.as_str());
    let active = active.filter(|name| !name.is_empty());
    (active, status.map_or(&[], |status| &status.standby))
}

/// The desired number of pods of a Deployment.
pub fn replicas(deployment: &Deployment) -> Option<i32> {
    deployment.spec.replicas
}

/// The hash of the settings that the pods of a Deployment are started with.
pub fn config_hash(deployment: &Deployment) -> Option<&String> {
    let template = deployment.spec.template.metadata.as_ref()?;
    let annotations = template.annotations.as_ref()?;
    annotations.get("webapp.my.domain/config-hash")
}

/// The names of pods.
pub fn names(pods: &[Pod]) -> Vec<String> {
    pods.iter().map(ResourceExt::name_any).collect()
}

/// The uids of objects.
pub fn uids<K: ResourceExt>(objects: &[K]) -> Vec<String> {
    objects.iter().filter_map(ResourceExt::uid).collect()
}
