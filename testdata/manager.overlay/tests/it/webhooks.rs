// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Webhooks that the API server calls, but this operator does not serve.

use std::process::Command;

use api::v1::{Task, TaskSpec};
use kbr_runtime::Flags;
use kbr_testing::{TestEnv, TestEnvError};
use kube::Api;
use kube::api::PostParams;

use crate::bad_input::project;
use crate::support::create_and_wait;

/// Turns webhooks off.
const VARIABLE: &str = "ENABLE_WEBHOOKS";

#[tokio::test]
async fn an_operator_that_serves_no_webhooks_is_rejected() {
    let env = TestEnv::start(project("unserved")).unwrap();

    let error = env.start_operator(manager::register).unwrap_err();

    assert!(matches!(error, TestEnvError::NoWebhooks { .. }), "{error}");
    assert_eq!(
        error.to_string(),
        "the operator serves no webhooks, but the manifests configure these: /mutate, /validate\n\
         Register them, or build the environment with `without_webhooks`"
    );
    // As in a cluster while the operator is down.
    let api = Api::<Task>::namespaced(env.admin(), &env.namespace().await);
    let task = Task::new("sample", TaskSpec::default());
    let error = api.create(&PostParams::default(), &task).await.unwrap_err();
    let mut flags = Flags::default();
    env.serve_webhooks(&mut flags);
    let url = format!("https://127.0.0.1:{}/mutate", flags.webhook_port);
    assert!(error.to_string().contains(&url), "{error}");
}

#[tokio::test]
async fn an_api_server_without_webhooks_calls_nobody() {
    // In the child, the variable turns them off.
    if std::env::var_os(VARIABLE).is_some() {
        let env = TestEnv::start(project("unserved")).unwrap();
        return calls_nobody(&env).await;
    }
    let env = TestEnv::builder(project("unserved")).without_webhooks();
    calls_nobody(&env.start().unwrap()).await;

    let mut this = Command::new(std::env::current_exe().unwrap());
    let test = "webhooks::an_api_server_without_webhooks_calls_nobody";
    this.args(["--exact", test]).env(VARIABLE, "false");
    let output = this.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("1 passed"), "{text}");
}

async fn calls_nobody(env: &TestEnv) {
    let mut flags = Flags::default();

    env.serve_webhooks(&mut flags);
    assert_eq!(flags, Flags::default());
    assert!(env.webhook_paths().iter().eq(["/mutate", "/validate"]));
    env.start_operator(manager::register).unwrap();
    let api = Api::<Task>::namespaced(env.admin(), &env.namespace().await);
    create_and_wait(env, &api, "sample").await;
}
