// Copyright The scaffold authors
// SPDX-License-Identifier: Apache-2.0

//! The `Admiral` controller on a real API server.

use api::v1;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::conditions;
use kube::{Api, Resource, ResourceExt};
use serde_json::json;

use crate::env;

type Object = v1::Admiral;

const SAMPLE: &str = "config/samples/batch_v1_admiral.yaml";

/// An object as the sample has it, under a name of its own.
async fn create() -> (Api<Object>, Object) {
    let api = Api::all(env().admin());
    let mut object: Object = env().read(SAMPLE);
    object.metadata.name = None;
    object.metadata.generate_name = Some("test-".to_owned());
    let object = api.create(&PostParams::default(), &object).await.unwrap();
    (api, object)
}

/// Waits until the status says that the present spec was reconciled.
async fn wait_until_ready(api: &Api<Object>, name: &str) -> Object {
    let object = env().wait_for(api, name, is_ready).await;
    object.unwrap()
}

fn is_ready(object: Option<&Object>) -> bool {
    let Some(object) = object else { return false };
    let conditions = object.status.iter().flat_map(|status| &status.conditions);
    let mut ready = conditions.filter(|condition| condition.type_ == "Ready");
    ready.any(|ready| {
        ready.status == "True" && ready.observed_generation == object.metadata.generation
    })
}

#[tokio::test]
async fn an_object_becomes_ready() {
    let (api, object) = create().await;

    let ready = wait_until_ready(&api, &object.name_any()).await;

    let status = ready.status.unwrap();
    assert_eq!(status.observed_generation, object.metadata.generation);
    assert_eq!(status.conditions.len(), 1);
    assert_eq!(status.conditions[0].reason, "Reconciled");
}

#[tokio::test]
async fn a_status_that_is_right_is_not_written_again() {
    let (api, object) = create().await;
    let name = object.name_any();
    wait_until_ready(&api, &name).await;

    // A change that requires nothing: the object is reconciled, the status stays.
    let label = Patch::Merge(json!({ "metadata": { "labels": { "touched": "true" } } }));
    let touched = api
        .patch(&name, &PatchParams::default(), &label)
        .await
        .unwrap();
    // Objects are reconciled one at a time, in order: once another is ready, this one had its turn.
    let (_, other) = create().await;
    wait_until_ready(&api, &other.name_any()).await;

    let now = api.get(&name).await.unwrap();
    assert_eq!(now.resource_version(), touched.resource_version());
}

#[tokio::test]
async fn a_condition_of_another_stays_with_it() {
    let (api, object) = create().await;
    let name = object.name_any();
    let ready = wait_until_ready(&api, &name).await;

    // Another applies a condition of its own, and says the contrary of this controller's.
    let mut other = ready.status.unwrap().conditions.remove(0);
    other.status = "False".to_owned();
    let contrary = other.clone();
    other.type_ = "Other".to_owned();
    let status = Patch::Apply(json!({
        "apiVersion": Object::api_version(&()),
        "kind": Object::kind(&()),
        "status": { "conditions": [other, contrary] },
    }));
    let params = PatchParams::apply("another").force();
    api.patch_status(&name, &params, &status).await.unwrap();

    let ready = wait_until_ready(&api, &name).await;
    let conditions = ready.status.as_ref().unwrap().conditions.iter();
    assert!(conditions.into_iter().any(|c| c.type_ == "Other"));
    for writer in ready.managed_fields() {
        let owned = json!(writer.fields_v1).to_string();
        let is_other = writer.manager.as_deref() == Some("another");
        assert_eq!(owned.contains("Other"), is_other, "{writer:?}");
    }
}

#[tokio::test]
async fn a_deleted_object_is_gone_and_the_others_are_served() {
    let (api, object) = create().await;
    let name = object.name_any();
    wait_until_ready(&api, &name).await;

    api.delete(&name, &DeleteParams::default()).await.unwrap();

    let uid = object.uid().unwrap();
    env()
        .wait_for(&api, &name, conditions::is_deleted(&uid))
        .await;
    let (others, other) = create().await;
    wait_until_ready(&others, &other.name_any()).await;
}
