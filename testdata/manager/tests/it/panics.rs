// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! A panic in the reconcile of one object.

use api::v1::{Task, TaskSpec};
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::support::{Operator, create, create_and_wait, is_reconciled, servers, until};

#[tokio::test]
async fn a_panic_does_not_affect_others_and_is_retried_until_the_spec_is_fixed() {
    let namespace = servers().namespace().await;
    let api = Api::<Task>::namespaced(servers().admin(), &namespace);
    let mut operator = Operator::start(servers(), &namespace, &[]);
    let spec = TaskSpec {
        panic: true,
        ..TaskSpec::default()
    };
    create(&api, "bad", spec).await;
    let failed = operator.logged("reconcile failed");
    assert_eq!(failed["error"], "panic: the spec wants it");
    assert_eq!(failed["spans"][0]["object"], format!("{namespace}/bad"));

    create_and_wait(servers(), &api, "good").await;

    until("the fourth attempt", || {
        (operator.lines("reconcile failed").len() >= 4).then_some(())
    });
    assert_eq!(api.get("bad").await.unwrap().status, None);
    let fix = Patch::Merge(json!({ "spec": { "panic": false } }));
    api.patch("bad", &PatchParams::default(), &fix)
        .await
        .unwrap();
    servers().wait_for(&api, "bad", is_reconciled).await;
    assert!(operator.is_running());
}
