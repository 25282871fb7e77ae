// Copyright The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! The API server does not accept the Deployment.

use k8s_openapi::api::core::v1::ResourceQuota;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::env;
use crate::support::{SETTINGS, World, ready};

#[tokio::test]
async fn a_refusal_is_reported_and_retried() {
    let world = World::running(env()).await;
    let quotas = Api::<ResourceQuota>::namespaced(env().admin(), &world.namespace);
    let hard = json!({ "count/deployments.apps": "0" });
    let none = json!({ "metadata": { "name": "none" }, "spec": { "hard": hard } });
    let none = serde_json::from_value(none).unwrap();
    quotas.create(&PostParams::default(), &none).await.unwrap();
    // The controller of quotas would do this, but does not run here.
    let status = Patch::Merge(json!({ "status": { "hard": hard, "used": hard } }));
    let params = PatchParams::default();
    quotas.patch_status("none", &params, &status).await.unwrap();

    let spec = json!({ "size": 1, "configMapName": SETTINGS });
    world.create("sample", spec).await;

    let guestbook = world.wait_for("sample", "Refused").await;
    let message = &ready(&guestbook).unwrap().message;
    assert!(message.contains("exceeded quota: none"), "{message}");

    let params = DeleteParams::default();
    quotas.delete("none", &params).await.unwrap();
    world.ready("sample", 1).await;
}
