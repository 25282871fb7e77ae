// Copyright The memcached authors
// SPDX-License-Identifier: Apache-2.0

//! What an earlier release of the operator may have left behind.

use api::v1::Memcached;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Resource, ResourceExt};
use serde_json::json;

use crate::env;

#[tokio::test]
async fn an_owned_deployment_under_another_name_is_deleted_and_those_of_others_stay() {
    let namespace = env().namespace().await;
    let memcacheds = Api::<Memcached>::namespaced(env().admin(), &namespace);
    let deployments = Api::<Deployment>::namespaced(env().admin(), &namespace);
    let mut memcached: Memcached = env().read("config/samples/memcached_v1_memcached.yaml");
    memcached.metadata.name = Some("sample".to_owned());
    let params = PostParams::default();
    let memcached = memcacheds.create(&params, &memcached).await.unwrap();
    let exists = |it: Option<&Deployment>| it.is_some();
    env().wait_for(&deployments, "sample", exists).await;

    // With an owner reference it is from an earlier release, otherwise it belongs to somebody else.
    for (name, owners) in [
        ("others", None),
        ("sample-v0", memcached.controller_owner_ref(&())),
    ] {
        let mut deployment = deployments.get("sample").await.unwrap();
        deployment.metadata = meta(name);
        deployment.metadata.owner_references = owners.map(|owner| vec![owner]);
        let created = deployments.create(&params, &deployment).await;
        assert_eq!(created.unwrap().name_any(), name);
    }

    let is_gone = |it: Option<&Deployment>| it.is_none();
    env().wait_for(&deployments, "sample-v0", is_gone).await;
    let size = Patch::Merge(json!({ "spec": { "size": 7 } }));
    let params = PatchParams::default();
    let changed = memcacheds.patch("sample", &params, &size).await.unwrap();
    let is_observed = |it: Option<&Memcached>| {
        let status = it.and_then(|it| it.status.as_ref());
        status.is_some_and(|status| status.observed_generation == changed.metadata.generation)
    };
    env().wait_for(&memcacheds, "sample", is_observed).await;
    assert!(deployments.get("others").await.is_ok());
}

fn meta(name: &str) -> kube::api::ObjectMeta {
    kube::api::ObjectMeta {
        name: Some(name.to_owned()),
        ..kube::api::ObjectMeta::default()
    }
}
