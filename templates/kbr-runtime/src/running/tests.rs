// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;

#[tokio::test]
async fn a_panic_is_reported_with_the_name_of_its_controller() {
    let mut running = Running::default();
    running.spawn("waiting", std::future::pending());
    running.spawn("broken", async { panic!("on purpose") });

    let error = running.ended().await.to_string();

    assert!(error.starts_with("controller `broken` ended: "), "{error}");
    assert!(error.contains("on purpose"), "{error}");
}

#[tokio::test]
async fn finish_returns_at_once_if_nothing_runs() {
    assert!(Running::default().finish(Duration::ZERO).await.is_ok());
}
