// Copyright The namespaced authors
// SPDX-License-Identifier: Apache-2.0

//! The program watches the namespaces in `WATCH_NAMESPACE`, or reports what is wrong with it and exits.

use std::process::Command;

use crate::env;

/// The last line that the operator logs with that value before it exits with code 1.
fn refused(value: Option<&str>) -> String {
    let mut operator = Command::new(env!("CARGO_BIN_EXE_namespaced"));
    operator
        .args(["--health-probe-bind-address=0", "--kubeconfig"])
        .arg(env().manager_kubeconfig())
        .env_remove("WATCH_NAMESPACE")
        .envs(value.map(|value| ("WATCH_NAMESPACE", value)));
    let output = operator.output().unwrap();
    let log = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert_eq!(output.status.code(), Some(1), "{log}");
    let last = log.lines().last().unwrap_or_default();
    let last: serde_json::Value = serde_json::from_str(last).unwrap();
    assert_eq!(log.lines().count(), 1, "nothing has started: {log}");
    last["error"].as_str().unwrap().to_owned()
}

#[test]
fn without_it_the_operator_exits_and_says_what_to_set() {
    for value in [None, Some("")] {
        assert_eq!(
            refused(value),
            "`WATCH_NAMESPACE` is not set: give the namespaces to watch, separated by commas, such as \
             `a,b`"
        );
    }
}

#[test]
fn an_invalid_name_of_a_namespace_is_reported() {
    let error = refused(Some("team-a,Team"));
    assert!(
        error.starts_with("`WATCH_NAMESPACE` has `Team`, which cannot be"),
        "{error}"
    );
}

#[test]
fn a_namespace_without_a_role_is_reported() {
    let watched = &env().watched_namespaces()[0];
    let error = refused(Some(&format!("{watched},not-there")));
    assert!(
        error.starts_with("could not watch the namespace `not-there`: "),
        "{error}"
    );
}
