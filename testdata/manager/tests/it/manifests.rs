// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! What is deployed is what the API server takes.

use crate::env;

#[test]
fn the_api_server_accepts_the_deployment() {
    let status = env()
        .kubectl()
        .args([
            "apply",
            "--server-side",
            "--force-conflicts",
            "--dry-run=server",
        ])
        .args(["-k", "config/default"])
        .status();
    assert!(status.unwrap().success());
}
