// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! What is deployed is what the API server takes, and allows the manager what it needs and no more.

use crate::env;

#[test]
fn the_api_server_accepts_the_deployment() {
    let output = env()
        .kubectl()
        .args([
            "apply",
            "--server-side",
            "--force-conflicts",
            "--dry-run=server",
        ])
        .args(["-k", "config/default"])
        .output();
    let output = output.unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
}

#[test]
fn the_manager_may_do_nothing_that_no_test_needs() {
    runtime::testing::least_privilege(env!("CARGO_MANIFEST_DIR"));
}
