// Copyright The multiversion authors
// SPDX-License-Identifier: Apache-2.0

//! The same `CronJob` objects in `v1` and `v2`, on a real API server.

use api::{v1, v2};
use kbr_testing::conversion_loses_nothing;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::env;
use multiversion::webhook::v2::cronjob_converter::CronJobConverter;

/// The fields whose values one version has and the other cannot express: time zones, intervals and
/// names such as `@hourly` in `v1`, a field with `*` in `v2`. Only the annotation of converted fields
/// keeps these.
const CARRIED: &[(&str, &str)] = &[("v1", "spec.schedule"), ("v2", "spec.schedule")];

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
async fn the_hub_is_read_as_a_spoke_and_comes_back() {
    let (hubs, spokes) = apis().await;
    let hub: Hub = env().read(HUB);
    let written = hubs.create(&PostParams::default(), &hub).await.unwrap();
    let name = written.name_any();

    let read = spokes.get(&name).await.unwrap();
    let touched = spokes.patch(&name, &PatchParams::default(), &touch()).await;
    let back = hubs.get(&name).await.unwrap();

    assert_eq!(read.uid(), written.uid());
    assert_eq!(written.spec.schedule, "*/1 * * * *");
    assert_eq!(read.spec.schedule.minute.as_deref(), Some("*/1"));
    assert_eq!(touched.unwrap().labels()["touched"], "true");
    assert_eq!(json!(back)["spec"], json!(written)["spec"]);
}

#[tokio::test]
async fn the_spoke_is_read_as_a_hub_and_comes_back() {
    let (hubs, spokes) = apis().await;
    let spoke: Spoke = env().read(SPOKE);
    let written = spokes.create(&PostParams::default(), &spoke).await.unwrap();
    let name = written.name_any();

    let read = hubs.get(&name).await.unwrap();
    let touched = hubs.patch(&name, &PatchParams::default(), &touch()).await;
    let back = spokes.get(&name).await.unwrap();

    assert_eq!(read.uid(), written.uid());
    assert_eq!(written.spec.schedule.minute.as_deref(), Some("*/1"));
    assert_eq!(read.spec.schedule, "*/1 * * * *");
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

#[tokio::test]
async fn what_v1_does_not_allow_is_not_stored_through_v2() {
    let (hubs, spokes) = apis().await;
    let hub: Hub = env().read(HUB);
    let written = hubs.create(&PostParams::default(), &hub).await.unwrap();
    let name = written.name_any();
    let params = PatchParams::default();
    let difference = json!({"path": "/spec/startingDeadlineSeconds", "from": 60, "to": -5});
    let annotations = json!({
        "batch.tutorial.kubebuilder.io/converted-fields": json!({"v1": [difference]}).to_string(),
    });
    let forged = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
    spokes.patch(&name, &params, &forged).await.unwrap();
    assert_eq!(hubs.get(&name).await.unwrap().spec, written.spec);
}

/// For this, the API server converts parts of the object, without required fields.
#[tokio::test]
async fn both_versions_are_applied_side_by_side() {
    let (hubs, spokes) = apis().await;
    let hub: Hub = env().read(HUB);
    let written = hubs.create(&PostParams::default(), &hub).await.unwrap();
    let name = written.name_any();
    let apply = |version: &str, spec: Value| {
        let api_version = format!("batch.tutorial.kubebuilder.io/{version}");
        Patch::Apply(json!({"apiVersion": api_version, "kind": "CronJob", "spec": spec}))
    };
    let (one, two) = (PatchParams::apply("one"), PatchParams::apply("two"));

    let failed = apply("v2", json!({"failedJobsHistoryLimit": 4}));
    spokes.patch(&name, &two.force(), &failed).await.unwrap();
    let successful = apply("v1", json!({"successfulJobsHistoryLimit": 5}));
    hubs.patch(&name, &one.force(), &successful).await.unwrap();
    let nothing = apply("v2", json!({}));
    let two = PatchParams::apply("two");
    let applied = spokes.patch(&name, &two, &nothing).await.unwrap();

    assert_eq!(applied.spec.successful_jobs_history_limit, Some(5));
    assert_ne!(applied.spec.failed_jobs_history_limit, Some(4));
    let stored = hubs.get(&name).await.unwrap();
    assert_eq!(stored.spec.schedule, written.spec.schedule);
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
