// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers and tasks while they run.
//!
//! This module knows only their names and whether they have ended, not what they do.

use std::collections::HashMap;
use std::time::Duration;

use futures::FutureExt;
use tokio::task::{Id, JoinSet};

use crate::ManagerError;

/// Running controllers and tasks. Dropping it aborts them.
#[derive(Default)]
pub(crate) struct Running {
    /// Each returns an error if it should not have ended.
    parts: JoinSet<Result<(), String>>,
    names: HashMap<Id, Part>,
}

#[derive(Default)]
struct Part {
    name: &'static str,
    is_task: bool,
}

impl Running {
    /// Runs a controller, which returns why it ended.
    pub(crate) fn spawn<F>(&mut self, name: &'static str, controller: F)
    where
        F: Future<Output = String> + Send + 'static,
    {
        let id = self.parts.spawn(controller.map(Err)).id();
        let is_task = false;
        self.names.insert(id, Part { name, is_task });
    }

    /// Runs a task, which returns why it failed if it did.
    pub(crate) fn spawn_task<F>(&mut self, name: &'static str, task: F)
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        let id = self.parts.spawn(task).id();
        let is_task = true;
        self.names.insert(id, Part { name, is_task });
    }

    /// Waits for a controller to end or for a task to fail, and returns which; waits forever if none does.
    pub(crate) async fn ended(&mut self) -> ManagerError {
        while let Some((Part { name, is_task }, outcome)) = self.next().await {
            match outcome {
                Err(reason) if is_task => return ManagerError::TaskFailed { name, reason },
                Err(reason) => return ManagerError::ControllerEnded { name, reason },
                Ok(()) => tracing::info!(task = name, "the task has ended"),
            }
        }
        std::future::pending().await
    }

    /// Waits for all of them to end, but no longer than `grace`.
    ///
    /// # Errors
    ///
    /// [`ManagerError::GracePeriodElapsed`].
    pub(crate) async fn finish(mut self, grace: Duration) -> Result<(), ManagerError> {
        let all = async {
            while let Some((Part { name, is_task }, outcome)) = self.next().await {
                if let Err(error) = outcome
                    && is_task
                {
                    tracing::error!(task = name, error, "the task failed during shutdown");
                }
            }
        };
        if tokio::time::timeout(grace, all).await.is_ok() {
            return Ok(());
        }
        let mut names: Vec<_> = self.names.into_values().map(|part| part.name).collect();
        names.sort_unstable();
        Err(ManagerError::GracePeriodElapsed(names))
    }

    async fn next(&mut self) -> Option<(Part, Result<(), String>)> {
        let outcome = self.parts.join_next_with_id().await?;
        let (id, outcome) = match outcome {
            Ok((id, outcome)) => (id, outcome),
            // A panic.
            Err(error) => (error.id(), Err(error.to_string())),
        };
        Some((self.names.remove(&id).unwrap_or_default(), outcome))
    }
}
