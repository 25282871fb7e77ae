// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! The API server goes and comes back: the operator waits for it and goes on.

use std::sync::LazyLock;

use api::v1::{Task, TaskSpec};
use kbr_runtime::testing::TestEnv;
use kube::Api;
use tokio::sync::{Mutex, MutexGuard};

use crate::support::{Operator, create, create_and_wait, until};

/// An environment whose API server may be killed by the one who holds it.
pub async fn mortal() -> MutexGuard<'static, TestEnv> {
    static ENV: LazyLock<Mutex<TestEnv>> = LazyLock::new(|| {
        let env = TestEnv::start(env!("CARGO_MANIFEST_DIR"));
        Mutex::new(env.unwrap_or_else(|error| panic!("{error}")))
    });
    ENV.lock().await
}

#[tokio::test]
async fn an_operator_outlives_its_api_server_and_serves_the_next_one() {
    let env = mortal().await;
    let namespace = env.namespace().await;
    let api = Api::<Task>::namespaced(env.admin(), &namespace);
    let mut operator = Operator::start(&env, &namespace, &[]);
    create_and_wait(&env, &api, "before").await;
    until("an operator that is ready", || {
        (operator.probe("/readyz").0 == 200).then_some(())
    });

    env.kill_api_server();

    until("an operator that is not ready", || {
        assert_eq!(operator.probe("/healthz"), (200, "ok".to_owned()));
        (operator.probe("/readyz").0 == 503).then_some(())
    });
    env.start_api_server().await.unwrap();
    until("an operator that is ready again", || {
        assert_eq!(operator.probe("/healthz"), (200, "ok".to_owned()));
        (operator.probe("/readyz").0 == 200).then_some(())
    });
    create_and_wait(&env, &api, "after").await;
    assert!(operator.is_running());
}

#[tokio::test]
async fn whoever_waits_for_an_object_waits_for_the_api_server_too() {
    let env = mortal().await;
    let namespace = env.namespace().await;
    let api = Api::<Task>::namespaced(env.admin(), &namespace);
    env.kill_api_server();

    let exists = |task: Option<&Task>| task.is_some();
    let (found, ()) = tokio::join!(env.wait_for(&api, "late", exists), async {
        env.start_api_server().await.unwrap();
        create(&api, "late", TaskSpec::default()).await;
    });

    assert!(found.is_some());
}

#[tokio::test]
async fn an_api_server_that_runs_is_started_anew() {
    let env = mortal().await;

    env.start_api_server().await.unwrap();

    env.namespace().await;
}
