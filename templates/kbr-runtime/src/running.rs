// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The tasks that run as long as the manager, each with a name: all of them but requests and reconciles.
//!
//! This module knows only their names and whether they have ended, not what they do.

use std::collections::HashMap;
use std::fmt::{self, Display};
use std::future::pending;
use std::time::Duration;

use tokio::task::{Id, JoinError, JoinSet};

use crate::ManagerError;
use crate::logging::panic_message;

/// Tasks that run beside each other. Dropping it aborts them.
pub(crate) struct Tasks<Name> {
    /// Each returns an error if it should not have ended.
    tasks: JoinSet<Result<(), String>>,
    names: HashMap<Id, Name>,
}

impl<Name: Display> Tasks<Name> {
    pub(crate) fn spawn(
        &mut self,
        name: Name,
        task: impl Future<Output = Result<(), String>> + Send + 'static,
    ) {
        #[cfg(test)]
        let task = tests::mortal(name.to_string(), task, Err);
        self.names.insert(self.tasks.spawn(task).id(), name);
    }

    /// Waits until one of them ends that should not, and returns which and why; waits forever if none does.
    pub(crate) async fn failed(&mut self) -> (Name, String) {
        while let Some((name, outcome)) = self.next().await {
            if let Err(reason) = outcome {
                return (name, reason);
            }
        }
        pending().await
    }

    async fn next(&mut self) -> Option<(Name, Result<(), String>)> {
        loop {
            let outcome = self.tasks.join_next_with_id().await?;
            let (id, outcome) = match outcome {
                Ok((id, outcome)) => (id, outcome),
                Err(error) => (error.id(), Err(panicked(error))),
            };
            if let Some(name) = self.names.remove(&id) {
                return Some((name, outcome));
            }
        }
    }
}

impl<Name> Default for Tasks<Name> {
    fn default() -> Self {
        Self {
            tasks: JoinSet::new(),
            names: HashMap::new(),
        }
    }
}

/// Why a task has ended without a result.
pub(crate) fn panicked(error: JoinError) -> String {
    match error.try_into_panic() {
        Ok(payload) => format!("it panicked: {}", panic_message(&*payload)),
        Err(error) => error.to_string(),
    }
}

/// A part of the manager.
pub(crate) enum Part {
    Controller(&'static str),
    /// The watches that a controller has begun.
    Watches(&'static str),
    /// The watches that no controller has begun.
    Caches,
    Task(&'static str),
}

impl Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Controller(name) | Self::Task(name) => formatter.write_str(name),
            Self::Watches(controller) => write!(formatter, "the watches of {controller}"),
            Self::Caches => formatter.write_str("the other watches"),
        }
    }
}

/// The parts of the manager that run.
pub(crate) type Running = Tasks<Part>;

impl Running {
    /// Waits for a part to end that should not, and returns which; waits forever if none does.
    pub(crate) async fn ended(&mut self) -> ManagerError {
        match self.failed().await {
            (Part::Controller(name) | Part::Watches(name), reason) => {
                ManagerError::ControllerEnded { name, reason }
            }
            (Part::Task(name), reason) => ManagerError::TaskFailed { name, reason },
            (Part::Caches, reason) => ManagerError::CachesEnded { reason },
        }
    }

    /// Waits for all of them to end, but no longer than `grace`.
    ///
    /// # Errors
    ///
    /// [`ManagerError::GracePeriodElapsed`].
    pub(crate) async fn finish(mut self, grace: Duration) -> Result<(), ManagerError> {
        let all = async {
            while let Some((part, outcome)) = self.next().await {
                if let (Part::Task(task), Err(error)) = (part, outcome) {
                    tracing::error!(task, error, "the task failed during shutdown");
                }
            }
        };
        if tokio::time::timeout(grace, all).await.is_ok() {
            return Ok(());
        }
        let names = self.names.into_values().filter_map(|part| match part {
            Part::Controller(name) | Part::Task(name) => Some(name),
            Part::Watches(_) | Part::Caches => None,
        });
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        Err(ManagerError::GracePeriodElapsed(names))
    }
}

#[cfg(test)]
pub(crate) mod tests;
