// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! The operator in a test process: it can be stopped, and if it ends otherwise, the tests fail.

use std::process::{Command, Output};
use std::time::Duration;

use api::v1::{Task, TaskSpec};
use k8s_openapi::api::core::v1::Secret;
use kbr_testing::TestEnv;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::json;

use crate::support::{MANAGER, create, create_and_wait, is_reconciled, kill, processes};

/// Set for a test that runs in a separate process.
const CHILD: &str = "TEST_IN_A_CHILD";

/// A test of this binary in a separate process, where its output is captured as usual.
pub fn child(test: &str) -> Command {
    let mut this = Command::new(std::env::current_exe().unwrap());
    this.args(["--exact", test]).env(CHILD, "true");
    this
}

/// Runs a test in a separate process, where it must fail, and returns what the test runner shows of it.
fn failed_child(test: &str) -> String {
    let Output { status, stdout, .. } = child(test).env("RUST_BACKTRACE", "1").output().unwrap();
    let text = String::from_utf8(stdout).unwrap();
    assert_eq!(status.code(), Some(101), "{text}");
    assert!(
        text.contains(&format!("test {test} ... FAILED\n")),
        "{text}"
    );
    text
}

/// Waits for what does not happen.
async fn wait_in_vain(env: &TestEnv) {
    let api = Api::<Task>::namespaced(env.admin(), "default");
    env.wait_for(&api, "nothing", is_reconciled).await;
}

pub fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

fn start() -> TestEnv {
    TestEnv::start(env!("CARGO_MANIFEST_DIR")).unwrap()
}

#[tokio::test]
async fn a_stopped_operator_reconciles_nothing_and_another_takes_over() {
    let env = start();
    let api = Api::<Task>::namespaced(env.admin(), &env.namespace().await);
    let operator = env.start_operator(manager::register).unwrap();
    create_and_wait(&env, &api, "before").await;

    operator.stop();

    create(&api, "after", TaskSpec::default()).await;
    let reconciled = env.wait_for(&api, "after", is_reconciled);
    let reconciled = tokio::time::timeout(Duration::from_secs(2), reconciled).await;
    assert!(reconciled.is_err(), "it was reconciled");
    let _next = env.start_operator(manager::register).unwrap();
    env.wait_for(&api, "after", is_reconciled).await;
}

#[tokio::test]
async fn a_panicking_operator_fails_the_test() {
    if is_child() {
        let env = start();
        env.start_operator(|_| panic!("on purpose")).unwrap();
        return wait_in_vain(&env).await;
    }

    let text = failed_child("operator::a_panicking_operator_fails_the_test");

    let reason = text
        .lines()
        .find(|line| line.starts_with("the operator ended"));
    let reason = reason.unwrap_or_else(|| panic!("{text}"));
    let log = reason.strip_prefix("the operator ended: on purpose; its log: ");
    assert!(log.unwrap().ends_with("/operator.log"), "{text}");
}

#[tokio::test]
async fn a_forbidden_request_fails_the_test_that_waits_and_the_missing_marker_is_shown() {
    if is_child() {
        let env = start();
        env.start_operator(|manager| {
            let secrets = Api::<Secret>::all(manager.client());
            tokio::spawn(async move { secrets.list(&ListParams::default()).await });
            manager::register(manager);
        })
        .unwrap();
        return wait_in_vain(&env).await;
    }

    let text = failed_child(
        "operator::a_forbidden_request_fails_the_test_that_waits_and_the_missing_marker_is_shown",
    );

    let expected = format!(
        "\nthe API server refused the manager: secrets is forbidden: User \"{MANAGER}\" cannot \
         list resource \"secrets\" in API group \"\" at the cluster scope\n\
         Add `// +kbr:rbac:groups=core,resources=secrets,verbs=list` above the \
         reconcile that sends the request, and run \
         `kbr manifests`\n"
    );
    assert!(text.contains(&expected), "{text}");
}

#[tokio::test]
async fn an_etcd_that_dies_fails_the_test_that_waits() {
    if is_child() {
        let env = start();
        let processes = processes(env.logs());
        let etcd = processes.iter().find(|(_, name)| name == "etcd");
        kill("KILL", &etcd.unwrap().0);
        return wait_in_vain(&env).await;
    }

    let text = failed_child("operator::an_etcd_that_dies_fails_the_test_that_waits");

    assert!(!text.contains("stack backtrace"), "{text}");
    let expected = "\netcd ended with signal 9; its log, ";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("/etcd.log, ends with\n"), "{text}");
}

/// Starts an operator that writes a field that the API server does not know, and waits until it has.
async fn write_unknown_field(env: &TestEnv) {
    let namespace = env.namespace().await;
    let api = Api::<Task>::namespaced(env.admin(), &namespace);
    create(&api, "misspelt", TaskSpec::default()).await;
    let (written, is_written) = tokio::sync::oneshot::channel();
    env.start_operator(move |manager| {
        let api = Api::<Task>::namespaced(manager.client(), &namespace);
        tokio::spawn(async move {
            let unknown = Patch::Merge(json!({ "status": { "phse": "Ready" } }));
            let params = PatchParams::default();
            let outcome = api.patch_status("misspelt", &params, &unknown).await;
            written.send(outcome.map(drop)).unwrap();
        });
        manager::register(manager);
    })
    .unwrap();
    is_written.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_warning_about_a_write_fails_the_test() {
    if is_child() {
        let env = start();
        write_unknown_field(&env).await;
        return wait_in_vain(&env).await;
    }

    let text = failed_child("operator::a_warning_about_a_write_fails_the_test");

    let expected = "\nthe API server warned about a write of the operator: unknown field \"status.phse\"\n\
                    Correct the write, or allow the warning with `Builder::allow_warning` if it is meant, \
                    such as that of a validator\n";
    assert!(text.contains(expected), "{text}");
}

#[tokio::test]
async fn a_warning_that_is_allowed_fails_no_test() {
    let env = TestEnv::builder(env!("CARGO_MANIFEST_DIR")).allow_warning("status.phse");
    let env = env.start().unwrap();

    write_unknown_field(&env).await;

    create_and_wait(&env, &Api::default_namespaced(env.admin()), "later").await;
}
