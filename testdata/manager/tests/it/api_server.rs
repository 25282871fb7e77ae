// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! The API server goes down and comes back: the operator waits for it and continues.

use std::sync::LazyLock;

use api::v1::{Task, TaskSpec};
use kbr_testing::TestEnv;
use kube::Api;
use tokio::sync::{Mutex, MutexGuard};

use crate::support::{Operator, create, create_and_wait};

/// An environment whose API server may be killed by the test that holds the lock.
pub async fn mortal() -> MutexGuard<'static, TestEnv> {
    static ENV: LazyLock<Mutex<TestEnv>> = LazyLock::new(|| {
        let env = TestEnv::start(env!("CARGO_MANIFEST_DIR"));
        Mutex::new(env.unwrap_or_else(|error| panic!("{error}")))
    });
    ENV.lock().await
}

#[tokio::test]
async fn an_operator_survives_its_api_server_and_works_with_the_next_one() {
    let env = mortal().await;
    let namespace = env.namespace().await;
    let api = Api::<Task>::namespaced(env.admin(), &namespace);
    let mut operator = Operator::start(&env, &namespace, &[]);
    create_and_wait(&env, &api, "before").await;
    let ok = (200, "ok".to_owned());
    assert_eq!(operator.probe("/readyz"), ok);

    env.kill_api_server();

    operator.logged("the API server does not answer");
    assert_eq!(operator.probe("/healthz"), ok);
    assert_eq!(operator.probe("/readyz"), ok);
    env.start_api_server().await.unwrap();
    operator.logged("the API server answers again");
    create_and_wait(&env, &api, "after").await;
    assert_eq!(operator.probe("/healthz"), ok);
    assert!(operator.is_running());
}

#[tokio::test]
async fn an_outage_is_logged_once_and_not_for_each_object() {
    const TASKS: usize = 50;
    let env = mortal().await;
    let namespace = env.namespace().await;
    let api = Api::<Task>::namespaced(env.admin(), &namespace);
    let mut operator = Operator::start(&env, &namespace, &[]);
    create_and_wait(&env, &api, "before").await;
    // Each reconcile takes a while, so that some are left to do during the outage.
    let slow = TaskSpec {
        work_millis: Some(200),
        ..TaskSpec::default()
    };
    for number in 0..TASKS {
        create(&api, &format!("task-{number}"), slow.clone()).await;
    }

    env.kill_api_server();
    operator.logged("the API server does not answer");
    env.start_api_server().await.unwrap();

    for number in 0..TASKS {
        let name = format!("task-{number}");
        env.wait_for(&api, &name, crate::support::is_reconciled)
            .await;
    }
    let unwanted = operator.levels(&["WARN", "ERROR"]);
    assert!(unwanted.len() < 20, "{unwanted:#?}");
}

#[tokio::test]
async fn waiting_for_an_object_includes_waiting_for_the_api_server() {
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
async fn a_running_api_server_is_restarted() {
    let env = mortal().await;

    env.start_api_server().await.unwrap();

    env.namespace().await;
}
