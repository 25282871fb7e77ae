// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Functions of the operator that are called for an object that a watch has shown: mappers, predicates, indexes and the
//! like. They may panic, block, and write to a cache.

use std::cell::Cell;
use std::fmt::Arguments;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use prometheus_client::metrics::counter::Counter;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

use crate::key::Key;
use crate::logging::panic_message;
use crate::metrics::SLOW;

/// A function that takes longer is named in the log.
const LONG: Duration = Duration::from_secs(1);

thread_local! {
    static MAY_WRITE: Cell<bool> = const { Cell::new(true) };
}

/// The result of a function of the operator, which is called for `object`; `None` if it panics. A panic is counted and
/// logged, and so is a function that takes long.
pub(crate) fn guard<T>(
    what: Arguments<'_>,
    object: &Key,
    panics: &Counter,
    function: impl FnOnce() -> T,
) -> Option<T> {
    let start = Instant::now();
    let result = catch_unwind(AssertUnwindSafe(function));
    let took = start.elapsed();
    if took >= LONG {
        SLOW.inc();
        tracing::warn!(%object, ?took, "{what} is slow, and the changes after it wait");
    }
    let result = result.map_err(|payload| {
        panics.inc();
        let panic = panic_message(&*payload);
        tracing::error!(%object, panic, "{what} panicked");
    });
    result.ok()
}

/// Runs `code`, which may block: the other tasks of this thread go on, on another one.
pub(super) fn may_block<T>(code: impl FnOnce() -> T) -> T {
    match Handle::current().runtime_flavor() {
        RuntimeFlavor::MultiThread => block_in_place(code),
        // It has no other.
        _ => code(),
    }
}

/// Runs functions whose results a cache keeps: a write from them would call them again, without end.
pub(super) fn without_writes<T>(functions: impl FnOnce() -> T) -> T {
    MAY_WRITE.set(false);
    let results = functions();
    MAY_WRITE.set(true);
    results
}

/// Panics in such a function.
pub(super) fn may_write() {
    assert!(
        MAY_WRITE.get(),
        "what indexes or slims objects must not write to a cache"
    );
}
