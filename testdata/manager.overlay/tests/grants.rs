// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! What a role holds too much is found out, and so is what cannot be proved.
//!
//! This is a suite of its own, for a project whose roles are as bad as they can be. Its last test
//! runs the others as an emitted project's does.
#![allow(clippy::unwrap_used, reason = "a test fails where it can not go on")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::api::rbac::v1::{PolicyRule, Role};
use kbr_runtime::testing::{TestEnv, TestEnvError};
use kube::api::{ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Resource};
use serde_json::json;

/// Says to a process that it is to prove its roles.
const ASKED: &str = "TEST_THE_ROLES";

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
async fn the_manager_hands_on_what_it_may() {
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

#[test]
fn the_roles() {
    if std::env::var_os(ASKED).is_some() {
        kbr_runtime::testing::least_privilege(project());
    }
}

#[test]
fn what_is_needed_is_proved_and_the_rest_is_named() {
    if std::env::var_os(ASKED).is_some() {
        return;
    }
    let mut this = Command::new(std::env::current_exe().unwrap());
    this.args(["--exact", "--nocapture", "the_roles"]);
    let output = this.env(ASKED, "true").env("RUST_BACKTRACE", "0").output();
    let output = output.unwrap();

    assert_eq!(output.status.code(), Some(101));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut proofs = Vec::from(PROOFS);
    proofs.retain(|(marker, refusal)| {
        let mut lines = text.lines();
        !lines.any(|line| line.starts_with(marker) && line.contains(refusal))
    });
    assert!(proofs.is_empty(), "no proof of {proofs:?} in {text}");
    let text = String::from_utf8(output.stderr).unwrap();
    let paragraphs: Vec<&str> = text.trim_end().split("\n\n").collect();
    for fault in FAULTS {
        assert!(paragraphs.contains(&fault), "{fault}: {text}");
    }
    let unexplained = paragraphs
        .iter()
        .find_map(|text| text.strip_prefix(UNEXPLAINED));
    let (log, end) = unexplained.unwrap().split_once(", ends with\n").unwrap();
    assert!(
        Path::new(log.strip_prefix("; its output, ").unwrap()).exists(),
        "{log}"
    );
    let failed = "\n    the_manager_reads_metrics_and_might_list_nodes\n";
    assert!(end.contains(failed), "{end}");
    assert_eq!(text.matches("Role `").count(), 4, "{text}");
}

/// Each thing that is needed, and what the API server says without.
const PROOFS: [(&str, &str); 7] = [
    (
        "// +kbr:rbac:groups=core,resources=configmaps,verbs=create: ",
        "cannot create resource \"configmaps\" in API group \"\" in the namespace",
    ),
    (
        "// +kbr:rbac:groups=core,resources=configmaps,verbs=patch: ",
        "cannot patch resource \"configmaps\" in API group \"\" in the namespace",
    ),
    (
        "// +kbr:rbac:groups=core,resources=configmaps/finalizers,verbs=update: ",
        "a resource you can't set finalizers on",
    ),
    (
        "// +kbr:rbac:groups=core,resources=pods,verbs=get: ",
        "attempting to grant RBAC permissions not currently held:",
    ),
    (
        "// +kbr:rbac:groups=core,resources=secrets,resourceNames=known,verbs=get: ",
        "secrets \"known\" is forbidden: User \"system:serviceaccount:system:manager\" cannot get",
    ),
    (
        "// +kbr:rbac:groups=rbac.authorization.k8s.io,resources=roles,verbs=create: ",
        "cannot create resource \"roles\" in API group \"rbac.authorization.k8s.io\"",
    ),
    (
        "// +kbr:rbac:urls=/metrics,verbs=get: ",
        "forbidden: User \"system:serviceaccount:system:manager\" cannot get path \"/metrics\"",
    ),
];

/// What is said of the rest.
const FAULTS: [&str; 3] = [
    "ClusterRole `view`\n\
     is bound to the manager, but not in `config/default`: \
     bind a role of the project that allows what is needed of it",
    "// +kbr:rbac:groups=core,resources=configmaps,verbs=delete\n\
     ClusterRole `manager-role` allows it, and without it the tests pass: \
     take it out of its marker and run `kbr manifests`, or test what needs it",
    "// +kbr:rbac:groups=batch,resources=*,verbs=list\n\
     ClusterRole `manager-role` allows by it more than the tests can prove to be needed: \
     write what they use instead:\n  \
       // +kbr:rbac:groups=batch,resources=jobs,verbs=list",
];

/// And of what is needed for no request, before the output of the tests.
const UNEXPLAINED: &str = "// +kbr:rbac:groups=core,resources=nodes,verbs=list\n\
     ClusterRole `manager-role` allows it, and without it the tests fail, \
     but the API server refused nothing for want of it: the run ended with exit status: 101";
