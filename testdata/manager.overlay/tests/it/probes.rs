// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! `/healthz` and `/readyz` of the operator, with a real API server to ask.

use std::process::Command;

use crate::support::{Operator, servers, until};

/// The answer of the API server when the manager asks whether it is ready.
fn is_ready_says_the_api_server() -> String {
    let output = servers()
        .kubectl()
        .arg("--kubeconfig")
        .arg(servers().manager_kubeconfig())
        .args(["get", "--raw", "/readyz"])
        .output()
        .unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

fn run(command: &mut Command) {
    assert!(command.status().unwrap().success());
}

#[tokio::test]
async fn an_operator_is_ready_with_its_api_server_even_if_it_may_not_ask() {
    let namespace = servers().namespace().await;
    let mut operator = Operator::start(servers(), &namespace, &[]);
    let ok = (200, "ok".to_owned());
    assert_eq!(is_ready_says_the_api_server(), "ok");
    until("readiness", || {
        (operator.probe("/readyz") == ok).then_some(())
    });
    assert_eq!(operator.probe("/healthz"), ok);

    run(servers().kubectl().args([
        "delete",
        "clusterrolebinding",
        "system:discovery",
        "system:public-info-viewer",
    ]));

    until("a refusal", || {
        is_ready_says_the_api_server()
            .starts_with("Error from server (Forbidden)")
            .then_some(())
    });
    until("readiness", || {
        (operator.probe("/readyz") == ok).then_some(())
    });
}
