// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Panics in the reconcile of one object, and in the other functions of a controller.

use std::convert::Infallible;
use std::future::ready;
use std::sync::{Arc, Mutex};

use api::v1::{Task, TaskSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kbr_runtime::{Action, Controller, Handle};
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::Predicate;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Config;
use kube::{Api, Resource, ResourceExt};
use serde_json::json;
use tokio::task::spawn_blocking;

use crate::support::{
    Operator, Running, create, create_and_wait, create_empty, eventually, free_address, get,
    is_reconciled, manager_of, sample, servers, until,
};

#[tokio::test]
async fn a_panic_does_not_affect_others_and_is_retried_until_the_spec_is_fixed() {
    let namespace = servers().namespace().await;
    let api = Api::<Task>::namespaced(servers().admin(), &namespace);
    let mut operator = Operator::start(servers(), &namespace, &[]);
    let spec = TaskSpec {
        panic: true,
        ..TaskSpec::default()
    };
    create(&api, "bad", spec).await;
    let failed = operator.logged("reconcile failed");
    assert_eq!(failed["error"], "panic: the spec wants it");
    assert_eq!(failed["spans"][0]["object"], format!("{namespace}/bad"));

    create_and_wait(servers(), &api, "good").await;

    until("the fourth attempt", || {
        (operator.lines("reconcile failed").len() >= 4).then_some(())
    });
    assert_eq!(api.get("bad").await.unwrap().status, None);
    let fix = Patch::Merge(json!({ "spec": { "panic": false } }));
    api.patch("bad", &PatchParams::default(), &fix)
        .await
        .unwrap();
    servers().wait_for(&api, "bad", is_reconciled).await;
    assert!(operator.is_running());
}

/// Panics for the object with that name.
fn panic_if(name: &str, object: &impl Resource) {
    assert_ne!(object.name_any(), name, "the test wants it");
}

/// Has another hash for each version.
struct Picky;

impl Predicate<ConfigMap> for Picky {
    fn hash_property(&self, object: &ConfigMap) -> Option<u64> {
        panic_if("predicate", object);
        object.resource_version()?.parse().ok()
    }
}

/// What a controller does with objects besides reconciling them, each with the name of the object for which
/// it panics, and the metric that counts it.
const FUNCTIONS: [(&str, &str); 5] = [
    ("index", r#"kbr_cache_panics_total{resource="configmaps"}"#),
    ("slim", r#"kbr_cache_panics_total{resource="configmaps"}"#),
    ("predicate", RECONCILE),
    ("references", RECONCILE),
    ("mapper", RECONCILE),
];

const RECONCILE: &str = r#"controller_runtime_reconcile_panics_total{controller="functions"}"#;

#[tokio::test]
async fn a_function_of_a_controller_that_panics_for_one_object_affects_no_other_and_is_counted() {
    let namespace = servers().namespace().await;
    let address = free_address();
    let mut manager = manager_of(servers().admin_config(), |flags| {
        flags.metrics_bind_address = address.parse().unwrap();
        flags.metrics_secure = false;
    });
    let maps = manager.cache::<ConfigMap>(Some(&namespace), Config::default());
    maps.index("name", |map| {
        panic_if("index", map);
        vec![map.name_any()]
    });
    maps.slim(|map| {
        panic_if("slim", map);
        map.data = None;
    });
    let secrets = manager.namespaced::<Secret>(&namespace);
    let controller = Controller::new(maps.clone())
        .predicates(Picky)
        .references(manager.metadata::<Secret>(), |map| {
            panic_if("references", map);
            [ObjectRef::<Secret>::new("mentioned")]
        })
        .watches(secrets, |secret| {
            panic_if("mapper", secret);
            let namespace = secret.namespace().unwrap_or_default();
            [ObjectRef::new("good").within(&namespace)]
        });
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    manager.add("functions", controller, move |map: Handle<ConfigMap>| {
        noted.lock().unwrap().push(map.name_any());
        ready(Ok::<_, Infallible>(Action::await_change()))
    });
    let running = Running::start(manager);
    let api = Api::<ConfigMap>::namespaced(servers().admin(), &namespace);
    let count = |name: &str| {
        seen.lock()
            .unwrap()
            .iter()
            .filter(|one| *one == name)
            .count()
    };
    let scrape = async || {
        let address = address.clone();
        let answer = spawn_blocking(move || get(&address, "/metrics")).await;
        answer.unwrap().1
    };
    create_map(&api, "good").await;
    eventually("the good object", || (count("good") > 0).then_some(())).await;

    for (name, metric) in FUNCTIONS {
        let panics = sample(&scrape().await, metric).unwrap();
        let before = count("good");
        if name == "mapper" {
            create_empty::<Secret>(&namespace, name).await;
            // Of this one, the mapper says that the good object is concerned.
            create_empty::<Secret>(&namespace, "fine").await;
        } else {
            create_map(&api, name).await;
            // What went wrong concerns only what the function is for.
            eventually(name, || (count(name) > 0).then_some(())).await;
            let label = Patch::Merge(json!({ "metadata": { "labels": { "after": name } } }));
            let params = PatchParams::default();
            api.patch("good", &params, &label).await.unwrap();
        }
        eventually("the good object again", || {
            (count("good") > before).then_some(())
        })
        .await;
        let after = sample(&scrape().await, metric).unwrap();
        assert!(after > panics, "{name}: {panics} and {after}");
    }

    let found = |name: &str| maps.by("name", name).unwrap().len();
    assert_eq!((found("good"), found("slim"), found("index")), (1, 1, 0));
    let get = |name: &str| maps.get(&ObjectRef::new(name).within(&namespace)).unwrap();
    assert_eq!(get("good").data, None);
    // It is kept whole.
    assert!(get("slim").data.is_some());
    running.stop().await;
}

async fn create_map(api: &Api<ConfigMap>, name: &str) {
    let object = ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        data: Some([("a".to_owned(), "b".to_owned())].into()),
        ..ConfigMap::default()
    };
    api.create(&PostParams::default(), &object).await.unwrap();
}
