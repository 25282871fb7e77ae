// Copyright The scaffold authors
// SPDX-License-Identifier: Apache-2.0

//! The `Admiral` controller on a real API server.

use api::v1;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::conditions;
use kube::{Api, Resource, ResourceExt};
use serde_json::json;

use crate::env;
use scaffold::controller::admiral_controller::READY;

type Object = v1::Admiral;

/// The name of the controller.
const NAME: &str = "admiral";

/// The reason that another client writes into the condition of the controller.
const OVERWRITTEN: &str = "Overwritten";

const SAMPLE: &str = "config/samples/batch_v1_admiral.yaml";

/// Creates the sample, under a name of its own.
async fn create() -> (Api<Object>, Object) {
    let api = Api::all(env().admin());
    let mut object: Object = env().sample(&api, SAMPLE).await;
    object.metadata.name = None;
    object.metadata.generate_name = Some("test-".to_owned());
    let object = api.create(&PostParams::default(), &object).await.unwrap();
    (api, object)
}

/// Waits until the controller has reported on the current spec.
async fn wait_until_reconciled(api: &Api<Object>, name: &str) -> Object {
    let object = env().wait_for(api, name, is_reconciled).await;
    object.unwrap()
}

fn is_reconciled(object: Option<&Object>) -> bool {
    let Some(object) = object else { return false };
    condition(object).is_some_and(|condition| {
        condition.observed_generation == object.metadata.generation
            && condition.reason != OVERWRITTEN
    })
}

/// The condition of this controller in the status.
fn condition(object: &Object) -> Option<&meta::Condition> {
    let conditions = object.status.iter().flat_map(|status| &status.conditions);
    let mut ready = conditions.filter(|condition| condition.type_ == READY);
    ready.next()
}

/// How often this controller has written the status of the object.
fn writes(object: &Object) -> usize {
    let by = Some(format!("{}/{NAME}", env!("CARGO_PKG_NAME")));
    let requests = env().requests().into_iter();
    let writes = requests.filter(|request| {
        request.resource == "admirales/status"
            && request.name == object.metadata.name
            && request.field_manager() == by
    });
    writes.count()
}

#[tokio::test]
async fn a_new_object_is_reconciled() {
    let (api, object) = create().await;

    let object = wait_until_reconciled(&api, &object.name_any()).await;

    // Check here what the controller does for an object.
    assert_eq!(condition(&object).unwrap().reason, "NotImplemented");
    let status = object.status.unwrap();
    assert_eq!(status.observed_generation, object.metadata.generation);
}

#[tokio::test]
async fn a_status_that_is_up_to_date_is_not_written_again() {
    let (api, object) = create().await;
    let name = object.name_any();
    wait_until_reconciled(&api, &name).await;

    // A change that needs no work: the object is reconciled, and the status stays the same. Made
    // twice, because another controller of the kind may still write, which triggers this one.
    let mut before = 0;
    for touched in ["once", "twice"] {
        before = writes(&object);
        let label = Patch::Merge(json!({ "metadata": { "labels": { "touched": touched } } }));
        let params = PatchParams::default();
        api.patch(&name, &params, &label).await.unwrap();
        // Objects are reconciled in order: once the other is reconciled, so is this one.
        let (_, other) = create().await;
        wait_until_reconciled(&api, &other.name_any()).await;
    }

    assert_eq!(writes(&object), before);
}

#[tokio::test]
async fn an_event_tells_of_an_object_that_cannot_be_read() {
    let (api, object) = create().await;

    let event = env().report_unreadable(&api, &object.name_any()).await;

    assert_eq!(event.reason.unwrap(), "Unreadable");
}

#[tokio::test]
async fn a_condition_of_another_client_is_kept() {
    let (api, object) = create().await;
    let name = object.name_any();
    let object = wait_until_reconciled(&api, &name).await;

    // Another client applies a condition of its own, and overwrites this controller's.
    let mut other = condition(&object).unwrap().clone();
    other.reason = OVERWRITTEN.to_owned();
    let overwritten = other.clone();
    other.type_ = "Other".to_owned();
    let status = Patch::Apply(json!({
        "apiVersion": Object::api_version(&()),
        "kind": Object::kind(&()),
        "status": { "conditions": [other, overwritten] },
    }));
    let params = PatchParams::apply("another").force();
    api.patch_status(&name, &params, &status).await.unwrap();

    let object = wait_until_reconciled(&api, &name).await;
    let mut conditions = object.status.iter().flat_map(|status| &status.conditions);
    assert!(conditions.any(|condition| condition.type_ == "Other"));
    for writer in object.managed_fields() {
        let owned = json!(writer.fields_v1).to_string();
        let is_other = writer.manager.as_deref() == Some("another");
        assert_eq!(owned.contains("Other"), is_other, "{writer:?}");
    }
}

#[tokio::test]
async fn an_object_is_deleted_and_others_are_still_reconciled() {
    let (api, object) = create().await;
    let name = object.name_any();
    wait_until_reconciled(&api, &name).await;

    api.delete(&name, &DeleteParams::default()).await.unwrap();

    let uid = object.uid().unwrap();
    env()
        .wait_for(&api, &name, conditions::is_deleted(&uid))
        .await;
    let (others, other) = create().await;
    wait_until_reconciled(&others, &other.name_any()).await;
}
