// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;

impl Backoff {
    /// As if all delays were over.
    pub(crate) fn has_waited(&self) {
        for failures in lock(&self.failures).values_mut() {
            failures.due = Instant::now();
        }
    }

    /// How many objects are remembered.
    pub(crate) fn len(&self) -> usize {
        lock(&self.failures).len()
    }
}

const SHORT: Duration = Duration::from_millis(1);

fn key(name: &str) -> Key {
    Key::new(Some("default".to_owned()), name.to_owned())
}

#[test]
fn doubles_from_5_ms_to_1000_s() {
    let backoff = Backoff::default();
    let delays: Vec<u128> = (0..20)
        .map(|_| {
            backoff.has_waited();
            backoff.failed(&key("a"), SHORT).as_millis()
        })
        .collect();

    let expected = [
        5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 5_120, 10_240, 20_480, 40_960, 81_920,
        163_840, 327_680, 655_360, 1_000_000, 1_000_000,
    ];
    assert_eq!(delays, expected);
}

#[test]
fn never_overflows() {
    assert_eq!(Backoff::default().delay(u32::MAX), LONGEST);
}

#[test]
fn objects_do_not_share_a_count() {
    let backoff = Backoff::default();
    backoff.failed(&key("a"), SHORT);

    assert_eq!(backoff.failed(&key("b"), SHORT), FIRST);
    backoff.has_waited();
    assert_eq!(backoff.failed(&key("a"), SHORT), FIRST * 2);
}

#[test]
fn a_forgotten_object_starts_again_and_leaves_no_entry() {
    let backoff = Backoff::default();
    backoff.failed(&key("a"), SHORT);
    backoff.has_waited();
    backoff.failed(&key("a"), SHORT);
    backoff.forget(&key("a"));

    assert_eq!(backoff.len(), 0);
    assert_eq!(backoff.failed(&key("a"), SHORT), FIRST);
}

/// As when other objects change during a short fault.
#[test]
fn an_attempt_that_comes_before_the_delay_is_over_does_not_count() {
    let backoff = Backoff::default();
    for _ in 0..12 {
        backoff.has_waited();
        backoff.failed(&key("a"), SHORT);
    }
    let planned = FIRST * 2048;
    for _ in 0..5 {
        let delay = backoff.failed(&key("a"), SHORT);
        assert!(delay <= planned && delay > planned / 2, "{delay:?}");
    }
    backoff.has_waited();
    assert_eq!(backoff.failed(&key("a"), SHORT), planned * 2);
}

#[test]
fn prints_the_namespace_only_if_there_is_one() {
    let cluster_wide = Key::new(None, "b".to_owned());
    assert_eq!(key("a").to_string(), "default/a");
    assert_eq!(cluster_wide.to_string(), "b");
}

/// Such as a request on a connection that went silent.
#[test]
fn a_first_failure_is_retried_soon_however_long_it_took() {
    let backoff = Backoff::default();

    assert_eq!(backoff.failed(&key("a"), Duration::from_secs(60)), FIRST);

    assert_eq!(backoff.remaining(&key("a")), None);
}

/// Otherwise objects that are slow to fail would keep the workers from all others.
#[test]
fn an_object_that_took_long_leaves_the_worker_to_others_as_long() {
    let backoff = Backoff::default();
    assert_eq!(backoff.failed(&key("a"), SHORT), FIRST);
    assert_eq!(backoff.remaining(&key("a")), None);

    let took = Duration::from_secs(30);
    assert_eq!(backoff.failed(&key("a"), took), took);
    // A change, which may correct it, waits some seconds only.
    let remaining = backoff.remaining(&key("a")).unwrap();
    assert!(remaining > LONGEST_WAIT / 2 && remaining <= LONGEST_WAIT);

    backoff.forget(&key("a"));
    assert_eq!(backoff.remaining(&key("a")), None);
}
