// Copyright The myjob authors
// SPDX-License-Identifier: Apache-2.0

//! What the API server rejects in a MyJob, with the path of the field, before the operator sees it.

use api::v1beta1::MyJob;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Error};
use serde_json::{Value, json};

use crate::env;
use crate::support::{NAME, myjob, pod_spec};

/// MyJobs in a new namespace, untyped: the Rust types would not let us write an invalid one.
async fn myjobs() -> Api<DynamicObject> {
    let resource = ApiResource::erase::<MyJob>(&());
    Api::namespaced_with(env().admin(), &env().namespace().await, &resource)
}

/// The path of each rejected field, and why.
fn causes<T>(response: Result<T, Error>) -> Vec<String> {
    let Err(Error::Api(status)) = response else {
        panic!("it was not rejected");
    };
    assert_eq!(status.code, 422, "{}", status.message);
    let causes = status.details.unwrap().causes.into_iter();
    causes
        .map(|cause| format!("{}: {}", cause.field, cause.message))
        .collect()
}

#[tokio::test]
async fn a_template_needs_containers() {
    let myjobs = myjobs().await;
    let none = "spec.template.spec.containers: Required value: a Pod has at least one container";
    let required = "spec.template.spec.containers: Required value";
    for (spec, expected) in [
        (json!({}), "spec.template: Required value"),
        (json!({ "template": {} }), none),
        (json!({ "template": { "spec": {} } }), required),
        (
            json!({ "template": { "spec": { "containers": [] } } }),
            none,
        ),
    ] {
        let object = json!({
            "apiVersion": "myjob.github.com/v1beta1",
            "kind": "MyJob",
            "metadata": { "name": NAME },
            "spec": &spec,
        });
        let object = serde_json::from_value(object).unwrap();

        let refused = causes(myjobs.create(&PostParams::default(), &object).await);

        assert_eq!(refused[0], expected, "{spec}");
    }
    assert_eq!(myjobs.get_opt(NAME).await.unwrap(), None);
}

#[tokio::test]
async fn a_template_cannot_be_changed() {
    let myjobs = myjobs().await;
    let object = serde_json::to_value(myjob(pod_spec())).unwrap();
    let object = serde_json::from_value(object).unwrap();
    myjobs
        .create(&PostParams::default(), &object)
        .await
        .unwrap();
    let patch = async |metadata: Value| {
        let patch = Patch::Merge(json!({ "spec": { "template": { "metadata": metadata } } }));
        myjobs.patch(NAME, &PatchParams::default(), &patch).await
    };

    patch(json!({ "labels": { "team": "blue" } }))
        .await
        .unwrap();
    let refused = causes(patch(json!({ "labels": { "team": "red" } })).await);

    let why = "cannot be changed: the Pod is created once";
    assert_eq!(refused, [format!("spec.template: Invalid value: {why}")]);
}
