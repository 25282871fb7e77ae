// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;

#[test]
fn an_abandoned_controller_is_named() {
    let error = ManagerError::GracePeriodElapsed(vec!["a", "b"]);

    assert_eq!(
        error.to_string(),
        "still running after the grace period: a, b"
    );
}
