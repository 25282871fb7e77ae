// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Events of the manager's recorder.

use api::v1::{Task, TaskSpec};
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::json;
use tokio::time::sleep;

use crate::support::{Operator, PATIENCE, create, servers};

#[tokio::test]
async fn an_event_that_is_repeated_is_counted_and_not_created_again() {
    let namespace = servers().namespace().await;
    let api = Api::<Task>::namespaced(servers().admin(), &namespace);
    let _operator = Operator::start(servers(), &namespace, &[]);
    let spec = TaskSpec {
        event: true,
        ..TaskSpec::default()
    };
    create(&api, "task", spec).await;
    // The reconcile that sees its own status repeats the event.
    let change = Patch::Merge(json!({ "spec": { "priority": 1 } }));
    let params = PatchParams::default();
    api.patch("task", &params, &change).await.unwrap();

    let events = Api::<Event>::namespaced(servers().admin(), &namespace);
    let counted = async {
        loop {
            let list = events.list(&ListParams::default()).await.unwrap();
            let seen = list.items.into_iter();
            let seen: Vec<_> = seen
                .filter(|event| event.reason.as_deref() == Some("Seen"))
                .collect();
            assert!(seen.len() <= 1, "{seen:?}");
            if let Some(series) = seen.first().and_then(|event| event.series.as_ref())
                && series.count >= 2
            {
                return;
            }
            sleep(std::time::Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, counted).await.unwrap();
}
