// Copyright The scaffold authors
// SPDX-License-Identifier: Apache-2.0

//! Conversion of `Admiral` objects between `v2` and `v1`, on a real API server.

use api::{v1, v2};
use kbr_testing::conversion_loses_nothing;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::env;
use scaffold::webhook::v2::admiral_converter::AdmiralConverter;

/// Fields that only one version has, such as `("v1", "spec.schedule")`: the version and the path of
/// each field that may be kept only in the annotation.
const CARRIED: &[(&str, &str)] = &[];

type Hub = v1::Admiral;
type Spoke = v2::Admiral;

const HUB: &str = "config/samples/batch_v1_admiral.yaml";
const SPOKE: &str = "config/samples/batch_v2_admiral.yaml";

/// The APIs of both versions.
async fn apis() -> (Api<Hub>, Api<Spoke>) {
    (Api::all(env().admin()), Api::all(env().admin()))
}

/// Lets the API server generate the name of an object.
fn unnamed<K: ResourceExt>(mut object: K) -> K {
    object.meta_mut().name = None;
    object.meta_mut().generate_name = Some("test-".to_owned());
    object
}

/// A change that makes the API server write the whole object again.
fn touch() -> Patch<Value> {
    Patch::Merge(json!({ "metadata": { "labels": { "touched": "true" } } }))
}

#[tokio::test]
async fn an_object_of_the_hub_survives_a_round_trip() {
    let (hubs, spokes) = apis().await;
    let hub: Hub = unnamed(env().read(HUB));
    let written = hubs.create(&PostParams::default(), &hub).await.unwrap();
    let name = written.name_any();

    let read = spokes.get(&name).await.unwrap();
    let touched = spokes.patch(&name, &PatchParams::default(), &touch()).await;
    let back = hubs.get(&name).await.unwrap();

    assert_eq!(read.uid(), written.uid());
    // Check here that each field of `read` comes from the right field of `written`: a field that is
    // converted into the wrong one also survives the round trip.
    assert_eq!(touched.unwrap().labels()["touched"], "true");
    assert_eq!(json!(back)["spec"], json!(written)["spec"]);
}

#[tokio::test]
async fn an_object_of_the_spoke_survives_a_round_trip() {
    let (hubs, spokes) = apis().await;
    let spoke: Spoke = unnamed(env().read(SPOKE));
    let written = spokes.create(&PostParams::default(), &spoke).await.unwrap();
    let name = written.name_any();

    let read = hubs.get(&name).await.unwrap();
    let touched = hubs.patch(&name, &PatchParams::default(), &touch()).await;
    let back = spokes.get(&name).await.unwrap();

    assert_eq!(read.uid(), written.uid());
    assert_eq!(touched.unwrap().labels()["touched"], "true");
    assert_eq!(json!(back)["spec"], json!(written)["spec"]);
}

#[tokio::test]
async fn a_list_of_either_version_shows_the_objects_of_both() {
    let (hubs, spokes) = apis().await;
    let hub: Hub = unnamed(env().read(HUB));
    let spoke: Spoke = unnamed(env().read(SPOKE));
    let hub = hubs.create(&PostParams::default(), &hub).await.unwrap();
    let spoke = spokes.create(&PostParams::default(), &spoke).await.unwrap();

    let params = ListParams::default();
    let in_hub = hubs.list(&params).await.unwrap();
    let in_spoke = spokes.list(&params).await.unwrap();

    // There may be objects of other tests too.
    for names in [names(in_hub), names(in_spoke)] {
        assert!(names.contains(&hub.name_any()), "{names:?}");
        assert!(names.contains(&spoke.name_any()), "{names:?}");
    }
}

#[test]
fn no_field_is_lost_or_forgotten() {
    let converter = AdmiralConverter;
    conversion_loses_nothing(env!("CARGO_MANIFEST_DIR"), converter, CARRIED);
}

fn names<K: ResourceExt>(objects: impl IntoIterator<Item = K>) -> Vec<String> {
    let names = objects.into_iter().map(|object| object.name_any());
    names.collect()
}
