// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Tasks and checks that an operator adds to its manager.

use crate::election::{ALL, Place};
use crate::support::{Operator, servers};

#[tokio::test]
async fn a_task_runs_on_the_leader_or_on_every_replica() {
    let place = Place::new(&ALL).await;
    let mut first = place.start();
    first.logged("leading");
    first.logged("the leader's task runs");
    let mut second = place.start();
    second.logged("waiting to lead");
    second.logged("everyone's task runs");
    assert_eq!(second.find("the leader's task runs"), None);

    first.signal("TERM");

    assert_eq!(first.ended().code(), Some(0));
    let log = first.log();
    let at = |text| log.find(text).unwrap();
    assert!(at("the leader's task ends") < at("the Lease is released"));
    second.logged("the leader's task runs");
}

#[tokio::test]
async fn a_failed_task_ends_the_process_which_releases_the_lease() {
    let place = Place::new(&ALL).await;
    let mut first = place.start_in(&[("FAILING", "task")]);
    first.logged("leading");

    assert_eq!(first.ended().code(), Some(1));

    let failed = first.find("the manager failed").unwrap();
    assert_eq!(failed["error"], "task `everyone` failed: the test wants it");
    assert!(first.find("the leader's task ends").is_some());
    assert_eq!(place.holder().await.unwrap_or_default(), "");
}

#[tokio::test]
async fn a_failed_task_ends_a_standby_as_well() {
    let place = Place::new(&ALL).await;
    let mut first = place.start();
    first.logged("leading");
    let holder = place.holder().await;

    let mut second = place.start_in(&[("FAILING", "task")]);

    assert_eq!(second.ended().code(), Some(1));
    assert_eq!(second.find("the leader's task runs"), None);
    assert_eq!(place.holder().await, holder);
}

#[tokio::test]
async fn a_failed_check_is_reported_only_by_its_probe() {
    let namespace = servers().namespace().await;
    let kubeconfig = servers().manager_kubeconfig();
    for (failing, other) in [("healthz", "/readyz"), ("readyz", "/healthz")] {
        let variables = [("FAILING", failing)];
        let mut operator = Operator::start_in(&variables, kubeconfig, servers(), &namespace, &[]);
        let (code, body) = operator.probe(&format!("/{failing}"));
        assert_eq!(
            (code, body.as_str()),
            (503, "[-]sample failed: the test wants it\n")
        );
        assert_eq!(operator.probe(other), (200, "ok".to_owned()));
        let verbose = operator.probe(&format!("{other}?verbose"));
        assert_eq!(verbose, (200, "[+]sample ok\nok".to_owned()));
    }
}
