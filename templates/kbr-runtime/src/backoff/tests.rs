// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;

fn key(name: &str) -> Key {
    Key {
        namespace: Some("default".to_owned()),
        name: name.to_owned(),
    }
}

#[test]
fn doubles_from_5_ms_to_1000_s() {
    let backoff = Backoff::default();
    let delays: Vec<u128> = (0..20)
        .map(|_| backoff.failed(&key("a")).as_millis())
        .collect();

    let expected = [
        5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 5_120, 10_240, 20_480, 40_960, 81_920,
        163_840, 327_680, 655_360, 1_000_000, 1_000_000,
    ];
    assert_eq!(delays, expected);
}

#[test]
fn never_overflows() {
    assert_eq!(delay(u32::MAX), LONGEST);
}

#[test]
fn objects_do_not_share_a_count() {
    let backoff = Backoff::default();
    backoff.failed(&key("a"));

    assert_eq!(backoff.failed(&key("b")), FIRST);
    assert_eq!(backoff.failed(&key("a")), FIRST * 2);
}

#[test]
fn a_forgotten_object_starts_again_and_leaves_no_entry() {
    let backoff = Backoff::default();
    backoff.failed(&key("a"));
    backoff.failed(&key("a"));
    backoff.forget(&key("a"));

    assert_eq!(backoff.len(), 0);
    assert_eq!(backoff.failed(&key("a")), FIRST);
}

#[test]
fn prints_the_namespace_only_if_there_is_one() {
    let cluster_wide = Key {
        namespace: None,
        name: "b".to_owned(),
    };
    assert_eq!(key("a").to_string(), "default/a");
    assert_eq!(cluster_wide.to_string(), "b");
}
