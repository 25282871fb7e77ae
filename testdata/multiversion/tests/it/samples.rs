// Copyright The multiversion authors
// SPDX-License-Identifier: Apache-2.0

//! The samples that users begin with are what the API server takes, defaults and all.

use crate::env;

#[tokio::test]
async fn the_api_server_accepts_every_sample() {
    let namespace = env().namespace().await;
    let output = env()
        .kubectl()
        .args(["apply", "--server-side", "--validate=strict"])
        .args(["--namespace", &namespace, "-k", "config/samples"])
        .output();
    let output = output.unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
}
