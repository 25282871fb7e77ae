// Copyright The scaffold authors
// SPDX-License-Identifier: Apache-2.0

//! Conversion of `CronJob` objects between `v2` and `v1`, on a real API server.

use api::{v1, v2};
use kbr_testing::conversion_loses_nothing;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::env;
use scaffold::webhook::v2::cronjob_converter::CronJobConverter;

/// Fields that only one version has, such as `("v1", "spec.schedule")`: the version and the path of
/// each field that may be kept only in the annotation.
const CARRIED: &[(&str, &str)] = &[];

type Hub = v1::CronJob;
type Spoke = v2::CronJob;

const HUB: &str = "config/samples/batch_v1_cronjob.yaml";
const SPOKE: &str = "config/samples/batch_v2_cronjob.yaml";

/// The APIs of both versions, in a new namespace.
async fn apis() -> (Api<Hub>, Api<Spoke>) {
    let namespace = env().namespace().await;
    (
        Api::namespaced(env().admin(), &namespace),
        Api::namespaced(env().admin(), &namespace),
    )
}

/// A change that makes the API server write the whole object again.
fn touch() -> Patch<Value> {
    Patch::Merge(json!({ "metadata": { "labels": { "touched": "true" } } }))
}

#[tokio::test]
async fn an_object_of_the_hub_survives_a_round_trip() {
    let (hubs, spokes) = apis().await;
    let hub: Hub = env().read(HUB);
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
    let spoke: Spoke = env().read(SPOKE);
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
    let mut hub: Hub = env().read(HUB);
    hub.metadata.name = Some("hub".to_owned());
    let mut spoke: Spoke = env().read(SPOKE);
    spoke.metadata.name = Some("spoke".to_owned());
    hubs.create(&PostParams::default(), &hub).await.unwrap();
    spokes.create(&PostParams::default(), &spoke).await.unwrap();

    let params = ListParams::default();
    let in_hub = hubs.list(&params).await.unwrap();
    let in_spoke = spokes.list(&params).await.unwrap();

    assert_eq!(names(in_hub), ["hub", "spoke"]);
    assert_eq!(names(in_spoke), ["hub", "spoke"]);
}

#[test]
fn no_field_is_lost_or_forgotten() {
    let converter = CronJobConverter;
    conversion_loses_nothing(env!("CARGO_MANIFEST_DIR"), converter, CARRIED);
}

fn names<K: ResourceExt>(objects: impl IntoIterator<Item = K>) -> Vec<String> {
    let names = objects.into_iter().map(|object| object.name_any());
    names.collect()
}
