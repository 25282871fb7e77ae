// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers while they run.
//!
//! Knows nothing about what a controller does, only its name and whether it has ended.

use std::collections::HashMap;
use std::time::Duration;

use tokio::task::{Id, JoinError, JoinSet};

use crate::ManagerError;

/// Running controllers. Dropping it aborts them.
#[derive(Default)]
pub(crate) struct Running {
    tasks: JoinSet<String>,
    names: HashMap<Id, &'static str>,
}

impl Running {
    /// Runs a controller, which returns why it ended.
    pub(crate) fn spawn<F>(&mut self, name: &'static str, controller: F)
    where
        F: Future<Output = String> + Send + 'static,
    {
        let id = self.tasks.spawn(controller).id();
        self.names.insert(id, name);
    }

    /// Waits for a controller to end and says which; for ever if there is none.
    pub(crate) async fn ended(&mut self) -> ManagerError {
        match self.next().await {
            Some((name, outcome)) => ManagerError::ControllerEnded {
                name,
                reason: match outcome {
                    Ok(reason) => reason,
                    Err(error) => error.to_string(),
                },
            },
            None => std::future::pending().await,
        }
    }

    /// Waits for all controllers to end, but no longer than `grace`.
    ///
    /// # Errors
    ///
    /// [`ManagerError::GracePeriodElapsed`].
    pub(crate) async fn finish(mut self, grace: Duration) -> Result<(), ManagerError> {
        let all = async { while self.next().await.is_some() {} };
        if tokio::time::timeout(grace, all).await.is_ok() {
            return Ok(());
        }
        let mut names: Vec<_> = self.names.into_values().collect();
        names.sort_unstable();
        Err(ManagerError::GracePeriodElapsed(names))
    }

    async fn next(&mut self) -> Option<(&'static str, Result<String, JoinError>)> {
        let outcome = self.tasks.join_next_with_id().await?;
        let id = match &outcome {
            Ok((id, _)) => *id,
            Err(error) => error.id(),
        };
        let name = self.names.remove(&id).unwrap_or_default();
        Some((name, outcome.map(|(_, reason)| reason)))
    }
}
