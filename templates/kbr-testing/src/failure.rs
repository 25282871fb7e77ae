// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Why an environment is of no more use: a server or the operator has ended, or the operator has asked for what it must
//! not.
//!
//! A thread of the environment notices it, and the tests that use the environment fail.

use std::sync::Arc;

use tokio::sync::watch;

use super::server::report;

/// What has gone wrong first, if anything has. Clones share it.
#[derive(Clone)]
pub(super) struct Failure(Arc<watch::Sender<Option<String>>>);

impl Failure {
    pub(super) fn none() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }

    /// The environment has failed. Whoever waits says it; if nobody does, it is printed.
    pub(super) fn set(&self, reason: &str) {
        // Whoever waits may be gone at once after it is told.
        let is_awaited = self.0.receiver_count() > 0;
        let is_first = self.0.send_if_modified(|first| {
            let is_first = first.is_none();
            first.get_or_insert_with(|| reason.to_owned());
            is_first
        });
        if is_first && !is_awaited {
            report(&reason);
        }
    }

    /// Fails the test of the calling thread if the environment has failed.
    pub(super) fn check(&self) {
        let reason = self.0.borrow().clone();
        if let Some(reason) = reason {
            fail(reason);
        }
    }

    /// Waits until it fails, and returns why.
    pub(super) async fn wait(&self) -> String {
        let mut changes = self.0.subscribe();
        let failed = changes.wait_for(Option::is_some).await;
        // It cannot be closed, since this has a sender.
        failed
            .ok()
            .and_then(|reason| reason.clone())
            .unwrap_or_default()
    }
}

/// Fails the test of the calling thread. Unlike `panic!`, it prints no backtrace, which would be that of the event loop.
pub(super) fn fail(reason: String) -> ! {
    eprintln!("{reason}");
    std::panic::resume_unwind(Box::new(reason))
}

#[cfg(test)]
mod tests;
