// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! A run of the manager that makes a plan: one pass of each controller, and nothing else.

use std::io::Write;

use super::lifecycle::begin_watches;
use super::{Manager, no_plan};
use crate::ManagerError;
use crate::chain::chain;
use crate::client::ask_readiness;
use crate::health::Health;
use crate::plan::Plan;
use crate::workers::Threads;

impl Manager {
    /// Prints what the controllers would change.
    ///
    /// # Errors
    ///
    /// [`ManagerError::WouldChange`] if they would change anything, and [`ManagerError::Plan`].
    pub(super) async fn plan(&mut self) -> Result<(), ManagerError> {
        let Some(plan) = self.server.plan().cloned() else {
            return Ok(());
        };
        let stop = self.stop.clone();
        let made = stop.run_until_cancelled(self.make(&plan)).await;
        made.unwrap_or_else(|| {
            let reason = "it was stopped".to_owned();
            Err(ManagerError::Plan { reason })
        })?;
        let printed = writeln!(std::io::stdout().lock(), "{plan}");
        let reason = match (printed, plan.failures()) {
            (Err(error), _) => format!("could not print it: {error}"),
            (Ok(()), 0) if plan.is_empty() => return Ok(()),
            (Ok(()), 0) => {
                let summary = plan.summary();
                return Err(ManagerError::WouldChange { summary });
            }
            (Ok(()), count) => format!("{count} reconciles or controllers failed"),
        };
        Err(ManagerError::Plan { reason })
    }

    /// Runs each controller once, one after the other.
    async fn make(&mut self, plan: &Plan) -> Result<(), ManagerError> {
        let answer = ask_readiness(&self.client).await;
        answer.map_err(|error| ManagerError::Plan {
            reason: format!("the API server does not answer: {}", chain(&error)),
        })?;
        let exist = self.namespaces_exist().map_err(|error| no_plan(&error))?;
        exist.await.map_err(|error| no_plan(&error))?;
        let threads = Threads::start(1).map_err(|error| no_plan(&error))?;
        let mut health = Health::new(self.server.clone());
        let mut controllers = self.take_controllers(&mut health, &threads);
        let (mut watching, _) = self.take_caches(&controllers);
        for controller in &mut controllers {
            begin_watches(&mut watching, controller);
        }
        for controller in controllers {
            let reason = controller.work.await;
            if !plan.has_passed() {
                plan.never_began(controller.name, &reason);
            }
        }
        Ok(())
    }
}
