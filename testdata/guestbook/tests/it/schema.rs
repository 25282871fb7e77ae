// Copyright The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! What the API server does with a `Guestbook` before the operator sees it: it rejects what the schema does
//! not allow, and reports the field; it drops unknown fields.
//!
//! The schema is generated from `api/src/v1/guestbook_types.rs`.

use api::v1::Guestbook;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Error, ResourceExt};
use serde_json::{Value, json};

use crate::env;

/// Guestbooks in a new namespace, untyped: the Rust types would not let us write an invalid one.
async fn guestbooks() -> Api<DynamicObject> {
    let resource = ApiResource::erase::<Guestbook>(&());
    Api::namespaced_with(env().admin(), &env().namespace().await, &resource)
}

fn guestbook(spec: &Value) -> DynamicObject {
    let mut guestbook = DynamicObject::new("", &ApiResource::erase::<Guestbook>(&()));
    guestbook.metadata.name = None;
    guestbook.metadata.generate_name = Some("sample-".to_owned());
    guestbook.data = json!({ "spec": spec });
    guestbook
}

async fn create(guestbooks: &Api<DynamicObject>, spec: &Value) -> Result<DynamicObject, Error> {
    let params = PostParams::default();
    guestbooks.create(&params, &guestbook(spec)).await
}

/// Asserts that the response is 422; returns the path of each invalid field, with the message, sorted.
/// Checks that the API server skipped because of these have no field, and are left out.
#[track_caller]
fn causes(response: Result<DynamicObject, Error>) -> Vec<(String, String)> {
    let Err(Error::Api(status)) = response else {
        panic!("not rejected");
    };
    assert_eq!(status.code, 422, "{status:?}");
    let causes = status.details.unwrap().causes.into_iter();
    let causes = causes.filter(|cause| cause.field != "<nil>");
    let mut causes: Vec<_> = causes.map(|cause| (cause.field, cause.message)).collect();
    causes.sort();
    causes
}

/// Asserts that the spec is rejected for a single field, with this text in the message.
async fn assert_rejected(spec: Value, field: &str, text: &str) {
    let causes = causes(create(&guestbooks().await, &spec).await);
    assert_eq!(causes.len(), 1, "{spec}: {causes:?}");
    assert_eq!(causes[0].0, field, "{spec}: {causes:?}");
    assert!(causes[0].1.contains(text), "{spec}: {causes:?}");
}

/// Asserts that the spec is stored as it was written.
async fn assert_stored(spec: Value) {
    let stored = create(&guestbooks().await, &spec).await;
    let stored = stored.unwrap_or_else(|error| panic!("{spec}: {error}"));
    assert_eq!(stored.data["spec"], spec);
}

const NO_NAME: &str = "spec.configMapName in body should match";

#[tokio::test]
async fn a_size_of_1_to_10_is_stored() {
    for size in [1, 2, 10] {
        assert_stored(json!({ "size": size, "configMapName": "web" })).await;
    }
}

#[tokio::test]
async fn a_size_below_1_is_rejected() {
    for size in [0, -1] {
        let text = "spec.size in body should be greater than or equal to 1";
        let spec = json!({ "size": size, "configMapName": "web" });
        assert_rejected(spec, "spec.size", text).await;
    }
}

#[tokio::test]
async fn a_size_above_10_is_rejected() {
    let text = "spec.size in body should be less than or equal to 10";
    let spec = json!({ "size": 11, "configMapName": "web" });
    assert_rejected(spec, "spec.size", text).await;
}

#[tokio::test]
async fn a_size_that_is_not_a_whole_number_is_rejected() {
    for size in [json!("3"), json!(1.5), json!(true)] {
        let spec = json!({ "size": size, "configMapName": "web" });
        assert_rejected(spec, "spec.size", "must be of type int").await;
    }
}

#[tokio::test]
async fn a_missing_size_is_rejected() {
    let spec = json!({ "configMapName": "web" });
    assert_rejected(spec, "spec.size", "Required value").await;
}

#[tokio::test]
async fn a_name_of_1_to_15_characters_is_stored() {
    for name in ["a", "a-1.b", "fifteen-letters"] {
        assert_stored(json!({ "size": 1, "configMapName": name })).await;
    }
}

#[tokio::test]
async fn a_name_of_16_characters_is_rejected() {
    let spec = json!({ "size": 1, "configMapName": "sixteen-letterss" });
    let text = "may not be more than 15 bytes";
    assert_rejected(spec, "spec.configMapName", text).await;
}

#[tokio::test]
async fn an_empty_name_is_rejected() {
    let spec = json!({ "size": 1, "configMapName": "" });
    let text = "should be at least 1 chars long";
    assert_rejected(spec, "spec.configMapName", text).await;
}

#[tokio::test]
async fn an_invalid_name_of_a_config_map_is_rejected() {
    for name in ["Web", "web_1", "-web", "web-", "a..b", "../secrets/web"] {
        let spec = json!({ "size": 1, "configMapName": name });
        assert_rejected(spec, "spec.configMapName", NO_NAME).await;
    }
}

#[tokio::test]
async fn a_guestbook_must_name_a_config_map() {
    let field = "spec.configMapName";
    assert_rejected(json!({ "size": 1 }), field, "Required value").await;
    let spec = json!({ "size": 1, "configMapName": 5 });
    assert_rejected(spec, field, "must be of type string").await;
}

#[tokio::test]
async fn a_guestbook_must_have_a_spec() {
    let mut object = guestbook(&json!({}));
    object.data = json!({});

    let response = guestbooks()
        .await
        .create(&PostParams::default(), &object)
        .await;

    let expected = ("spec".to_owned(), "Required value".to_owned());
    assert_eq!(causes(response), [expected]);
}

#[tokio::test]
async fn each_alias_is_stored_and_may_be_omitted() {
    for alias in ["Phone", "Address", "Name"] {
        let spec = json!({ "size": 1, "configMapName": "web", "alias": alias });
        assert_stored(spec).await;
    }
    assert_stored(json!({ "size": 1, "configMapName": "web" })).await;
}

#[tokio::test]
async fn an_unknown_alias_is_rejected() {
    let text = "supported values: \"Phone\", \"Address\", \"Name\"";
    for alias in ["Email", "phone", ""] {
        let spec = json!({ "size": 1, "configMapName": "web", "alias": alias });
        assert_rejected(spec, "spec.alias", text).await;
    }
}

#[tokio::test]
async fn all_errors_are_reported_at_once() {
    let spec = json!({ "size": 11, "configMapName": "Web", "alias": "Email" });

    let causes = causes(create(&guestbooks().await, &spec).await);

    let fields: Vec<_> = causes.iter().map(|(field, _)| field.as_str()).collect();
    assert_eq!(fields, ["spec.alias", "spec.configMapName", "spec.size"]);
}

#[tokio::test]
async fn the_name_of_a_guestbook_has_at_most_63_characters() {
    let guestbooks = guestbooks().await;
    let named = |length: usize| {
        let mut object = guestbook(&json!({ "size": 1, "configMapName": "web" }));
        object.metadata.generate_name = None;
        object.metadata.name = Some("a".repeat(length));
        object
    };

    let params = PostParams::default();
    guestbooks.create(&params, &named(63)).await.unwrap();
    let causes = causes(guestbooks.create(&params, &named(64)).await);

    assert_eq!(causes.len(), 1, "{causes:?}");
    assert_eq!(causes[0].0, "metadata.name");
    let text = "must be no more than 63 characters";
    assert!(causes[0].1.contains(text), "{causes:?}");
}

#[tokio::test]
async fn an_invalid_change_is_rejected_and_the_guestbook_stays_unchanged() {
    let guestbooks = guestbooks().await;
    let spec = json!({ "size": 2, "configMapName": "web", "alias": "Phone" });
    let name = create(&guestbooks, &spec).await.unwrap().name_any();

    for (change, field) in [
        (json!({ "size": 0 }), "spec.size"),
        (json!({ "size": 11 }), "spec.size"),
        (
            json!({ "configMapName": "a".repeat(16) }),
            "spec.configMapName",
        ),
        (json!({ "alias": "Email" }), "spec.alias"),
    ] {
        let change = Patch::Merge(json!({ "spec": change }));
        let response = guestbooks
            .patch(&name, &PatchParams::default(), &change)
            .await;

        let causes = causes(response);
        assert_eq!(causes.len(), 1, "{causes:?}");
        assert_eq!(causes[0].0, field);
    }
    assert_eq!(guestbooks.get(&name).await.unwrap().data["spec"], spec);
}

#[tokio::test]
async fn unknown_fields_are_dropped() {
    let spec = json!({ "size": 2, "configMapName": "web", "sise": 3, "type": "Phone" });

    let stored = create(&guestbooks().await, &spec).await.unwrap();

    let expected = json!({ "size": 2, "configMapName": "web" });
    assert_eq!(stored.data["spec"], expected);
}
