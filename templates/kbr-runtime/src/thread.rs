// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Threads with an event loop of their own, for what must answer while reconciles are busy.
//!
//! The process's main event loop cannot be used: a reconcile that computes or blocks keeps its
//! threads from doing anything else. Such a thread runs until its task ends, which is usually as long as
//! the process runs.

use std::io;
use std::thread;

use tokio::runtime;
use tokio::sync::oneshot;

use crate::ManagerError;
use crate::chain::chain;

/// A running thread.
pub(crate) struct Thread {
    name: &'static str,
    outcome: oneshot::Receiver<io::Result<String>>,
    /// Why it has ended, once that is known.
    reason: Option<String>,
}

impl Thread {
    /// Runs `task` on a new thread; its output says why it could not continue.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Thread`].
    pub(crate) fn spawn<F>(name: &'static str, task: F) -> Result<Self, ManagerError>
    where
        F: Future<Output = String> + Send + 'static,
    {
        let (sender, outcome) = oneshot::channel();
        #[cfg(test)]
        let task = crate::running::tests::mortal(name.to_owned(), task, std::convert::identity);
        let body = move || {
            let mut builder = runtime::Builder::new_current_thread();
            let outcome = builder.enable_all().build().map(|own| own.block_on(task));
            // Perhaps nobody waits for the outcome any more.
            let _ = sender.send(outcome);
        };
        thread::Builder::new()
            .name(name.to_owned())
            .spawn(body)
            .map_err(|source| ManagerError::Thread { name, source })?;
        Ok(Self {
            name,
            outcome,
            reason: None,
        })
    }

    /// Waits until the thread has ended, and returns why.
    pub(crate) async fn ended(&mut self) -> ManagerError {
        if self.reason.is_none() {
            self.reason = Some(match (&mut self.outcome).await {
                Ok(Ok(reason)) => reason,
                Ok(Err(error)) => chain(&error),
                Err(_) => "it panicked".to_owned(),
            });
        }
        ManagerError::ThreadEnded {
            name: self.name,
            reason: self.reason.clone().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests;
