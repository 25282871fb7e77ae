// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;

#[test]
fn controllers_that_did_not_finish_are_named() {
    let error = ManagerError::GracePeriodElapsed(vec!["a", "b"]);

    assert_eq!(
        error.to_string(),
        "still running after the grace period: a, b"
    );
}
