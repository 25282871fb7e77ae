// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Events from the manager's recorders.

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::events::v1::Event as Stored;
use kube::api::{ListParams, PostParams};
use kube::runtime::events::{Event, EventType};
use kube::{Api, Resource};

use crate::support::{manager, servers};

#[tokio::test]
async fn all_recorders_of_one_name_count_the_same_event() {
    let namespace = servers().namespace().await;
    let mut object = ConfigMap::default();
    object.metadata.name = Some("sample".to_owned());
    let api = Api::<ConfigMap>::namespaced(servers().admin(), &namespace);
    let object = api.create(&PostParams::default(), &object).await.unwrap();
    let mut manager = manager(servers()).await;
    let event = Event {
        type_: EventType::Normal,
        reason: "Seen".to_owned(),
        action: "Look".to_owned(),
        note: Some("it was seen".to_owned()),
        secondary: None,
    };

    for controller in ["one", "one", "other", "one"] {
        let recorder = manager.recorder(controller);
        let published = recorder.publish(&event, &object.object_ref(&())).await;
        published.unwrap();
    }

    let events = Api::<Stored>::namespaced(servers().admin(), &namespace);
    let events = events.list(&ListParams::default()).await.unwrap().items;
    let mut counts: Vec<_> = events
        .iter()
        .map(|event| {
            let count = event.series.as_ref().map_or(1, |series| series.count);
            (event.reporting_controller.as_deref().unwrap(), count)
        })
        .collect();
    counts.sort_unstable();
    assert_eq!(counts, [("one", 3), ("other", 1)]);
}
