// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;

const LONG: Duration = Duration::from_secs(60);

#[test]
fn an_answer_expires_after_its_time() {
    let mut cache = Cache::new(2);
    let (a, b) = (Key::of(b"a"), Key::of(b"b"));
    cache.insert(a, 1, LONG);
    cache.insert(b, 2, Duration::ZERO);
    assert_eq!(cache.get(a), Some(1));
    assert_eq!(cache.get(b), None);
    assert_eq!(cache.get(Key::of(b"c")), None);
}

#[test]
fn a_cache_holds_no_more_than_its_limit() {
    let mut cache = Cache::new(3);
    for number in 0..100_u32 {
        let key = Key::of(&number.to_be_bytes());
        cache.insert(key, number, LONG + Duration::from_secs(number.into()));
        assert!(cache.answers.len() <= 3);
    }
    let kept = |number: u32| cache.get(Key::of(&number.to_be_bytes()));
    assert_eq!(
        [96, 97, 98, 99].map(kept),
        [None, Some(97), Some(98), Some(99)]
    );

    cache.insert(Key::of(b"past"), 1, Duration::ZERO);
    cache.insert(Key::of(b"new"), 2, LONG);
    // Expired answers are removed before others.
    assert_eq!(cache.get(Key::of(&99_u32.to_be_bytes())), Some(99));
}
