// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Events that the manager publishes.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::events::v1::Event as Stored;
use kube::api::{ListParams, PostParams};
use kube::runtime::events::{Event, EventType};
use kube::{Api, Resource};

use crate::support::{Running, manager, servers};

fn event(note: &str) -> Event {
    Event {
        type_: EventType::Normal,
        reason: "Seen".to_owned(),
        action: "Look".to_owned(),
        note: Some(note.to_owned()),
        secondary: None,
    }
}

#[tokio::test]
async fn equal_events_of_one_controller_are_one_object_with_a_count() {
    let namespace = servers().namespace().await;
    let mut object = ConfigMap::default();
    object.metadata.name = Some("sample".to_owned());
    let api = Api::<ConfigMap>::namespaced(servers().admin(), &namespace);
    let object = api.create(&PostParams::default(), &object).await.unwrap();
    let manager = manager(servers()).await;
    let sent = [
        ("one", "a"),
        ("one", "a"),
        ("one", "b"),
        ("other", "a"),
        ("one", "a"),
    ];
    for (controller, note) in sent {
        let events = manager.events(controller);
        events.publish(event(note), object.object_ref(&()));
    }
    // What waits at the stop is still published.
    let running = Running::start(manager);
    tokio::time::sleep(Duration::from_millis(1)).await;
    running.stop().await;

    let events = Api::<Stored>::namespaced(servers().admin(), &namespace);
    let events = events.list(&ListParams::default()).await.unwrap().items;
    let mut counts: Vec<_> = events
        .iter()
        .map(|event| {
            let count = event.series.as_ref().map_or(1, |series| series.count);
            let controller = event.reporting_controller.as_deref().unwrap();
            (controller, event.note.as_deref().unwrap(), count)
        })
        .collect();
    counts.sort_unstable();
    assert_eq!(
        counts,
        [("one", "a", 3), ("one", "b", 1), ("other", "a", 1)]
    );
}
