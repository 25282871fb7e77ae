// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Reconciles that block their thread. Everything else of these managers runs on one thread.

use std::convert::Infallible;
use std::future::ready;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kbr_runtime::{Action, Cache, Controller, Handle, Manager};
use kube::ResourceExt;
use kube::runtime::reflector::ObjectRef;
use tokio::task::spawn_blocking;

use crate::support::{
    PATIENCE, Running, create_empty, eventually, free_address, get, manager, manager_of, servers,
};

/// How many reconciles run now, the most that did, and how many have ended.
#[derive(Default)]
struct Counts {
    running: AtomicUsize,
    most: AtomicUsize,
    ended: AtomicUsize,
}

#[tokio::test]
async fn as_many_reconciles_as_allowed_run_at_once_although_each_blocks_its_thread() {
    let controller = |cache| Controller::new(cache).concurrency(4);
    four_at_once(manager(servers()).await, controller).await;
}

#[tokio::test]
async fn the_flag_says_how_many_run_at_once_whatever_the_code_says() {
    let manager = |number| {
        manager_of(servers().admin_config(), move |flags| {
            flags.max_concurrent_reconciles = Some(number);
        })
    };
    four_at_once(manager(4), Controller::new).await;
    four_at_once(manager(4), |cache| Controller::new(cache).concurrency(2)).await;
}

/// Of eight objects, the controller reconciles four at the same time.
async fn four_at_once(
    mut manager: Manager,
    controller: impl FnOnce(Cache<ConfigMap>) -> Controller<ConfigMap>,
) {
    const OBJECTS: usize = 8;
    let namespace = servers().namespace().await;
    for number in 0..OBJECTS {
        create_empty::<ConfigMap>(&namespace, &format!("map-{number}")).await;
    }
    let controller = controller(manager.namespaced(&namespace));
    let counts = Arc::<Counts>::default();
    let counted = counts.clone();
    let reconcile = move |_: Handle<ConfigMap>| {
        let counts = counted.clone();
        async move {
            let running = counts.running.fetch_add(1, Ordering::Relaxed) + 1;
            counts.most.fetch_max(running, Ordering::Relaxed);
            sleep(Duration::from_secs(1));
            counts.running.fetch_sub(1, Ordering::Relaxed);
            counts.ended.fetch_add(1, Ordering::Relaxed);
            Ok::<_, Infallible>(Action::await_change())
        }
    };
    manager.add("blocking", controller, reconcile);
    let running = Running::start(manager);

    eventually("all reconciles", || {
        (counts.ended.load(Ordering::Relaxed) >= OBJECTS).then_some(())
    })
    .await;

    assert_eq!(counts.most.load(Ordering::Relaxed), 4);
    running.stop().await;
}

/// Adds a controller of ConfigMaps whose reconciles block their threads until the sender of `end` is dropped.
/// Returns its cache, and the number of its reconciles.
fn add_blocking(
    manager: &mut Manager,
    namespace: &str,
    end: Receiver<()>,
) -> (Cache<ConfigMap>, Arc<AtomicUsize>) {
    let maps = manager.namespaced(namespace);
    let begun = Arc::new(AtomicUsize::new(0));
    let (count, end) = (begun.clone(), Arc::new(Mutex::new(end)));
    let reconcile = move |_: Handle<ConfigMap>| {
        let (count, end) = (count.clone(), end.clone());
        async move {
            count.fetch_add(1, Ordering::Relaxed);
            let _ = end.lock().unwrap().recv_timeout(PATIENCE);
            Ok::<_, Infallible>(Action::await_change())
        }
    };
    manager.add("blocking", Controller::new(maps.clone()), reconcile);
    (maps, begun)
}

#[tokio::test]
async fn a_reconcile_that_blocks_its_thread_delays_no_watch_no_probe_and_no_other_controller() {
    let namespace = servers().namespace().await;
    let address = free_address();
    let mut manager = manager_of(servers().admin_config(), |flags| {
        flags.health_probe_bind_address = address.parse().unwrap();
    });
    let (end, ended) = channel();
    let (maps, begun) = add_blocking(&mut manager, &namespace, ended);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    let note = move |secret: Handle<Secret>| {
        noted.lock().unwrap().push(secret.name_any());
        ready(Ok::<_, Infallible>(Action::await_change()))
    };
    let secrets = Controller::new(manager.namespaced(&namespace));
    manager.add("other", secrets, note);
    let running = Running::start(manager);
    create_empty::<ConfigMap>(&namespace, "a").await;
    eventually("a reconcile that blocks", || {
        (begun.load(Ordering::Relaxed) > 0).then_some(())
    })
    .await;

    // Its own watch, another controller, and the probes.
    create_empty::<ConfigMap>(&namespace, "b").await;
    let b = ObjectRef::<ConfigMap>::new("b").within(&namespace);
    eventually("the next object in the cache", || maps.get(&b)).await;
    create_empty::<Secret>(&namespace, "c").await;
    eventually("a reconcile of another controller", || {
        seen.lock().unwrap().contains(&"c".to_owned()).then_some(())
    })
    .await;
    for path in ["/healthz", "/readyz"] {
        let address = address.clone();
        let answer = spawn_blocking(move || get(&address, path)).await.unwrap();
        assert_eq!(answer, (200, "ok".to_owned()), "{path}");
    }

    // All of that happened during one reconcile.
    assert_eq!(begun.load(Ordering::Relaxed), 1);
    drop(end);
    eventually("the reconcile of the next object", || {
        (begun.load(Ordering::Relaxed) > 1).then_some(())
    })
    .await;
    running.stop().await;
}
