// Copyright The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! What the API server makes of a `Guestbook` before the operator sees it: it refuses what the schema does
//! not allow, and names the field; it fills in defaults, and drops fields that it does not know.
//!
//! The schema is generated from `api/src/v1/guestbook_types.rs`.

use api::v1::Guestbook;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Error, ResourceExt};
use serde_json::{Value, json};

use crate::env;

/// Guestbooks of a new namespace, without Rust's types: they would not let us write a bad one.
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

/// The answer is 422; returns the path of each field that it blames, with the text, in order. What the API
/// server could not look at because of these is no field.
#[track_caller]
fn causes(answer: Result<DynamicObject, Error>) -> Vec<(String, String)> {
    let Err(Error::Api(status)) = answer else {
        panic!("not refused");
    };
    assert_eq!(status.code, 422, "{status:?}");
    let causes = status.details.unwrap().causes.into_iter();
    let causes = causes.filter(|cause| cause.field != "<nil>");
    let mut causes: Vec<_> = causes.map(|cause| (cause.field, cause.message)).collect();
    causes.sort();
    causes
}

/// The spec is refused for one thing, of which the text says this.
async fn assert_refused(spec: Value, field: &str, text: &str) {
    let causes = causes(create(&guestbooks().await, &spec).await);
    assert_eq!(causes.len(), 1, "{spec}: {causes:?}");
    assert_eq!(causes[0].0, field, "{spec}: {causes:?}");
    assert!(causes[0].1.contains(text), "{spec}: {causes:?}");
}

/// The spec is stored, as it was written but for these fields.
async fn assert_stored(spec: Value, defaults: Value) {
    let stored = create(&guestbooks().await, &spec).await;
    let stored = stored.unwrap_or_else(|error| panic!("{spec}: {error}"));
    let mut expected = spec.as_object().unwrap().clone();
    expected.extend(defaults.as_object().unwrap().clone());
    assert_eq!(stored.data["spec"], Value::Object(expected));
}

const NO_NAME: &str = "spec.configMapName in body should match";

#[tokio::test]
async fn a_size_of_1_to_10_is_stored() {
    for size in [1, 2, 10] {
        assert_stored(json!({ "size": size, "configMapName": "web" }), json!({})).await;
    }
}

#[tokio::test]
async fn a_size_below_1_is_refused() {
    for size in [0, -1] {
        let text = "spec.size in body should be greater than or equal to 1";
        let spec = json!({ "size": size, "configMapName": "web" });
        assert_refused(spec, "spec.size", text).await;
    }
}

#[tokio::test]
async fn a_size_above_10_is_refused() {
    let text = "spec.size in body should be less than or equal to 10";
    let spec = json!({ "size": 11, "configMapName": "web" });
    assert_refused(spec, "spec.size", text).await;
}

#[tokio::test]
async fn a_size_that_is_no_whole_number_is_refused() {
    for size in [json!("3"), json!(1.5), json!(true)] {
        let spec = json!({ "size": size, "configMapName": "web" });
        assert_refused(spec, "spec.size", "must be of type int").await;
    }
}

#[tokio::test]
async fn without_a_size_it_is_1() {
    let one = json!({ "size": 1 });
    assert_stored(json!({ "configMapName": "web" }), one.clone()).await;
    // Null is the same as nothing where there is a default.
    assert_stored(json!({ "size": null, "configMapName": "web" }), one).await;
}

#[tokio::test]
async fn a_name_of_1_to_15_characters_is_stored() {
    let one = json!({ "size": 1 });
    for name in ["a", "a-1.b", "fifteen-letters"] {
        assert_stored(json!({ "configMapName": name }), one.clone()).await;
    }
}

#[tokio::test]
async fn a_name_of_16_characters_is_refused() {
    let spec = json!({ "configMapName": "sixteen-letterss" });
    let text = "may not be more than 15 bytes";
    assert_refused(spec, "spec.configMapName", text).await;
}

#[tokio::test]
async fn an_empty_name_is_refused() {
    let spec = json!({ "configMapName": "" });
    let text = "should be at least 1 chars long";
    assert_refused(spec, "spec.configMapName", text).await;
}

#[tokio::test]
async fn a_name_that_no_config_map_can_have_is_refused() {
    for name in ["Web", "web_1", "-web", "web-", "a..b", "../secrets/web"] {
        let spec = json!({ "configMapName": name });
        assert_refused(spec, "spec.configMapName", NO_NAME).await;
    }
}

#[tokio::test]
async fn a_guestbook_must_say_which_config_map() {
    let field = "spec.configMapName";
    assert_refused(json!({ "size": 1 }), field, "Required value").await;
    let spec = json!({ "configMapName": 5 });
    assert_refused(spec, field, "must be of type string").await;
}

#[tokio::test]
async fn a_guestbook_must_have_a_spec() {
    let mut object = guestbook(&json!({}));
    object.data = json!({});

    let answer = guestbooks()
        .await
        .create(&PostParams::default(), &object)
        .await;

    let expected = ("spec".to_owned(), "Required value".to_owned());
    assert_eq!(causes(answer), [expected]);
}

#[tokio::test]
async fn each_alias_is_stored_and_none_as_well() {
    let one = json!({ "size": 1 });
    for alias in ["Phone", "Address", "Name"] {
        assert_stored(
            json!({ "configMapName": "web", "alias": alias }),
            one.clone(),
        )
        .await;
    }
    assert_stored(json!({ "configMapName": "web" }), one).await;
}

#[tokio::test]
async fn an_alias_that_is_none_is_refused() {
    let text = "supported values: \"Phone\", \"Address\", \"Name\"";
    for alias in ["Email", "phone", ""] {
        let spec = json!({ "configMapName": "web", "alias": alias });
        assert_refused(spec, "spec.alias", text).await;
    }
}

#[tokio::test]
async fn all_that_is_wrong_is_told_at_once() {
    let spec = json!({ "size": 11, "configMapName": "Web", "alias": "Email" });

    let causes = causes(create(&guestbooks().await, &spec).await);

    let fields: Vec<_> = causes.iter().map(|(field, _)| field.as_str()).collect();
    assert_eq!(fields, ["spec.alias", "spec.configMapName", "spec.size"]);
}

#[tokio::test]
async fn the_name_of_a_guestbook_has_63_characters_at_most() {
    let guestbooks = guestbooks().await;
    let named = |length: usize| {
        let mut object = guestbook(&json!({ "configMapName": "web" }));
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
async fn a_bad_change_is_refused_and_the_guestbook_stays_as_it_was() {
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
        let answer = guestbooks
            .patch(&name, &PatchParams::default(), &change)
            .await;

        let causes = causes(answer);
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
