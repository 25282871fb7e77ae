// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Operators that watch some namespaces, and not the whole cluster.

use std::convert::Infallible;
use std::future::ready;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_runtime::{Action, Controller, Handle, Manager, ManagerError};
use kbr_testing::FaultProxy;
use kube::{Config, ResourceExt};
use tokio::task::block_in_place;
use tokio::time::{sleep, timeout};

use crate::support::{PATIENCE, create_empty, manager_of, servers, until};

/// The namespace and name of each ConfigMap that was reconciled.
type Seen = Arc<Mutex<Vec<(String, String)>>>;

/// A manager that watches the ConfigMaps of these namespaces.
fn manager(config: Config, namespaces: &[&str], seen: &Seen) -> Manager {
    let mut manager = manager_of(config, |flags| {
        flags.watch_namespace = namespaces.iter().map(|name| (*name).to_owned()).collect();
    });
    for namespace in manager.namespaces() {
        let controller = Controller::new(manager.namespaced(&namespace));
        let seen = seen.clone();
        let reconcile = move |object: Handle<ConfigMap>| {
            let key = (object.namespace().unwrap(), object.name_any());
            seen.lock().unwrap().push(key);
            ready(Ok::<_, Infallible>(Action::await_change()))
        };
        manager.add("config-maps", controller, reconcile);
    }
    manager
}

/// Why a manager that watches these namespaces ends without having reconciled anything.
async fn refused(config: Config, namespaces: &[&str]) -> String {
    let seen = Seen::default();
    let mut manager = manager(config, namespaces, &seen);
    let ended = timeout(PATIENCE, manager.run_until_stopped()).await;
    let error = ended.unwrap().unwrap_err();
    assert!(matches!(error, ManagerError::Namespace { .. }), "{error}");
    assert_eq!(*seen.lock().unwrap(), []);
    error.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_objects_in_watched_namespaces_are_reconciled() {
    let (one, other) = (servers().namespace().await, servers().namespace().await);
    let elsewhere = servers().namespace().await;
    let seen = Seen::default();
    let mut manager = manager(servers().admin_config(), &[&one, &other], &seen);
    let stop = manager.stop_token();
    let running = tokio::spawn(async move { manager.run_until_stopped().await });

    create_empty::<ConfigMap>(&elsewhere, "a").await;
    for namespace in [&one, &other] {
        create_empty::<ConfigMap>(namespace, "a").await;
        let key = (namespace.clone(), "a".to_owned());
        block_in_place(|| {
            until("a reconcile", || {
                seen.lock().unwrap().contains(&key).then_some(())
            });
        });
    }

    let is_elsewhere = |(namespace, _): &(String, String)| *namespace == elsewhere;
    assert!(!seen.lock().unwrap().iter().any(is_elsewhere));
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_namespace_that_does_not_exist_is_reported_and_nothing_starts() {
    let there = servers().namespace().await;
    create_empty::<ConfigMap>(&there, "a").await;

    let error = refused(servers().admin_config(), &[&there, "not-there"]).await;

    assert_eq!(
        error,
        "could not watch the namespace `not-there`: it does not exist: create it, or fix `WATCH_NAMESPACE`"
    );
}

#[tokio::test]
async fn a_namespace_without_a_role_is_reported_and_nothing_starts() {
    let there = servers().namespace().await;

    let error = refused(servers().manager_config(), &[&there]).await;

    let start =
        format!("could not watch the namespace `{there}`: namespaces \"{there}\" is forbidden: ");
    assert!(error.starts_with(&start), "{error}");
    assert!(
        error.contains("bind a Role in it that allows `get` of `namespaces`"),
        "{error}"
    );
}

#[tokio::test]
async fn a_namespace_that_is_found_missing_after_an_outage_ends_the_operator() {
    let faults = FaultProxy::start(servers()).unwrap();
    faults.refuse_connections();
    let config = faults.config(servers().manager_config());

    let (error, ()) = tokio::join!(refused(config, &["not-there"]), async {
        // Longer than the operator waits before it starts.
        sleep(Duration::from_secs(7)).await;
        faults.heal();
    });

    assert!(
        error.starts_with("could not watch the namespace `not-there`: "),
        "{error}"
    );
}
