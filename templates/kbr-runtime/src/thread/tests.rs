// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;

#[tokio::test]
async fn an_end_is_reported_with_its_reason() {
    let own_name = async { format!("this is {:?}", thread::current().name()) };
    let mut thread = Thread::spawn("aside", own_name).unwrap();

    let expected = "the aside thread ended: this is Some(\"aside\")";
    assert_eq!(thread.ended().await.to_string(), expected);
}

#[tokio::test]
async fn a_panic_is_reported_as_an_end() {
    let mut thread = Thread::spawn("aside", async { panic!("on purpose") }).unwrap();

    let expected = "the aside thread ended: it panicked";
    assert_eq!(thread.ended().await.to_string(), expected);
    // The stop waits for it, too.
    assert_eq!(thread.ended().await.to_string(), expected);
}
