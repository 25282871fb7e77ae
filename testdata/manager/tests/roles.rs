// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! The tests of a project whose roles are as bad as they can be. `grants.rs` runs them without each
//! permission of the roles in turn.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::api::rbac::v1::{PolicyRule, Role};
use kbr_testing::{TestEnv, TestEnvError};
use kube::api::{ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Resource};
use serde_json::json;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/bad/too-much")
}

fn env() -> &'static TestEnv {
    static ENV: LazyLock<Result<TestEnv, TestEnvError>> =
        LazyLock::new(|| TestEnv::start(project()));
    match &*ENV {
        Ok(env) => env,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn the_manager_applies_a_dependent() {
    let namespace = env().namespace().await;
    let owner = json!({ "metadata": { "name": "owner" } });
    let owner: ConfigMap = serde_json::from_value(owner).unwrap();
    let owners = Api::<ConfigMap>::namespaced(env().admin(), &namespace);
    let owner = owners.create(&PostParams::default(), &owner).await.unwrap();
    let mut reference = owner.controller_owner_ref(&()).unwrap();
    reference.block_owner_deletion = Some(true);
    let dependent = Patch::Apply(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": "dependent", "ownerReferences": [reference] },
    }));

    let dependents = Api::<ConfigMap>::namespaced(env().manager(), &namespace);
    let apply = PatchParams::apply("test");
    let applied = dependents.patch("dependent", &apply, &dependent);
    applied.await.unwrap();
}

#[tokio::test]
async fn the_manager_grants_a_permission_that_it_has() {
    let rule = PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["pods".to_owned()]),
        verbs: vec!["get".to_owned()],
        ..PolicyRule::default()
    };
    let role = Role {
        metadata: ObjectMeta {
            generate_name: Some("reader-".to_owned()),
            ..ObjectMeta::default()
        },
        rules: Some(vec![rule]),
    };

    let roles = Api::<Role>::namespaced(env().manager(), "elsewhere");
    roles.create(&PostParams::default(), &role).await.unwrap();
}

#[tokio::test]
async fn the_manager_reads_a_secret_by_its_name() {
    let secret = json!({ "metadata": { "name": "known" } });
    let secret: Secret = serde_json::from_value(secret).unwrap();
    let namespace = env().namespace().await;
    let secrets = Api::<Secret>::namespaced(env().admin(), &namespace);
    secrets
        .create(&PostParams::default(), &secret)
        .await
        .unwrap();

    let secrets = Api::<Secret>::namespaced(env().manager(), &namespace);
    secrets.get("known").await.unwrap();
    secrets.get("other").await.unwrap_err();
}

#[tokio::test]
async fn the_manager_lists_jobs() {
    let jobs = Api::<Job>::all(env().manager());
    jobs.list(&ListParams::default()).await.unwrap();
}

#[test]
fn the_manager_reads_metrics_and_might_list_nodes() {
    for words in [
        &["get", "--raw", "/metrics"][..],
        &["auth", "can-i", "list", "nodes"],
    ] {
        let mut kubectl = env().kubectl();
        kubectl.arg("--kubeconfig").arg(env().manager_kubeconfig());
        let output = kubectl.args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}");
    }
}
