// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use futures::FutureExt;

use super::*;

#[test]
fn the_first_reason_is_the_one_that_everybody_gets() {
    let failure = Failure::none();
    failure.check();
    assert_eq!(failure.wait().now_or_never(), None);

    let waits = failure.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let waits = std::thread::spawn(move || runtime.block_on(waits.wait()));
    failure.set("etcd ended");
    failure.set("the API server ended");

    assert_eq!(waits.join().unwrap(), "etcd ended");
    assert_eq!(failure.wait().now_or_never().as_deref(), Some("etcd ended"));
    let checked = std::panic::catch_unwind(|| failure.check());
    let reason = checked.unwrap_err().downcast::<String>().unwrap();
    assert_eq!(*reason, "etcd ended");
}
