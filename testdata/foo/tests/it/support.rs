// Copyright The foo authors
// SPDX-License-Identifier: Apache-2.0

//! Shared by the tests: Foos in a namespace of their own, and what happens to them.

use api::v1alpha1::Foo;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kbr_testing::TestEnv;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

/// A namespace, and the objects in it.
pub struct World {
    pub env: &'static TestEnv,
    pub namespace: String,
    pub foos: Api<Foo>,
    pub deployments: Api<Deployment>,
}

impl World {
    pub async fn new(env: &'static TestEnv) -> Self {
        let namespace = env.namespace().await;
        Self {
            env,
            foos: Api::namespaced(env.admin(), &namespace),
            deployments: Api::namespaced(env.admin(), &namespace),
            namespace,
        }
    }

    /// Creates a Foo with the given spec.
    pub async fn create(&self, name: &str, spec: Value) -> Foo {
        let foo = Foo::new(name, serde_json::from_value(spec).unwrap());
        let created = self.foos.create(&PostParams::default(), &foo).await;
        created.unwrap()
    }

    /// Creates a Foo with the given spec, and waits until it has its Deployment.
    pub async fn create_and_wait(&self, name: &str, spec: Value) -> (Foo, Deployment) {
        self.create(name, spec).await;
        let foo = self.wait_for(name, "Synced").await;
        let deployment = self.deployments.get(&foo.spec.deployment_name).await;
        (foo, deployment.unwrap())
    }

    /// Changes the spec of a Foo with a merge patch.
    pub async fn change(&self, name: &str, spec: Value) -> Foo {
        let patch = Patch::Merge(json!({ "spec": spec }));
        let params = PatchParams::default();
        self.foos.patch(name, &params, &patch).await.unwrap()
    }

    /// Waits until the status has the given reason for the current spec.
    pub async fn wait_for(&self, name: &str, reason: &str) -> Foo {
        let is_so = |foo: Option<&Foo>| {
            foo.is_some_and(|foo| {
                let generation = foo.metadata.generation;
                let synced = synced(foo);
                synced.is_some_and(|c| c.reason == reason && c.observed_generation == generation)
            })
        };
        let foo = self.env.wait_for(&self.foos, name, is_so).await;
        foo.unwrap()
    }

    /// Waits until the Deployment satisfies the condition.
    pub async fn wait(&self, name: &str, is_so: impl Fn(&Deployment) -> bool) -> Deployment {
        let is_so = |deployment: Option<&Deployment>| deployment.is_some_and(&is_so);
        let deployment = self.env.wait_for(&self.deployments, name, is_so).await;
        deployment.unwrap()
    }

    /// Waits until no Deployment has the name.
    pub async fn wait_gone(&self, name: &str) {
        let is_gone = |deployment: Option<&Deployment>| deployment.is_none();
        self.env.wait_for(&self.deployments, name, is_gone).await;
    }

    /// Waits until the operator has seen everything that has happened to a Foo so far, by changing its
    /// spec: the change is observed after everything before it.
    pub async fn settle(&self, name: &str) -> Foo {
        let foo = self.foos.get(name).await.unwrap();
        let replicas = foo.spec.replicas.unwrap_or_default() + 1;
        self.change(name, json!({ "replicas": replicas })).await;
        let reason = synced(&foo).unwrap().reason.clone();
        self.wait_for(name, &reason).await
    }

    /// Creates a Deployment that no Foo has created, with the given owner references.
    pub async fn create_deployment(&self, name: &str, owners: Value) -> Deployment {
        let labels = json!({ "app": "other" });
        let container = json!({ "name": "other", "image": "other:1" });
        let deployment = json!({
            "metadata": { "name": name, "ownerReferences": owners },
            "spec": {
                "replicas": 7,
                "selector": { "matchLabels": labels },
                "template": {
                    "metadata": { "labels": labels },
                    "spec": { "containers": [container] },
                },
            },
        });
        let deployment = serde_json::from_value(deployment).unwrap();
        let params = PostParams::default();
        self.deployments.create(&params, &deployment).await.unwrap()
    }

    /// The names of the Deployments that are not being deleted.
    pub async fn deployment_names(&self) -> Vec<String> {
        let all = self.deployments.list(&ListParams::default()).await;
        let all = all.unwrap().items.into_iter();
        let lasting = all.filter(|d| d.metadata.deletion_timestamp.is_none());
        lasting.map(|d| d.name_any()).collect()
    }

    /// The events about a Foo with the given reason, as soon as there is one.
    pub async fn events(&self, name: &str, reason: &str) -> Vec<Event> {
        let api = Api::<Event>::namespaced(self.env.admin(), &self.namespace);
        loop {
            let events = api.list(&ListParams::default()).await.unwrap().items;
            let about = events.into_iter().filter(|event| {
                let regarding = event.regarding.as_ref();
                let is_about = regarding.is_some_and(|r| r.name.as_deref() == Some(name));
                is_about && event.reason.as_deref() == Some(reason)
            });
            let about: Vec<_> = about.collect();
            if !about.is_empty() {
                return about;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    }
}

/// The condition `Synced` in the status.
pub fn synced(foo: &Foo) -> Option<&Condition> {
    condition(foo, "Synced")
}

/// The condition `Degraded` in the status.
pub fn degraded(foo: &Foo) -> Option<&Condition> {
    condition(foo, "Degraded")
}

fn condition<'a>(foo: &'a Foo, type_: &str) -> Option<&'a Condition> {
    let mut conditions = foo.status.iter().flat_map(|status| &status.conditions);
    conditions.find(|condition| condition.type_ == type_)
}

/// The desired number of replicas of a Deployment.
pub fn replicas(deployment: &Deployment) -> Option<i32> {
    deployment.spec.replicas
}
