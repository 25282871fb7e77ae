// Copyright The foo authors
// SPDX-License-Identifier: Apache-2.0

//! What the API server does with a `Foo` before the operator sees it.
//!
//! The schema is generated from `api/src/v1alpha1/foo_types.rs`.

use api::v1alpha1::Foo;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Error};
use serde_json::{Value, json};

use crate::env;

/// Foos in a new namespace, untyped: the Rust types would not let us write an invalid one.
async fn foos() -> Api<DynamicObject> {
    let resource = ApiResource::erase::<Foo>(&());
    Api::namespaced_with(env().admin(), &env().namespace().await, &resource)
}

fn foo(spec: &Value) -> DynamicObject {
    let mut foo = DynamicObject::new("", &ApiResource::erase::<Foo>(&()));
    foo.metadata.name = None;
    foo.metadata.generate_name = Some("sample-".to_owned());
    foo.data = json!({ "spec": spec });
    foo
}

/// Asserts that the response is 422; returns its fields, each with the reason, and the message.
#[track_caller]
fn refusal(response: Result<DynamicObject, Error>) -> (Vec<(String, String)>, String) {
    let Err(Error::Api(status)) = response else {
        panic!("not rejected");
    };
    assert_eq!(status.code, 422, "{status:?}");
    let causes = status.details.as_ref().unwrap().causes.iter();
    // The API server adds a cause without a field to say which rules it did not check.
    let causes = causes.filter(|cause| cause.field != "<nil>");
    let causes = causes.map(|cause| (cause.field.clone(), cause.reason.clone()));
    (causes.collect(), status.message.clone())
}

#[tokio::test]
async fn an_invalid_spec_is_rejected_with_the_field() {
    let foos = foos().await;
    let too_long = "a".repeat(64);
    let not_a_name = "should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'";
    for (spec, field, text) in [
        (json!({}), "deploymentName", "Required value"),
        (
            json!({ "deploymentName": "" }),
            "deploymentName",
            "at least 1 chars long",
        ),
        (
            json!({ "deploymentName": too_long }),
            "deploymentName",
            "may not be more than 63 bytes",
        ),
        (
            json!({ "deploymentName": "Web" }),
            "deploymentName",
            not_a_name,
        ),
        (
            json!({ "deploymentName": "web_1" }),
            "deploymentName",
            not_a_name,
        ),
        (
            json!({ "deploymentName": "web.example" }),
            "deploymentName",
            not_a_name,
        ),
        (
            json!({ "deploymentName": "-web" }),
            "deploymentName",
            not_a_name,
        ),
        (
            json!({ "deploymentName": "web-" }),
            "deploymentName",
            not_a_name,
        ),
        (
            json!({ "deploymentName": 5 }),
            "deploymentName",
            "must be of type string",
        ),
        (
            json!({ "deploymentName": "web", "replicas": -1 }),
            "replicas",
            "should be greater than or equal to 0",
        ),
        (
            json!({ "deploymentName": "web", "replicas": "2" }),
            "replicas",
            "must be of type integer",
        ),
    ] {
        let response = foos.create(&PostParams::default(), &foo(&spec)).await;

        let (causes, message) = refusal(response);
        let field = format!("spec.{field}");
        assert_eq!(causes.len(), 1, "{spec}: {message}");
        assert_eq!(causes[0].0, field, "{message}");
        assert!(message.contains(text), "{spec}: {message}");
    }

    let version = env().admin().apiserver_version().await.unwrap();
    if version.minor.parse::<u32>().unwrap() < 36 {
        // It accepts the number below, which the operator then cannot read.
        return;
    }
    // If a number is too large, the API server names the field only in the message.
    let too_many = foo(&json!({ "deploymentName": "web", "replicas": 2_147_483_648_i64 }));
    let (_, message) = refusal(foos.create(&PostParams::default(), &too_many).await);
    let text = "must be of type integer with format int32 in spec.replicas";
    assert!(message.contains(text), "{message}");
}

#[tokio::test]
async fn an_invalid_change_is_rejected_and_the_foo_stays_unchanged() {
    let foos = foos().await;
    let spec = json!({ "deploymentName": "web", "replicas": 2 });
    let created = foos.create(&PostParams::default(), &foo(&spec)).await;
    let name = created.unwrap().metadata.name.unwrap();

    let bad = Patch::Merge(json!({ "spec": { "replicas": -1 } }));
    let response = foos.patch(&name, &PatchParams::default(), &bad).await;

    assert_eq!(refusal(response).0[0].0, "spec.replicas");
    assert_eq!(foos.get(&name).await.unwrap().data["spec"], spec);
}

#[tokio::test]
async fn values_at_the_limits_are_stored_as_written() {
    let foos = foos().await;
    let longest = "a".repeat(63);
    for spec in [
        json!({ "deploymentName": "w" }),
        json!({ "deploymentName": longest, "replicas": 0 }),
        json!({ "deploymentName": "1-2", "replicas": 3 }),
    ] {
        let stored = foos.create(&PostParams::default(), &foo(&spec)).await;

        assert_eq!(stored.unwrap().data["spec"], spec);
    }
}

/// A Deployment may have any such name, and none of its labels is too long.
#[tokio::test]
async fn the_longest_names_are_valid_for_a_deployment() {
    let world = crate::support::World::new(env()).await;
    let (longest_foo, longest) = ("f".repeat(63), "a".repeat(63));

    world
        .create_and_wait(&longest_foo, json!({ "deploymentName": longest }))
        .await;
}

#[tokio::test]
async fn a_name_of_64_characters_is_rejected() {
    let mut object = foo(&json!({ "deploymentName": "web" }));
    object.metadata.generate_name = None;
    object.metadata.name = Some("f".repeat(64));

    let response = foos().await.create(&PostParams::default(), &object).await;

    let (causes, message) = refusal(response);
    assert_eq!(causes.len(), 1, "{causes:?}");
    assert_eq!(causes[0].0, "metadata.name");
    let text = "must be no more than 63 characters";
    assert!(message.contains(text), "{message}");
}
