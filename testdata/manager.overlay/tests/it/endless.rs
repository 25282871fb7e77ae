// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Reconciles that never return, that block their thread for good, and that change their own object each time.

use std::convert::Infallible;
use std::future::pending;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::v1::{Task, TaskSpec};
use k8s_openapi::api::core::v1::ConfigMap;
use kbr_runtime::{Action, Controller, Handle};
use kube::{Api, ResourceExt};
use tokio::task::spawn_blocking;

use crate::support::{
    METRICS, Operator, PATIENCE, Running, create, create_and_wait, create_empty, eventually,
    free_address, get, manager_of, sample, servers, until,
};

#[tokio::test]
async fn a_reconcile_that_never_returns_is_dropped_and_counted_and_the_only_worker_goes_on() {
    let namespace = servers().namespace().await;
    let address = free_address();
    let mut manager = manager_of(servers().admin_config(), |flags| {
        flags.metrics_bind_address = address.parse().unwrap();
        flags.metrics_secure = false;
    });
    let controller =
        Controller::new(manager.namespaced(&namespace)).timeout(Duration::from_secs(1));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    let reconcile = move |map: Handle<ConfigMap>| {
        let noted = noted.clone();
        async move {
            if map.name_any() == "endless" {
                pending::<()>().await;
            }
            noted.lock().unwrap().push(map.name_any());
            Ok::<_, Infallible>(Action::await_change())
        }
    };
    manager.add("endless", controller, reconcile);
    create_empty::<ConfigMap>(&namespace, "endless").await;
    let running = Running::start(manager);
    let scrape = || {
        let address = address.clone();
        async move {
            let (_, text) = spawn_blocking(move || get(&address, "/metrics"))
                .await
                .unwrap();
            let name = r#"controller_runtime_reconcile_timeouts_total{controller="endless"}"#;
            // The metrics of a controller begin when it starts.
            sample(&text, name).unwrap_or(0.0)
        }
    };

    while scrape().await < 2.0 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    create_empty::<ConfigMap>(&namespace, "other").await;
    eventually("the reconcile of the other object", || {
        (*seen.lock().unwrap() == ["other"]).then_some(())
    })
    .await;

    running.stop().await;
}

#[tokio::test]
async fn healthz_names_the_controller_whose_only_worker_is_blocked_for_longer_than_a_reconcile_may_take()
 {
    let namespace = servers().namespace().await;
    let address = free_address();
    let mut manager = manager_of(servers().admin_config(), |flags| {
        flags.health_probe_bind_address = address.parse().unwrap();
    });
    let controller =
        Controller::new(manager.namespaced(&namespace)).timeout(Duration::from_secs(1));
    let (end, ended) = channel::<()>();
    let ended = Arc::new(Mutex::new(ended));
    let reconcile = move |_: Handle<ConfigMap>| {
        let ended = ended.clone();
        async move {
            let _ = ended.lock().unwrap().recv_timeout(PATIENCE);
            Ok::<_, Infallible>(Action::await_change())
        }
    };
    manager.add("blocked", controller, reconcile);
    create_empty::<ConfigMap>(&namespace, "a").await;
    let running = Running::start(manager);
    let healthz = || {
        let address = address.clone();
        async move {
            spawn_blocking(move || get(&address, "/healthz"))
                .await
                .unwrap()
        }
    };

    // For a minute longer than a reconcile may take, it may still end.
    let (status, reason) = loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let answer = healthz().await;
        if answer.0 != 200 {
            break answer;
        }
    };
    assert_eq!(status, 503, "{reason}");
    assert!(reason.contains("controller `blocked` has work"), "{reason}");

    drop(end);
    while healthz().await.0 != 200 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    running.stop().await;
}

#[tokio::test]
async fn a_reconcile_that_changes_its_own_object_each_time_is_named_and_delays_no_other() {
    let namespace = servers().namespace().await;
    let api = Api::<Task>::namespaced(servers().admin(), &namespace);
    let mut operator = Operator::start(servers(), &namespace, &METRICS);
    let spec = TaskSpec {
        restless: true,
        ..TaskSpec::default()
    };
    create(&api, "restless", spec).await;

    create_and_wait(servers(), &api, "other").await;
    let named = operator.logged(
        "reconciled 600 times within a minute: something changes it each time, perhaps its own reconcile",
    );

    assert_eq!(named["level"], "WARN");
    assert_eq!(named["spans"][0]["object"], format!("{namespace}/restless"));
    create_and_wait(servers(), &api, "another").await;
    let scrape = operator.scrape();
    let name = r#"kbr_restless_objects_total{controller="task"}"#;
    assert_eq!(sample(&scrape, name), Some(1.0), "{scrape}");
    assert_eq!(operator.probe("/healthz").0, 200);
    // A change ends it.
    let calm = kube::api::Patch::Merge(serde_json::json!({ "spec": { "restless": false } }));
    api.patch("restless", &kube::api::PatchParams::default(), &calm)
        .await
        .unwrap();
    until("the last reconcile", || {
        let count = |scrape: &str| {
            let name = r#"controller_runtime_reconcile_total{controller="task",result="success"}"#;
            sample(scrape, name)
        };
        let before = count(&operator.scrape());
        std::thread::sleep(Duration::from_secs(1));
        (before == count(&operator.scrape())).then_some(())
    });
}
