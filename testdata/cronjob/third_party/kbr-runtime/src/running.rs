// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers and tasks while they run.
//!
//! This module knows only their names and whether they have ended, not what they do.

use std::collections::HashMap;
use std::time::Duration;

use tokio::task::{Id, JoinSet};

use crate::ManagerError;

/// Running controllers and tasks. Dropping it aborts them.
#[derive(Default)]
pub(crate) struct Running {
    /// Each returns an error if it should not have ended.
    parts: JoinSet<Result<(), String>>,
    names: HashMap<Id, Part>,
}

#[derive(Clone, Copy, Debug)]
enum Part {
    Controller(&'static str),
    Task(&'static str),
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Self::Controller(name) | Self::Task(name) => name,
        }
    }
}

impl Running {
    /// Runs a controller, which returns why it ended.
    pub(crate) fn spawn<F>(&mut self, name: &'static str, controller: F)
    where
        F: Future<Output = String> + Send + 'static,
    {
        let controller = async { Err(controller.await) };
        let id = self.parts.spawn(controller).id();
        self.names.insert(id, Part::Controller(name));
    }

    /// Runs a task, which returns why it failed if it did.
    pub(crate) fn spawn_task<F>(&mut self, name: &'static str, task: F)
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        let id = self.parts.spawn(task).id();
        self.names.insert(id, Part::Task(name));
    }

    /// Waits for a controller to end or for a task to fail, and returns which; waits forever if none does.
    pub(crate) async fn ended(&mut self) -> ManagerError {
        while let Some((part, outcome)) = self.next().await {
            match (part, outcome) {
                (Part::Task(name), Ok(())) => tracing::info!(task = name, "the task has ended"),
                (Part::Task(name), Err(reason)) => {
                    return ManagerError::TaskFailed { name, reason };
                }
                (Part::Controller(name), outcome) => {
                    let reason = outcome.err().unwrap_or_default();
                    return ManagerError::ControllerEnded { name, reason };
                }
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
            while let Some((part, outcome)) = self.next().await {
                if let (Part::Task(name), Err(error)) = (part, outcome) {
                    tracing::error!(task = name, error, "the task failed during shutdown");
                }
            }
        };
        if tokio::time::timeout(grace, all).await.is_ok() {
            return Ok(());
        }
        let mut names: Vec<_> = self.names.into_values().map(Part::name).collect();
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
        let part = self.names.remove(&id);
        Some((part.unwrap_or(Part::Controller("")), outcome))
    }
}
