// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;

#[test]
fn the_path_says_which_process_has_sent_a_request() {
    let of_second = Some((2, "/api/v1/pods?watch=1"));
    assert_eq!(origin("/2/api/v1/pods?watch=1"), of_second);
    assert_eq!(origin("/12"), Some((12, "/")));
    assert_eq!(origin("/api/v1/pods"), None);
}
