// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! The fault proxy, between the real API server and a separate operator.

use std::time::Duration;

use api::v1::{Task, TaskSpec};
use kbr_testing::FaultProxy;
use kube::{Api, Client};
use tokio::time::timeout;

use crate::support::{
    METRICS, Operator, create, create_and_wait, is_reconciled, sample, servers, until,
};

#[tokio::test]
async fn an_operator_recovers_from_rejected_requests_and_cut_connections() {
    let namespace = servers().namespace().await;
    let api = Api::<Task>::namespaced(servers().admin(), &namespace);
    let faults = FaultProxy::start(servers()).unwrap();
    let kubeconfig = faults.kubeconfig(servers().manager_kubeconfig()).unwrap();
    let mut operator = Operator::start_with(&kubeconfig, servers(), &namespace, &[]);
    create_and_wait(servers(), &api, "before").await;

    faults.refuse(|request| request.method == "PATCH", 503, None);
    create(&api, "refused", TaskSpec::default()).await;
    until("a rejected write", || (faults.hits() > 0).then_some(()));
    assert!(!is_reconciled(Some(&api.get("refused").await.unwrap())));
    faults.heal();
    servers().wait_for(&api, "refused", is_reconciled).await;

    faults.refuse_connections();
    faults.cut();
    create(&api, "cut-off", TaskSpec::default()).await;
    operator.logged("the API server does not answer");
    faults.heal();
    servers().wait_for(&api, "cut-off", is_reconciled).await;
    assert!(operator.is_running());
}

#[tokio::test]
async fn a_quiet_watch_that_was_refused_works_again_without_an_event() {
    let namespace = servers().namespace().await;
    let api = Api::<Task>::namespaced(servers().admin(), &namespace);
    let faults = FaultProxy::start(servers()).unwrap();
    let kubeconfig = faults.kubeconfig(servers().manager_kubeconfig()).unwrap();
    let mut operator = Operator::start_with(&kubeconfig, servers(), &namespace, &METRICS);
    create_and_wait(servers(), &api, "before").await;
    let failing = r#"kbr_failing_watches{resource="tasks.probe.example.com"}"#;
    assert_eq!(sample(&operator.scrape(), failing), Some(0.0));
    // The log lines may be about the watch of another resource.
    let mut becomes = |expected| {
        until("the metric of the watch", || {
            (sample(&operator.scrape(), failing) == Some(expected)).then_some(())
        });
    };

    // The API server ends each watch after some seconds.
    faults.refuse(|request| request.is_watch, 500, None);
    becomes(1.0);
    faults.heal();
    becomes(0.0);
    operator.logged("a watch failed and will be retried");
    operator.logged("the watch works again");
}

#[tokio::test]
async fn a_client_in_a_black_hole_gets_no_response_and_a_new_one_does() {
    let faults = FaultProxy::start(servers()).unwrap();
    let connect = || Client::try_from(faults.config(servers().admin_config())).unwrap();
    let old = connect();
    old.apiserver_version().await.unwrap();

    faults.black_hole();
    let response = timeout(Duration::from_secs(1), old.apiserver_version()).await;
    assert!(response.is_err(), "there was a response");
    faults.heal();

    connect().apiserver_version().await.unwrap();
}
