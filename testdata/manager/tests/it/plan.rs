// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Plans of operators whose reconciles fail, do not end, or remove finalizers.

use std::future::{pending, ready};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_runtime::{Action, Controller, Handle, ManagerError};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::support::{create_empty, manager_of, servers};

const FINALIZER: &str = "probe.example.com/test";

/// The plan of a controller of the ConfigMaps in a namespace, each of which it reconciles with that function.
async fn plan<F: Future<Output = kube::Result<Action>> + Send + 'static>(
    namespace: &str,
    reconcile: impl Fn(Handle<ConfigMap>) -> F + Send + Sync + 'static,
) -> ManagerError {
    let mut manager = manager_of(servers().admin_config(), |flags| flags.plan = true);
    let maps = manager.namespaced(namespace);
    let controller = Controller::new(maps).timeout(Duration::from_secs(1));
    manager.add("planned", controller, reconcile);
    manager.run_until_stopped().await.unwrap_err()
}

/// The ConfigMaps of a namespace, each with its version.
async fn versions(api: &Api<ConfigMap>) -> Vec<(String, Option<String>)> {
    let maps = api.list(&ListParams::default()).await.unwrap().into_iter();
    maps.map(|map| (map.name_any(), map.resource_version()))
        .collect()
}

#[tokio::test]
async fn a_plan_goes_on_after_reconciles_that_fail_or_do_not_end() {
    let namespace = servers().namespace().await;
    for name in ["fails", "hangs", "panics", "works"] {
        create_empty::<ConfigMap>(&namespace, name).await;
    }
    let api = Api::<ConfigMap>::namespaced(servers().admin(), &namespace);
    let before = versions(&api).await;

    let error = plan(&namespace, |map| async move {
        match &*map.name_any() {
            "fails" => drop(map.api::<ConfigMap>().get("missing").await?),
            "hangs" => pending().await,
            "panics" => panic!("the test wants it"),
            _ => {}
        }
        Ok(Action::await_change())
    })
    .await;

    let ManagerError::Plan { reason } = error else {
        panic!("{error}");
    };
    assert_eq!(reason, "3 reconciles or controllers failed");
    assert_eq!(versions(&api).await, before);
}

#[tokio::test]
async fn a_plan_tells_what_a_finalizer_keeps() {
    let namespace = servers().namespace().await;
    let api = Api::<ConfigMap>::namespaced(servers().admin(), &namespace);
    for name in ["child", "new", "old"] {
        create_empty::<ConfigMap>(&namespace, name).await;
    }
    let kept = Patch::Merge(json!({ "metadata": { "finalizers": [FINALIZER] } }));
    let params = PatchParams::default();
    api.patch("old", &params, &kept).await.unwrap();
    api.delete("old", &DeleteParams::default()).await.unwrap();
    let before = versions(&api).await;

    let error = plan(&namespace, |map| async move {
        if map.name_any() == "child" {
            return Ok(Action::await_change());
        }
        let maps = map.api::<ConfigMap>();
        let clean_up = async move {
            let deleted = maps.delete("child", &DeleteParams::default()).await;
            deleted.map(drop)
        };
        let apply = ready(Ok(Action::await_change()));
        map.finalizer(FINALIZER, apply, clean_up).await
    })
    .await;

    let ManagerError::WouldChange { summary } = error else {
        panic!("{error}");
    };
    assert_eq!(
        summary,
        "The plan: 1 to change, 2 to delete. Nothing was written."
    );
    assert_eq!(versions(&api).await, before);
    let free = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    api.patch("old", &params, &free).await.unwrap();
}
