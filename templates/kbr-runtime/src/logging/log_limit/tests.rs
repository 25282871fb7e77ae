// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;

#[test]
fn one_line_a_minute_passes_and_says_how_many_did_not() {
    let limit = LogLimit::default();
    let start = Instant::now();
    let pass = |what, seconds| limit.pass(what, start + Duration::from_secs(seconds));

    assert_eq!(pass("a", 0), Some(0));
    assert_eq!(pass("a", 1), None);
    assert_eq!(pass("b", 1), Some(0));
    assert_eq!(pass("a", 59), None);
    assert_eq!(pass("a", 60), Some(2));
    assert_eq!(pass("a", 119), None);
    assert_eq!(pass("a", 130), Some(1));
}
