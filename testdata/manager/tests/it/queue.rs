// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! The order in which objects are reconciled.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_runtime::{Action, Controller, Handle};
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Config;
use kube::{Api, ResourceExt};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::block_in_place;
use tokio::time::sleep;

use crate::support::{Running, eventually, manager, servers, until};

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
    let config = Config::default().labels("test=queue");
    let cache = manager.cache::<ConfigMap>(Some(&namespace), config);
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

#[tokio::test]
async fn objects_that_are_due_all_the_time_starve_no_change_and_are_not_starved() {
    const OLD: usize = 60;
    const NEW: usize = 10;
    const WORK: Duration = Duration::from_millis(20);
    let namespace = servers().namespace().await;
    let api = Api::<ConfigMap>::namespaced(servers().admin(), &namespace);
    let create = async |name: String| {
        let mut object = ConfigMap::default();
        object.metadata.name = Some(name);
        api.create(&PostParams::default(), &object).await.unwrap();
    };
    let mut manager = manager(servers()).await;
    let done = Arc::new(Mutex::new(Vec::new()));
    let noted = done.clone();
    let reconcile = move |object: Handle<ConfigMap>| {
        let noted = noted.clone();
        async move {
            sleep(WORK).await;
            noted.lock().unwrap().push(object.name_any());
            // Long before the others have had their turn.
            Ok::<_, Infallible>(Action::requeue(WORK))
        }
    };
    let maps = manager.namespaced(&namespace);
    manager.add("due", Controller::new(maps.clone()), reconcile);
    let running = Running::start(manager);
    let done = || done.lock().unwrap().clone();
    for number in 0..OLD {
        create(format!("old-{number}")).await;
    }
    eventually("three rounds", || (done().len() >= 3 * OLD).then_some(())).await;

    for number in 0..NEW {
        create(format!("new-{number}")).await;
        let new = ObjectRef::new(&format!("new-{number}")).within(&namespace);
        eventually("the new object in the cache", || maps.get(&new)).await;
    }
    // All of them have their turn in the next round.
    let rounds = done().len() + 2 * (OLD + NEW);
    eventually("two more rounds", || (done().len() >= rounds).then_some(())).await;
    for number in 0..NEW {
        let name = format!("new-{number}");
        assert!(done()[..rounds].contains(&name), "{name} waits");
    }

    // One that changes all the time is not in the way of those that are due.
    let before = done().len();
    for change in 0..100 {
        let data = Patch::Merge(json!({ "data": { "change": change.to_string() } }));
        let patched = api.patch("old-0", &PatchParams::default(), &data).await;
        patched.unwrap();
    }
    let rounds = before + 2 * (OLD + NEW);
    eventually("two more rounds", || (done().len() >= rounds).then_some(())).await;
    for number in 0..OLD {
        let name = format!("old-{number}");
        assert!(done()[before..rounds].contains(&name), "{name} waits");
    }
    running.stop().await;
}
