// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use futures::FutureExt;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

#[test]
fn a_manual_clock_stays_where_it_was_set() {
    let (clock, setter) = Clock::manual(at(10));
    let clone = clock.clone();
    assert_eq!(clock.now(), at(10));

    setter.set(at(5));

    assert_eq!([clock.now(), clone.now()], [at(5), at(5)]);
}

#[test]
fn each_setting_is_a_change() {
    let (clock, setter) = Clock::manual(at(10));
    setter.set(at(20));
    let mut changes = Box::pin(clock.changes());
    assert_eq!(changes.next().now_or_never(), None);

    setter.set(at(30));
    assert_eq!(changes.next().now_or_never(), Some(Some(())));
    assert_eq!(changes.next().now_or_never(), None);

    // Without its setter the clock is stopped forever, and its streams do not end.
    drop(setter);
    assert_eq!(changes.next().now_or_never(), None);
}

#[test]
fn the_system_clock_runs_by_itself() {
    let clock = Clock::system();
    let before = Timestamp::now();

    assert!(before <= clock.now() && clock.now() <= Timestamp::now());
    let mut changes = Box::pin(clock.changes());
    assert_eq!(changes.next().now_or_never(), None);
}
