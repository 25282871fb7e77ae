// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! SIGTERM during a reconcile.

use std::time::Duration;

use api::v1::{Task, TaskSpec};
use kube::Api;

use crate::support::{Operator, create, is_reconciled, servers};

/// An operator during a reconcile that takes the given time.
async fn working(time: Duration, arguments: &[&str]) -> (Operator, Api<Task>) {
    let namespace = servers().namespace().await;
    let api = Api::<Task>::namespaced(servers().admin(), &namespace);
    let mut operator = Operator::start(servers(), &namespace, arguments);
    let spec = TaskSpec {
        work_millis: Some(time.as_millis().try_into().unwrap()),
        ..TaskSpec::default()
    };
    create(&api, "slow", spec).await;
    operator.logged("work begins");
    (operator, api)
}

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn a_running_reconcile_is_finished_before_the_operator_exits() {
    let (mut operator, api) = working(Duration::from_secs(15), &[]).await;

    operator.signal("TERM");

    operator.logged("stopping; a second signal ends the process at once");
    assert_eq!(operator.find("status written"), None);
    assert_eq!(operator.ended().code(), Some(0));
    assert!(is_reconciled(Some(&api.get("slow").await.unwrap())));
}

#[tokio::test]
async fn a_reconcile_that_exceeds_the_grace_period_is_abandoned_and_reported() {
    let (mut operator, api) = working(HOUR, &["--graceful-shutdown-timeout=1s"]).await;

    operator.signal("TERM");

    assert_eq!(operator.ended().code(), Some(1));
    let failed = operator.find("the manager failed").unwrap();
    assert_eq!(
        failed["error"],
        "still running after the grace period: task"
    );
    assert_eq!(api.get("slow").await.unwrap().status, None);
}

#[tokio::test]
async fn a_second_signal_ends_the_operator_immediately() {
    let (mut operator, _) = working(HOUR, &["--graceful-shutdown-timeout=1h"]).await;
    operator.signal("TERM");
    operator.logged("stopping; a second signal ends the process at once");

    operator.signal("INT");

    assert_eq!(operator.ended().code(), Some(1));
    assert_eq!(operator.find("ending at once").unwrap()["signal"], "SIGINT");
}
