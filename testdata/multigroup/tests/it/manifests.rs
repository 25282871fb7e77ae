// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The API server accepts the deployed manifests, and reaches the webhooks that it calls.

use kbr_runtime::{Flags, Manager};

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
        .arg("-f")
        .arg(env().deployment())
        .output();
    let output = output.unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
}

#[tokio::test]
async fn metrics_are_served_to_clients_that_the_role_allows() {
    let metrics = env().scrape().await;

    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
}

#[tokio::test]
async fn the_manager_serves_exactly_the_webhooks_that_are_called() {
    let mut manager = Manager::with_config(Flags::default(), env().manager_config()).unwrap();
    multigroup::register(&mut manager);

    assert_eq!(manager.webhooks().paths(), env().webhook_paths());
}
