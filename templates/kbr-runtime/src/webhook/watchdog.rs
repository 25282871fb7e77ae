// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Notices a webhook that blocks the thread that all webhooks share.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use futures::future::poll_fn;
use tokio::time::sleep;

use crate::lock::lock;

/// How often a call is seen to run before it counts as blocked. A process that was suspended meanwhile sees it once.
const LOOKS: u32 = 10;

/// What runs on the thread of the webhooks. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Watchdog(Arc<Mutex<Calls>>);

#[derive(Default)]
struct Calls {
    /// How many calls have begun or continued.
    calls: u64,
    /// What runs now.
    running: Option<Arc<str>>,
}

struct Call<'a>(&'a Watchdog);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        lock(&self.0.0).running = None;
    }
}

impl Watchdog {
    /// Calls `function`, which cannot pause.
    pub(super) fn call<T>(&self, name: &Arc<str>, function: impl FnOnce() -> T) -> T {
        let mut state = lock(&self.0);
        state.calls += 1;
        state.running = Some(name.clone());
        drop(state);
        let _running = Call(self);
        function()
    }

    /// Runs `future`, which may pause.
    pub(super) async fn run<F: Future>(&self, name: String, future: F) -> F::Output {
        let name = name.into();
        let mut future = pin!(future);
        poll_fn(|context| -> Poll<_> { self.call(&name, || future.as_mut().poll(context)) }).await
    }

    /// Waits until something has run for `limit` without a pause, and returns its name.
    pub(super) async fn blocked(&self, limit: Duration) -> String {
        let (mut last, mut looks) = (0, 0);
        loop {
            sleep(limit / LOOKS).await;
            let state = lock(&self.0);
            looks = match state.calls == last {
                true => looks + 1,
                false => 0,
            };
            last = state.calls;
            if let Some(name) = &state.running
                && looks >= LOOKS
            {
                return name.to_string();
            }
        }
    }
}
