// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use std::time::Duration;

#[test]
fn it_is_open_before_and_while_this_process_leads_and_after_an_orderly_stop() {
    let gate = Gate::default();
    assert!(gate.is_open());
    gate.open_until(BootTime::now() + Duration::from_secs(60));
    assert!(gate.clone().is_open());
    gate.open_until(BootTime::now());
    assert!(!gate.is_open());
    gate.close();
    assert!(!gate.is_open());
    gate.open();
    assert!(gate.is_open());
}
