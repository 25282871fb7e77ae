// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Objects are reconciled when the objects that they refer to change.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::ready;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kbr_runtime::{Action, Controller, Handle};
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Config;
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio::task::block_in_place;
use tokio::time::sleep;

use crate::support::{manager, servers, until};

/// How often each ConfigMap has been reconciled.
type Counts = Arc<Mutex<HashMap<String, usize>>>;

/// The Secrets that a ConfigMap refers to.
fn references(object: &ConfigMap) -> Vec<ObjectRef<Secret>> {
    let names = object.data.iter().flat_map(|data| data.values());
    names.map(|name| ObjectRef::new(name)).collect()
}

fn config_map(name: &str, label: &str, secret: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some([("test".to_owned(), label.to_owned())].into()),
            ..ObjectMeta::default()
        },
        data: Some([("secret".to_owned(), secret.to_owned())].into()),
        ..ConfigMap::default()
    }
}

struct World {
    client: Client,
    counts: Counts,
}

impl World {
    fn count(&self, name: &str) -> usize {
        self.counts
            .lock()
            .unwrap()
            .get(name)
            .copied()
            .unwrap_or_default()
    }

    /// Waits until the ConfigMap has been reconciled more than `before` times.
    fn wait(&self, name: &str, before: usize) {
        block_in_place(|| {
            until(&format!("a reconcile of {name}"), || {
                (self.count(name) > before).then_some(())
            });
        });
    }

    /// Does something, and waits for the reconcile of the ConfigMap that it triggers.
    async fn triggers<T>(&self, name: &str, action: impl Future<Output = kube::Result<T>>) {
        let before = self.count(name);
        action.await.unwrap();
        self.wait(name, before);
    }

    async fn create_secret(&self, namespace: &str, name: &str) -> kube::Result<()> {
        let mut secret = Secret::default();
        secret.metadata.name = Some(name.to_owned());
        let api = Api::<Secret>::namespaced(self.client.clone(), namespace);
        api.create(&PostParams::default(), &secret).await.map(drop)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_objects_that_refer_to_a_secret_are_reconciled_when_it_changes() {
    let (here, there) = (servers().namespace().await, servers().namespace().await);
    let counts = Counts::default();
    let mut manager = manager(servers()).await;
    let stop = manager.stop_token();
    let client = manager.client();
    let config = Config::default().labels(&format!("test={here}"));
    let objects = manager.cache::<ConfigMap>(None, config);
    let secrets = manager.metadata::<Secret>();
    let controller = Controller::new(objects).references(secrets, references);
    let counted = counts.clone();
    let reconcile = move |object: Handle<ConfigMap>| {
        let mut counts = counted.lock().unwrap();
        *counts.entry(object.name_any()).or_default() += 1;
        ready(Ok::<_, Infallible>(Action::await_change()))
    };
    manager.add("mentions", controller, reconcile);
    let running = tokio::spawn(async move { manager.run_until_stopped().await });
    let world = World { client, counts };
    let maps = Api::<ConfigMap>::namespaced(world.client.clone(), &here);
    let others = Api::<ConfigMap>::namespaced(world.client.clone(), &there);
    let secrets = Api::<Secret>::namespaced(world.client.clone(), &here);
    let (post, patch) = (PostParams::default(), PatchParams::default());
    let change =
        |number: u32| Patch::Merge(json!({ "stringData": { "number": number.to_string() } }));

    // A Secret that is created after the reference to it.
    world
        .triggers("a", maps.create(&post, &config_map("a", &here, "x")))
        .await;
    world
        .triggers(
            "other",
            others.create(&post, &config_map("other", &here, "x")),
        )
        .await;
    world.triggers("a", world.create_secret(&here, "x")).await;
    // The first list of Secrets may trigger one more reconcile of each.
    sleep(Duration::from_secs(1)).await;
    let other = world.count("other");
    world
        .triggers("a", secrets.patch("x", &patch, &change(1)))
        .await;
    // The namespace of `other` has a different Secret of that name.
    assert_eq!(world.count("other"), other);
    world
        .triggers("other", world.create_secret(&there, "x"))
        .await;

    // A reference that is added later, in place of another.
    world.create_secret(&here, "y").await.unwrap();
    let reference = Patch::Merge(json!({ "data": { "secret": "y" } }));
    world
        .triggers("a", maps.patch("a", &patch, &reference))
        .await;
    let before = world.count("a");
    secrets.patch("x", &patch, &change(2)).await.unwrap();
    world
        .triggers("b", maps.create(&post, &config_map("b", &here, "x")))
        .await;
    world
        .triggers("b", secrets.patch("x", &patch, &change(3)))
        .await;
    assert_eq!(world.count("a"), before);
    world
        .triggers("a", secrets.patch("y", &patch, &change(1)))
        .await;

    // Deleted objects.
    world
        .triggers("a", secrets.delete("y", &DeleteParams::default()))
        .await;
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    let before = world.count("a");
    world.create_secret(&here, "y").await.unwrap();
    world
        .triggers("b", secrets.patch("x", &patch, &change(4)))
        .await;
    assert_eq!(world.count("a"), before);
    stop.cancel();
    running.await.unwrap().unwrap();
}
