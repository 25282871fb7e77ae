// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! The operator in a test process: it can be stopped, and if it ends otherwise, the test run ends.

use std::process::{Command, Output};
use std::time::Duration;

use api::v1::{Task, TaskSpec};
use k8s_openapi::api::core::v1::Secret;
use kbr_testing::TestEnv;
use kube::Api;
use kube::api::ListParams;

use crate::support::{MANAGER, create, create_and_wait, is_reconciled, kill, processes, until};

/// Set for a test that runs in a separate process.
const CHILD: &str = "TEST_IN_A_CHILD";

/// A test of this binary in a separate process, where its output is captured as usual.
pub fn child(test: &str) -> Command {
    let mut this = Command::new(std::env::current_exe().unwrap());
    this.args(["--exact", test]).env(CHILD, "true");
    this
}

fn run_as_child(test: &str) -> Output {
    child(test).output().unwrap()
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

#[test]
fn a_panicking_operator_ends_the_test_run_and_is_reported() {
    if is_child() {
        let env = start();
        env.start_operator(|_| panic!("on purpose")).unwrap();
        until("the end of this process", || None::<()>);
    }

    let output = run_as_child("operator::a_panicking_operator_ends_the_test_run_and_is_reported");

    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    let expected = "error: the operator ended: on purpose; its log: ";
    assert!(text.contains(expected), "{text}");
    assert!(text.ends_with("/operator.log\n"), "{text}");
}

#[test]
fn a_forbidden_request_ends_the_test_run_and_the_missing_marker_is_shown() {
    if is_child() {
        let env = start();
        env.start_operator(|manager| {
            let secrets = Api::<Secret>::all(manager.client());
            tokio::spawn(async move { secrets.list(&ListParams::default()).await });
            manager::register(manager);
        })
        .unwrap();
        until("the end of this process", || None::<()>);
    }

    let test = "operator::a_forbidden_request_ends_the_test_run_and_the_missing_marker_is_shown";
    let output = run_as_child(test);

    assert_eq!(output.status.code(), Some(1));
    let expected = format!(
        "error: the API server refused the manager: secrets is forbidden: User \"{MANAGER}\" cannot \
         list resource \"secrets\" in API group \"\" at the cluster scope\n\
         Add `// +kbr:rbac:groups=core,resources=secrets,verbs=list` above the \
         reconcile that sends the request, and run \
         `kbr manifests`\n"
    );
    assert_eq!(String::from_utf8(output.stderr).unwrap(), expected);
}

#[test]
fn an_etcd_that_dies_during_a_test_ends_the_test_run_and_is_reported() {
    if is_child() {
        let env = start();
        let processes = processes(env.logs());
        let etcd = processes.iter().find(|(_, name)| name == "etcd");
        kill("KILL", &etcd.unwrap().0);
        until("the end of this process", || None::<()>);
    }

    let test = "operator::an_etcd_that_dies_during_a_test_ends_the_test_run_and_is_reported";
    let output = run_as_child(test);

    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.starts_with("error: etcd ended with signal 9; its log, "),
        "{text}"
    );
    assert!(text.contains("/etcd.log, ends with\n"), "{text}");
}
