// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! The order in which objects are reconciled.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_runtime::{Action, Controller, Handle};
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Config;
use kube::{Api, ResourceExt};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::block_in_place;

use crate::support::{manager, servers, until};

/// How many objects there are at the start.
const OLD: usize = 300;

struct Context {
    /// A permit for each reconcile that may end.
    turns: Semaphore,
    done: Mutex<Vec<String>>,
}

#[tokio::test(flavor = "multi_thread")]
async fn new_objects_do_not_wait_for_all_old_ones_and_neither_starve() {
    let namespace = servers().namespace().await;
    let api = Api::<ConfigMap>::namespaced(servers().admin(), &namespace);
    let object = |name: &str| {
        let mut object = ConfigMap::default();
        object.metadata.name = Some(name.to_owned());
        object
            .labels_mut()
            .insert("test".to_owned(), "queue".to_owned());
        object
    };
    let params = PostParams::default();
    for number in 0..OLD {
        api.create(&params, &object(&format!("old-{number}")))
            .await
            .unwrap();
    }
    let context = Arc::new(Context {
        turns: Semaphore::new(0),
        done: Mutex::default(),
    });
    let mut manager = manager(servers()).await;
    let stop = manager.stop_token();
    let objects = Api::<ConfigMap>::namespaced(manager.client(), &namespace);
    let cache = manager.cache(objects, Config::default().labels("test=queue"));
    let shared = context.clone();
    let reconcile = move |object: Handle<ConfigMap>| {
        let context = shared.clone();
        async move {
            context.turns.acquire().await.unwrap().forget();
            context.done.lock().unwrap().push(object.name_any());
            Ok::<_, Infallible>(Action::await_change())
        }
    };
    manager.add("queue", Controller::new(cache.clone()), reconcile);
    let running = tokio::spawn(async move { manager.run_until_stopped().await });
    let done = || context.done.lock().unwrap().clone();
    let wait_for = |what: &str, count: usize| {
        block_in_place(|| until(what, || (done().len() >= count).then_some(())));
    };
    context.turns.add_permits(10);
    wait_for("ten old objects", 10);

    api.create(&params, &object("new")).await.unwrap();
    let new = ObjectRef::<ConfigMap>::new("new").within(&namespace);
    block_in_place(|| until("the new object in the cache", || cache.get(&new)));
    // One of the old ones is running.
    context.turns.add_permits(20);

    wait_for("twenty more", 30);
    assert!(done()[10..].contains(&"new".to_owned()), "{:?}", done());
    // It changes all the time, and all others still get their turn.
    let patch = PatchParams::default();
    let mut change = 0;
    let left = |done: &[String]| {
        let mut old: Vec<_> = done
            .iter()
            .filter(|name| name.starts_with("old-"))
            .collect();
        old.sort();
        old.dedup();
        OLD - old.len()
    };
    while left(&done()) > 0 {
        change += 1;
        assert!(change < 20 * OLD, "{} are left", left(&done()));
        let data = Patch::Merge(json!({ "data": { "change": change.to_string() } }));
        api.patch("new", &patch, &data).await.unwrap();
        context.turns.add_permits(1);
    }
    assert!(done().iter().filter(|name| *name == "new").count() > 10);
    context.turns.add_permits(100);
    stop.cancel();
    running.await.unwrap().unwrap();
}
