// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Controllers that own objects, with no more rights and requests than they need.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kbr_runtime::{Action, Controller, Handle, OwnedError};
use kube::api::{DeleteParams, PostParams};
use kube::{Api, ResourceExt};

use crate::support::{MANAGER, Running, create_empty, eventually, manager_of, servers, until};

/// Allows the manager what its controllers here need in `namespace`: `get` is not among it.
fn allow(namespace: &str) {
    let account = MANAGER.strip_prefix("system:serviceaccount:").unwrap();
    let account = format!("--serviceaccount={account}");
    for words in [
        &[
            "role",
            "owner",
            "--verb=list,watch,create,patch",
            "--resource=configmaps,secrets",
        ][..],
        &[
            "role",
            "finalizers",
            "--verb=update",
            "--resource=configmaps/finalizers",
        ],
        &["rolebinding", "owner", "--role=owner", &account],
        &["rolebinding", "finalizers", "--role=finalizers", &account],
    ] {
        let mut kubectl = servers().kubectl();
        kubectl.args(["create", "--namespace", namespace]);
        let output = kubectl.args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}");
    }
    for words in [
        &["list", "secrets"][..],
        &["update", "configmaps", "--subresource=finalizers"],
    ] {
        until("the roles to take effect", || {
            let mut kubectl = servers().kubectl();
            kubectl.args(["auth", "can-i", "--quiet", "--namespace", namespace]);
            kubectl
                .arg("--kubeconfig")
                .arg(servers().manager_kubeconfig());
            let status = kubectl.args(words).status();
            status.unwrap().success().then_some(())
        });
    }
}

/// How often the manager has sent a request about the objects of `namespace`, by verb and resource.
fn requests(namespace: &str) -> BTreeMap<(String, String), usize> {
    let mut counts = BTreeMap::new();
    for request in servers().requests() {
        if request.namespace.as_deref() == Some(namespace) {
            let key = (request.verb, request.resource);
            *counts.entry(key).or_default() += 1;
        }
    }
    counts
}

fn secret(name: &str) -> Secret {
    let mut secret = Secret::default();
    secret.metadata.name = Some(name.to_owned());
    secret
}

#[tokio::test]
async fn a_name_that_becomes_free_triggers_who_wants_it_without_get_and_with_one_watch_per_kind() {
    let namespace = servers().namespace().await;
    allow(&namespace);
    let secrets = Api::<Secret>::namespaced(servers().admin(), &namespace);
    create_empty::<Secret>(&namespace, "one-a").await;
    let mut manager = manager_of(servers().manager_config(), |_| {});
    let taken = Arc::new(Mutex::new(Vec::new()));
    for name in ["one", "two"] {
        let controller = Controller::new(manager.namespaced(&namespace))
            .owns(manager.namespaced::<Secret>(&namespace));
        let noted = taken.clone();
        let reconcile = move |map: Handle<ConfigMap>| {
            let noted = noted.clone();
            async move {
                let wanted = secret(&format!("{name}-{}", map.name_any()));
                match map.apply(&wanted).await {
                    // Without an error, nothing else runs it again.
                    Err(OwnedError::NameTaken { name, .. }) => noted.lock().unwrap().push(name),
                    applied => drop(applied?),
                }
                Ok::<_, OwnedError>(Action::await_change())
            }
        };
        manager.add(name, controller, reconcile);
    }
    let running = Running::start(manager);
    let maps = Api::<ConfigMap>::namespaced(servers().admin(), &namespace);
    let mut map = ConfigMap::default();
    map.metadata.name = Some("a".to_owned());
    let map = maps.create(&PostParams::default(), &map).await.unwrap();
    let is_owned = |secret: Option<&Secret>| {
        secret.is_some_and(|secret| {
            let owners = secret.owner_references();
            owners
                .iter()
                .any(|owner| Some(&owner.uid) == map.uid().as_ref())
        })
    };
    servers().wait_for(&secrets, "two-a", is_owned).await;
    eventually("a name that is taken", || {
        (!taken.lock().unwrap().is_empty()).then_some(())
    })
    .await;
    assert_eq!(secrets.get("one-a").await.unwrap().owner_references(), []);

    let params = DeleteParams::default();
    secrets.delete("one-a", &params).await.unwrap();

    servers().wait_for(&secrets, "one-a", is_owned).await;
    let taken = taken.lock().unwrap().clone();
    assert!(taken.iter().all(|name| name == "one-a"), "{taken:?}");
    let of_kinds =
        |verb: &str| ["configmaps", "secrets"].map(|kind| (verb.to_owned(), kind.to_owned()));
    let mut expected: Vec<_> = [of_kinds("list"), of_kinds("watch")].concat();
    let mut counts = requests(&namespace);
    let patches = counts.remove(&("patch".to_owned(), "secrets".to_owned()));
    assert_eq!(patches, Some(2), "{counts:?}");
    expected.sort();
    let expected: BTreeMap<_, _> = expected.into_iter().map(|key| (key, 1)).collect();
    assert_eq!(counts, expected);
    running.stop().await;
}
