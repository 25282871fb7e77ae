// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;

#[tokio::test]
async fn a_panic_is_an_end_and_has_a_name() {
    let mut running = Running::default();
    running.spawn("waiting", std::future::pending());
    running.spawn("broken", async { panic!("on purpose") });

    let error = running.ended().await.to_string();

    assert!(error.starts_with("controller `broken` ended: "), "{error}");
    assert!(error.contains("on purpose"), "{error}");
}

#[tokio::test]
async fn nothing_is_finished_at_once() {
    assert!(Running::default().finish(Duration::ZERO).await.is_ok());
}
