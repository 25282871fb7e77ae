// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Threads with an event loop of their own, because a test's event loop ends with the test.

use std::io;
use std::thread;

use tokio::runtime;

/// Runs what `task` returns on a new thread.
pub(super) fn spawn<F>(name: &str, task: impl FnOnce() -> F + Send + 'static) -> io::Result<()>
where
    F: Future<Output = ()>,
{
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let thread = thread::Builder::new().name(name.to_owned());
    thread.spawn(move || runtime.block_on(task()))?;
    Ok(())
}
