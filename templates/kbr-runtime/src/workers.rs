// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The workers of a controller: each is a task, so several reconciles run at once on several cores.
//!
//! In a manager they run on threads of their own, as many as there are workers: a reconcile that computes or blocks
//! its thread then delays no watch, no request and no other reconcile. A thread more would cost CPU time: tokio wakes
//! an idle one to look for work whenever another has found some.
//!
//! They use the timers of the manager's threads: one of their own waits for the timers of all, and may be the one that a
//! reconcile then blocks.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, poll_fn};
use tokio::runtime::{self, Handle, Runtime};
use tokio::task::JoinSet;
use tokio::task::coop::consume_budget;
use tokio_util::sync::CancellationToken;
use tracing::instrument::WithSubscriber;

use crate::ManagerError;
use crate::key::Key;
use crate::queue::Queue;
use crate::running::panicked;

/// The most threads that are started, however many workers there are.
const MOST_THREADS: usize = 64;

/// Reconciles one object. Returns when it is due again, if it is.
pub(crate) type Work = Arc<dyn Fn(Arc<Key>) -> BoxFuture<'static, Option<Duration>> + Send + Sync>;

/// Reconciles the objects of `queue`, at most `limit` at the same time, until `stop` is cancelled. Then it waits
/// for the reconciles that run. If it is dropped, they are aborted at their current `await`.
///
/// # Errors
///
/// A panic beside the user's code, which ends the controller: the object would never be reconciled again.
pub(crate) async fn run(
    queue: Queue,
    limit: usize,
    threads: Handle,
    work: Work,
    stop: CancellationToken,
) -> Result<(), String> {
    let mut outcome = Ok(());
    let mut tasks = JoinSet::new();
    // Cancelled after a panic, too.
    let stop = stop.child_token();
    let manager = Handle::current();
    queue.open();
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(ended) = tasks.join_next(), if !tasks.is_empty() => if let Err(error) = ended {
                outcome = Err(format!("a reconcile ended: {}", panicked(error)));
                break;
            },
            mut running = queue.next(), if tasks.len() < limit => {
                let (queue, work, stop) = (queue.clone(), work.clone(), stop.clone());
                let task = async move {
                    // The next one, too: two threads would be woken to begin it from here.
                    while !stop.is_cancelled() {
                        let again = work(running.object().clone()).await;
                        running.due_in(again);
                        drop(running);
                        consume_budget().await;
                        match queue.turn() {
                            Ok(next) => running = next,
                            Err(_) => return,
                        }
                    }
                };
                // Each test of an operator has a log of its own.
                let task = within(manager.clone(), task).with_current_subscriber();
                tasks.spawn_on(task, &threads);
            }
        }
    }
    stop.cancel();
    while tasks.join_next().await.is_some() {}
    outcome
}

/// Runs `task` on whatever thread, with the timers of `runtime`, which also runs what the task spawns.
async fn within<F: Future>(runtime: Handle, task: F) -> F::Output {
    let mut task = pin!(task);
    poll_fn(|context| {
        let _entered = runtime.enter();
        task.as_mut().poll(context)
    })
    .await
}

/// The threads on which reconciles run.
pub(crate) struct Threads(Option<Runtime>);

impl Threads {
    /// Starts threads for this many workers.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Thread`].
    pub(crate) fn start(workers: usize) -> Result<Self, ManagerError> {
        const NAME: &str = "reconcile";
        let threads = runtime::Builder::new_multi_thread()
            .worker_threads(workers.clamp(1, MOST_THREADS))
            .thread_name(NAME)
            .enable_all()
            .build();
        let threads = threads.map_err(|source| ManagerError::Thread { name: NAME, source })?;
        Ok(Self(Some(threads)))
    }

    pub(crate) fn handle(&self) -> Handle {
        let threads = self.0.as_ref();
        threads.map_or_else(Handle::current, |threads| threads.handle().clone())
    }
}

impl Drop for Threads {
    /// Does not wait for a reconcile that blocks its thread.
    fn drop(&mut self) {
        if let Some(threads) = self.0.take() {
            threads.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests;
