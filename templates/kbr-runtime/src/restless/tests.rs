// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;

/// How often the object becomes restless by so many reconciles.
fn told(restless: &Restless, name: &str, reconciles: u32) -> usize {
    let object = Arc::new(Key::new(None, name.to_owned()));
    (0..reconciles).filter(|_| restless.counts(&object)).count()
}

#[tokio::test(start_paused = true)]
async fn an_object_is_restless_once_in_a_period_and_for_itself_alone() {
    let restless = Restless::new();

    assert_eq!(told(&restless, "a", MANY - 1), 0);
    assert_eq!(told(&restless, "b", MANY - 1), 0);
    assert_eq!(told(&restless, "a", 10 * MANY), 1);
    assert_eq!(told(&restless, "b", 1), 1);
}

#[tokio::test(start_paused = true)]
async fn what_was_reconciled_in_an_earlier_period_does_not_count() {
    let restless = Restless::new();
    assert_eq!(told(&restless, "a", MANY - 1), 0);

    tokio::time::advance(PERIOD).await;

    assert_eq!(told(&restless, "a", MANY - 1), 0);
    assert_eq!(told(&restless, "a", 1), 1);
}
